# pytest-xdist runs the suite in two processes, a file in one of them.
# `make test` and `make demo` do all of their own set-up: one .venv, rebuilt only when pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.made-from-$(shell sha256sum pyproject.toml 2>/dev/null | cut -c1-16)

.PHONY: help test chromium check demo bench stress fuzz tiny clean release-check
help:
	@echo "make demo    a store, three systems, scores, in two minutes"
	@echo "make test    make check, then the test suite"
	@echo "make check   ruff, mypy, import-linter"
	@echo "make stress  the tests that kill processes"
	@echo "make fuzz    damaged input for each reader, ten minutes each"
	@echo "make bench   the benchmarks, one script a claim"
	@echo "make tiny    retrain the small model that ships"

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@rm -f $(VENV)/.made-from-*
	@touch $@

test: check chromium
	$(BIN)/python -m pytest -n 2 --dist loadfile

# The browser tests drive Debian's Chromium; without it they are skipped with a reason.
chromium:
	@if [ "$$(id -u)" = 0 ] && ! command -v chromedriver >/dev/null && command -v apt-get >/dev/null; then \
	  (apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver fonts-dejavu-core libcairo2) >/dev/null 2>&1 \
	  || echo "chromium could not be installed: the browser tests are skipped"; fi

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

demo: $(STAMP)
	$(BIN)/clipstore demo

stress: $(STAMP)
	$(BIN)/python -m pytest -m stress

fuzz: $(STAMP)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[fuzz]'
	$(BIN)/python tests/formats/fuzz_readers.py

bench: $(STAMP)
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

tiny: $(STAMP)
	$(BIN)/python -m clipstore.demo.train

release-check: $(STAMP)
	rm -rf build/release && $(PYTHON) -m venv build/release
	$(BIN)/python -m pip wheel -q --no-deps -w build/release/wheel .
	build/release/bin/pip install -q build/release/wheel/*.whl
	build/release/bin/clipstore demo build/release/demo

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
