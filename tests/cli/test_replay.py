"""``clipstore replay``: the same numbers again, or the first thing that differs."""

import json

import drawn
import pytest

pytest_plugins = ("compare_command",)
COUNT = 12


@pytest.fixture
def report(command, tmp_path):
    """A comparison of two systems given as files, saved as JSON."""
    drawn.draw(tmp_path / "images", COUNT)
    drawn.write_json(tmp_path / "refs.json", drawn.references(COUNT))
    drawn.write_json(tmp_path / "a.json", drawn.captions(COUNT))
    drawn.write_json(tmp_path / "b.json", drawn.captions(COUNT, "b says"))
    given = ("a.json", "b.json", "--images", "images", "--refs", "refs.json", "--resamples", 200)
    assert command("compare", *given, "--json", "-o", "report.json", "-q") == 0
    return tmp_path / "report.json"


def test_it_comes_out_the_same(command, report, capsys, tmp_path):
    """From the store alone: images and captions may be gone."""
    for name in ("a.json", "b.json", "refs.json"):
        (tmp_path / name).unlink()
    assert command("replay", "report.json") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[:2] for row in rows] == [["what", "same"], *([row[0], "yes"] for row in rows[1:])]


def test_a_changed_report_is_named(command, report, capsys):
    """Exit 1, the first difference on stderr, the findings as JSON."""
    value = json.loads(report.read_text(encoding="utf-8"))
    value["systems"][0]["captions"] = "0" * 64
    report.write_text(json.dumps(value), encoding="utf-8")
    assert command("replay", "report.json", "--json") == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["same"] is False
    assert "error: captions of a: the report has sha256:0000000000000000" in err


def test_a_file_that_is_no_report(command, report, capsys):
    """Exit 2 with a message, whatever the file holds."""
    report.write_text("{", encoding="utf-8")
    assert command("replay", "report.json") == 2
    report.write_text("[]", encoding="utf-8")
    assert command("replay", "report.json") == 2
    assert "compare --json" in capsys.readouterr().err
    report.unlink()
    assert command("replay", "report.json") == 2
    assert "can't read report.json: no such file" in capsys.readouterr().err
