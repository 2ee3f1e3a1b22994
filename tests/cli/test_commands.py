"""The command itself: help, version, pipes, exit codes, and what it loads."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import clipstore_cli
import pytest
from clipstore_cli import commands
from clipstore_cli.main import call, run

COMMANDS = [name for name, entry in commands.COMMANDS.items() if not entry.place.endswith(":app")]
ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., object]


def test_the_commands_are_these() -> None:
    """The commands of the main job are there, each once."""
    assert {"score", "add", "ls", "info", "demo"} <= set(COMMANDS)
    assert len(set(COMMANDS)) == len(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_a_help(capsys: pytest.CaptureFixture[str], command: str, flag: str) -> None:
    """-h and --help print usage and a sentence on stdout, exit 0, and every option has a help text."""
    assert call([command, flag]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert re.match(rf"Usage: .+ {command} ", out)
    options = re.findall(r"^  (?:-\w, )?(--[\w-]+)(?: [^ ]+)*?(?:  +|\n +)(\S.*)", out, re.MULTILINE)
    assert ("--help", "Show this message and exit.") in options
    for name in re.findall(r"^  (?:-\w, )?(--[\w-]+)", out, re.MULTILINE):
        assert name in [option for option, _ in options]


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_the_list_of_commands_says_what_their_help_says(name: str) -> None:
    """The summary that --help shows without importing a command is the first line of the command's own help."""
    assert commands.load(name).help.split("\n")[0] == commands.COMMANDS[name].summary


def test_the_list_of_commands_loads_none_of_them() -> None:
    """``clipstore --help`` imports neither the library nor NumPy: it answers at once."""
    code = "import sys; from clipstore_cli.main import call; call(['--help']); print(sorted({'clipstore', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


def test_a_word_means_the_same_in_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    """--store, --json, -o, -q and -v have one help text wherever they stand."""
    said: dict[str, set[str]] = {}
    for command in COMMANDS:
        call([command, "--help"])
        text = re.sub(r"\s+", " ", capsys.readouterr().out)
        for name in ("--store DIR", "--json", "-o, --out FILE", "-q, --quiet", "-v, --verbose"):
            if (at := text.rfind(f" {name} ")) >= 0:
                said.setdefault(name, set()).add(text[at + len(name) + 2 :].split(".")[0].strip())
    assert set(said) == {"--store DIR", "--json", "-o, --out FILE", "-q, --quiet", "-v, --verbose"}
    assert all(len(texts) == 1 for texts in said.values()), said


def test_readme_names_every_command() -> None:
    """Each command stands in README as a user would type it."""
    readme = ROOT / "README.md"
    if not readme.is_file():
        pytest.skip("no README here: the tests run outside a checkout")
    text = readme.read_text(encoding="utf-8")
    assert [command for command in COMMANDS if f"clipstore {command}" not in text] == []


def test_links_within_readme_lead_somewhere() -> None:
    """Each #anchor is a heading."""
    readme = ROOT / "README.md"
    if not readme.is_file():
        pytest.skip("no README here: the tests run outside a checkout")
    text = readme.read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^\w -]", "", line.lstrip("# ")).strip().lower().replace(" ", "-")
        for line in re.findall(r"^#+ .*", text, re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#([\w-]+)\)", text)) <= headings


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """-V and --version print name and version, exit 0."""
    for flag in ("-V", "--version"):
        assert call([flag]) == 0
        assert capsys.readouterr().out == f"clipstore {metadata.version('clipstore')}\n"


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """``clipstore`` alone shows the commands, as help and not as an error message."""
    call([])
    out, err = capsys.readouterr()
    assert "Usage: " in out + err
    assert all(f"\n  {command} " in out + err for command in COMMANDS)
    assert "error:" not in err


def test_an_unknown_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2 with one line."""
    assert call(["skore"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: No such command 'skore'")
    assert err.count("\n") == 1


def test_run_exits_with_the_code_of_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """The console script exits with what the command returned."""
    import signal

    monkeypatch.setattr(signal, "signal", lambda *_: None)
    for arguments, code in ((["--version"], 0), (["skore"], 2)):
        with pytest.raises(SystemExit) as left:
            run(arguments)
        assert left.value.code == code


def fresh(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own, in the current folder."""
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)


CACHED = """
import sys
from clipstore_cli.main import call
code = call(sys.argv[1:])
heavy = [name for name in ("torch", "open_clip", "torchvision", "alembic", "faiss") if name in sys.modules]
print(code, heavy, file=sys.stderr)
"""


def test_a_cached_run_loads_no_torch(run: Run, given: list[str]) -> None:
    """With a real model: the first run loads torch (so the probe can fail), the second imports nothing heavy."""
    words = ["score", "a.json", "b.json", *given, "--model", "tiny"]
    first = fresh(CACHED, *words)
    assert first.stderr.splitlines()[-1] == "0 ['torch', 'open_clip', 'torchvision', 'alembic']"
    done = fresh(CACHED, *words)
    assert done.stdout == first.stdout
    assert done.stderr.splitlines()[-1] == "0 []"


def test_a_closed_pipe_is_quiet(run: Run, given: list[str]) -> None:
    """``| head`` and a reader that is gone make no noise."""
    run("score", "a.json", *given)
    word = [sys.executable, "-m", "clipstore", "ls", "models", "-q"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(word, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode == -13


def test_the_module_is_the_command() -> None:
    """``python -m clipstore`` is the same command."""
    done = subprocess.run([sys.executable, "-m", "clipstore", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"clipstore {metadata.version('clipstore')}\n"


def test_the_library_does_not_print() -> None:
    """No print and no sys.stdout outside the command, the scripts that are run by hand, and the drop-ins."""
    import clipstore

    folder = Path(clipstore.__file__).parent
    found = [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*.py"))
        if re.search(r"^\s*print\(|sys\.stdout|sys\.argv|os\.environ\[", path.read_text(encoding="utf-8"), re.MULTILINE)
        and path.name not in {"train.py", "self_critical.py", "__main__.py"}
        and path.parent.name != "compat"
    ]
    assert found == []
    assert Path(clipstore_cli.__file__).is_file()


def test_a_wrong_choice_is_said_plainly(capsys: pytest.CaptureFixture[str]) -> None:
    """The option, what was given and what there is; no word of the validator behind it."""
    assert call(["compare", "a.json", "--test", "guess"]) == 2
    err = capsys.readouterr().err
    assert "Invalid value for '--test': 'guess' is not one of 'signflip', 'ttest', 'bootstrap'" in err
    assert "Value error" not in err
