"""``clipstore compare``: what a user types, sees and gets as exit code."""

import json
import os
import pty
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile

import drawn
import pytest

from clipstore import EvalSet, Store
from clipstore.evalset import save
from clipstore.formats import read_captions

pytest_plugins = ("compare_command",)
COUNT = 110
QUICK = ("--resamples", 300)


@pytest.fixture
def files(tmp_path):
    """Images, references and three systems as files; the third says what the second does."""
    drawn.draw(tmp_path / "images", COUNT)
    drawn.write_json(tmp_path / "refs.json", drawn.references(COUNT))
    drawn.write_json(tmp_path / "blip.json", drawn.captions(COUNT))
    for name in ("ofa", "git"):
        drawn.write_json(tmp_path / f"{name}.json", drawn.captions(COUNT, "the first words on"))
    return ("--images", "images", "--refs", "refs.json")


def saved(tmp_path, name, systems, count=COUNT):
    """Save an eval set and systems in the store of the folder."""
    drawn.draw(tmp_path / "images", count)
    with Store.open(tmp_path / ".clipstore") as store:
        evalset = EvalSet.read(images=tmp_path / "images", refs=drawn.references(count))
        ids = store.identify(evalset.images()).ids
        save(store, name, evalset, {one: read_captions(own) for one, own in systems.items()}, ids)


def test_files_on_the_spot(command, files, capsys):
    """A table with tabs on stdout; notes on stderr; exit 0."""
    assert command("compare", "blip.json", "ofa.json", "git=git.json", *files, "--baseline", "blip", *QUICK) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].split("\t")[:8] == ["#", "system", "n", "CLIP-S", "95% CI", "Δ", "p(Holm)", "W/T/L"]
    assert {line.split("\t")[1] for line in lines[1:4]} == {"blip", "ofa", "git"}
    assert "110 images: 110 encoded" in err


def test_another_recipe(command, files, capsys):
    """``--recipe`` makes other columns, signed; one that knows no references leaves RefCLIP-S out, and says so."""
    assert command("compare", "blip.json", "ofa.json", *files, "--recipe", "pac-s", *QUICK) == 0
    out = capsys.readouterr().out
    assert {"PAC-S", "RefPAC-S"} <= set(out.splitlines()[0].split("\t"))
    assert "recipe:pac-s" in out
    plain = ("compare", "blip.json", "ofa.json", *files, "--recipe", "torchmetrics", *QUICK)
    assert command(*plain) == 0
    assert "RefCLIP-S" not in capsys.readouterr().out
    assert command(*plain, "--metric", "clip-s", "--metric", "ref-clip-s") == 0
    assert "RefCLIP-S: recipe torchmetrics has no score with references; left out" in capsys.readouterr().out


def test_a_recipe_is_replayed(command, files, capsys):
    """A comparison under another recipe comes out the same, not as CLIP-S."""
    given = ("blip.json", "ofa.json", *files, "--recipe", "raw", *QUICK)
    assert command("compare", *given, "--json", "-o", "report.json") == 0
    assert command("replay", "report.json") == 0
    assert "NO" not in capsys.readouterr().out


def test_without_a_baseline_identical_systems_are_named(command, files, capsys):
    """Two files with the same captions."""
    command("compare", "blip.json", "ofa.json", "git.json", *files, *QUICK)
    out = capsys.readouterr().out
    assert "identical on every image (p = 1): ofa = git" in out
    assert "group" in out.splitlines()[0]


def test_json_goes_to_a_file_and_replays(command, files, capsys, tmp_path):
    """``--json -o``: plain JSON, no absolute path; replay finds it the same."""
    assert command("compare", "blip.json", "ofa.json", *files, *QUICK, "--json", "-o", "report.json") == 0
    text = (tmp_path / "report.json").read_text(encoding="utf-8")
    assert json.loads(text)["schema"] == 1
    assert str(tmp_path) not in text
    assert command("replay", "report.json") == 0


def test_saved_systems_by_name_and_glob(command, tmp_path, capsys):
    """With -t: all systems, or names and globs; --last takes those saved last."""
    systems = {f"step-{number}": drawn.captions(COUNT, f"step {number} on") for number in (1, 2, 3)}
    saved(tmp_path, "coco", {"blip": drawn.captions(COUNT), **systems})

    def shown(*more):
        assert command("compare", "-t", "coco", *QUICK, *more, "--columns", "system", "--format", "csv") == 0
        return set(capsys.readouterr().out.splitlines()[1:-2])

    assert shown() == {"blip", *systems}
    assert shown("step-*") == set(systems)
    assert shown("step-*", "--last", 2) == {"step-2", "step-3"}


def test_a_name_that_fits_nothing(command, tmp_path, capsys):
    """Exit 2, and the message lists the systems there are."""
    saved(tmp_path, "coco", {"blip": drawn.captions(COUNT)})
    assert command("compare", "-t", "coco", "ofa") == 2
    assert "no system 'ofa'; there is: blip" in capsys.readouterr().err


def test_two_sets_make_groups_of_columns(command, tmp_path, capsys):
    """``-t`` twice: one table."""
    saved(tmp_path, "one", {"a": drawn.captions(COUNT), "b": drawn.captions(COUNT, "b")})
    saved(tmp_path, "two", {"a": drawn.captions(20)}, 20)
    assert command("compare", "-t", "one", "-t", "two", *QUICK, "--metric", "clip-s") == 0
    header = capsys.readouterr().out.splitlines()[0]
    assert header.split("\t") == ["#", "system", "one (n=110) CLIP-S", "two (n=20) CLIP-S"]


def test_runs_of_one_system(command, files, capsys):
    """``NAME=a.json,b.json`` is one row, with the spread of the runs."""
    assert command("compare", "ours=blip.json,ofa.json", "git.json", *files, *QUICK) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert "runs sd" in lines[0]
    assert {line[1]: line[3] for line in lines[1:3]} == {"ours": "2", "git": "1"}


def test_unequal_coverage_is_refused(command, files, tmp_path, capsys):
    """Exit 1 with counts; with --missing skip the common images, said in the signature."""
    drawn.write_json(tmp_path / "some.json", dict(list(drawn.captions(COUNT).items())[2:]))
    given = ("compare", "blip.json", "some.json", *files, *QUICK)
    assert command(*given) == 1
    assert "2 of 110 images have no caption" in capsys.readouterr().err
    assert command(*given, "--missing", "skip") == 0
    assert "missing:skip|common:108/110@" in capsys.readouterr().out


def test_checks_for_ci(command, files, tmp_path, capsys):
    """A value under the limit: exit 1, a line on stderr, JUnit and Markdown written."""
    given = ("compare", "blip.json", "ofa.json", *files, *QUICK, "--fail-under", "clip-s=5")
    assert command(*given, "--junit", "junit.xml", "--format", "md", "-o", "out.md") == 1
    assert "error: FAILED: blip: clip-s at least 5" in capsys.readouterr().err
    assert ET.parse(tmp_path / "junit.xml").getroot().get("failures") == "2"
    assert "FAILED: ofa" in (tmp_path / "out.md").read_text(encoding="utf-8")


def test_a_drop_that_chance_explains_passes(command, files, capsys):
    """Fake scores differ by chance only: no significant drop, exit 0."""
    given = ("compare", "blip.json", "ofa.json", *files, *QUICK, "--baseline", "blip")
    assert command(*given, "--fail-on-drop", 0.9) == 0
    assert command(*given[:-2], "--fail-on-drop", 0.9) == 2
    assert "--baseline" in capsys.readouterr().err


def test_bundle_and_rows(command, files, tmp_path):
    """``--bundle`` and ``--per-item`` write beside the table."""
    given = ("compare", "blip.json", "ofa.json", *files, *QUICK)
    assert command(*given, "--bundle", "run.zip", "--per-item", "rows.parquet", "-o", "table.txt") == 0
    with zipfile.ZipFile(tmp_path / "run.zip") as file:
        assert "set/captions/01-blip.json" in file.namelist()
    assert (tmp_path / "rows.parquet").stat().st_size > 0
    assert (tmp_path / "table.txt").read_text(encoding="utf-8").startswith("#  system")


def test_slices_by_a_table_of_tags(command, files, tmp_path, capsys):
    """``--tags`` brings a field, ``--slice-by`` cuts by it."""
    rows = "".join(f"{drawn.name(row)},{'near' if row % 2 else 'far'}\n" for row in range(COUNT))
    (tmp_path / "tags.csv").write_text(f"image,domain\n{rows}", encoding="utf-8")
    given = ("compare", "blip.json", "ofa.json", *files, *QUICK, "--metric", "clip-s")
    assert command(*given, "--tags", "tags.csv", "--slice-by", "domain") == 0
    out = capsys.readouterr().out
    assert "far (n=55) CLIP-S\tnear (n=55) CLIP-S" in out
    assert "|slice:domain=far|" in out


def test_a_set_without_images(command, files, capsys):
    """References alone do for metrics of captions; no model is asked for."""
    assert command("compare", "blip.json", "ofa.json", "--refs", "refs.json", "--metric", "diversity", *QUICK) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("#\tsystem\tn\twords/caption")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--metric", "blue"), "no metric is called 'blue'"),
        (("--sort", "size"), "can't sort by 'size'"),
        (("--columns", "size"), "no column is called 'size'"),
        (("--baseline", "gpt"), "to be the baseline; there is: blip"),
        (("--slice-by", "colour"), "no image has such a tag"),
        (("--alpha", "2"), "alpha and level lie between 0 and 1"),
    ],
)
def test_wrong_words_are_named(command, files, capsys, more, said):
    """Exit 2 and a message that says what there is."""
    assert command("compare", "blip.json", "ofa.json", *files, *QUICK, *more) == 2
    assert said in capsys.readouterr().err


def test_no_captions(command, files, capsys):
    """Neither files nor a set: exit 2, and no store is made."""
    assert command("compare", *files) == 2
    assert "no captions" in capsys.readouterr().err


SCRIPT = """
import sys
from clipstore_cli import compare, inputs, main
from clipstore.encoders.fake import FakeEncoder
if "compare" not in {one.name for one in main.app.registered_commands}:
    main.app.command("compare")(compare.compare)
inputs.space_of = lambda _model, store, _settings: store.custom_space(FakeEncoder(), "fake")
sys.exit(main.call(sys.argv[1:]))
"""


@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_on_a_terminal_of_eighty_columns(files, tmp_path, variables):
    """Tables fit the width, and no colour code is written."""
    systems = []
    for number in range(12):
        words = f"caption {number} of"
        drawn.write_json(tmp_path / f"system_number_{number}.json", drawn.captions(COUNT, words))
        systems.append(f"system_number_{number}.json")
    parent, child = pty.openpty()
    given = ["compare", *systems, *files, "--resamples", "100", "-q"]
    environment = {**os.environ, "COLUMNS": "80", "LINES": "40", **variables}
    done = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *given], cwd=tmp_path, stdout=child, stderr=subprocess.PIPE, env=environment
    )
    os.close(child)
    read = b""
    while True:
        try:
            chunk = os.read(parent, 65536)
        except OSError:
            break
        if not chunk:
            break
        read += chunk
    os.close(parent)
    _, err = done.communicate()
    assert done.returncode == 0, err
    text = read.decode().replace("\r\n", "\n")
    assert "\x1b" not in text
    board, *grids = text.split("\n\n")[:-1]
    assert all(len(line) <= 80 for block in (board, *grids) for line in block.splitlines())
    assert board.count("system_number_") == 12


def test_saved_runs_are_replayed(command, tmp_path, capsys):
    """Runs named in another order than they were saved in are found again, each by its own hash."""
    saved(tmp_path, "coco", {"one": drawn.captions(COUNT), "two": drawn.captions(COUNT, "the first words on")})
    assert command("compare", "-t", "coco", "ours=two,one", *QUICK, "--json", "-o", "report.json") == 0
    assert command("replay", "report.json") == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--bundle", "no/run.zip"), "can't write no/run.zip: its folder does not exist"),
        (("--junit", "no/checks.xml"), "can't write no/checks.xml: its folder does not exist"),
        (("--per-item", "no/rows.parquet"), "can't write no/rows.parquet: its folder does not exist"),
        (("-o", "no/table.txt"), "can't write no/table.txt: its folder does not exist"),
        (("--fail-under", "clip-s=high"), "'high' is no number"),
        (("--fail-under", "beauty=1"), "no metric is called 'beauty'"),
        (("--fail-on-drop", "0.1"), "name it with --baseline"),
        (("--tags", "no.csv", "--slice-by", "x"), "can't read no.csv: no such file or directory"),
    ],
    ids=lambda one: one[0] if isinstance(one, tuple) else "",
)
def test_what_can_not_be_done_is_said_first(command, files, capsys, more, said):
    """Files that can't be written and checks that can't be made: exit 2 before anything is encoded or shown."""
    assert command("compare", "blip.json", "ofa.json", *files, *QUICK, *more) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert out == ""
    assert "encoded" not in err
