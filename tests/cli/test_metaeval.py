"""``clipstore metaeval``: what a user types, sees and gets as exit code."""

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import drawn
import pytest
from clipstore_cli import commands, inputs, main
from PIL import Image

from clipstore.encoders.fake import FakeEncoder

COUNT = 12


@pytest.fixture
def desk(tmp_path, monkeypatch, empty_store):
    """The current folder: images, ratings by two judges with references and systems, and pairs."""
    entry = commands.Entry("metaeval:metaeval", "Say how metrics agree with people, beside what papers print.")
    monkeypatch.setitem(commands.COMMANDS, "metaeval", entry)
    monkeypatch.setattr(inputs, "space_of", lambda _model, store, _settings: store.custom_space(FakeEncoder(), "fake"))
    monkeypatch.chdir(tmp_path)
    drawn.draw(tmp_path / "images", COUNT)
    rows = [
        {
            "image": f"{drawn.name(row)}.png",
            "caption": f"caption {row} {'longer ' * (row % 4 + turn)}",
            "rating_1": (row + turn) % 5,
            "rating_2": (row + 2 * turn) % 5,
            "references": [f"reference {row}", f"another {row}"],
            "system": f"system{turn}",
        }
        for row in range(COUNT)
        for turn in range(2)
    ]
    lines = "\n".join(json.dumps(row) for row in rows)
    (tmp_path / "ratings.jsonl").write_text(lines, encoding="utf-8")
    pairs = [
        {"image": drawn.name(row), "a": f"one {row}", "b": f"two {row}", "label": row % 2, "category": "xy"[row % 2]}
        for row in range(COUNT)
    ]
    (tmp_path / "pairs.jsonl").write_text("\n".join(json.dumps(row) for row in pairs), encoding="utf-8")
    drawn.write_json(tmp_path / "refs.json", {drawn.name(0): ["two red dogs", "dogs"], drawn.name(1): ["a blue car"]})
    return tmp_path


@pytest.fixture
def run(desk, capsys):
    """Run the command; return exit code, stdout and stderr."""

    def run(*words):
        capsys.readouterr()
        code = main.call(["metaeval", *map(str, words)])
        out, err = capsys.readouterr()
        return code, out, err

    return run


OWN = ("ratings", "--data", "ratings.jsonl", "--resamples", "20")


def test_ratings_of_your_own(run):
    """A table with tabs: metric, both taus beside published ones, interval, count; what counts is said below."""
    code, out, _ = run(*OWN, "--images", "images", "--metric", "clip-s", "--metric", "ref-clip-s", "--metric", "length")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].split("\t")[:5] == ["metric", "tau_b", "published", "tau_c", "published"]
    assert [line.split("\t")[0] for line in lines[1:4]] == ["CLIP-S", "RefCLIP-S", "length"]
    assert "48 single ratings, never averaged" in out


def test_json(run):
    """``--json``: schema 1, raw values, no path of this machine."""
    code, out, _ = run(*OWN, "--images", "images", "--metric", "clip-s", "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["schema"], found["protocol"], found["n"]) == (1, "ratings", 48)
    (metric,) = found["metrics"]
    assert metric.keys() >= {"name", "tau_b", "tau_c", "ci", "n", "published"}
    assert str(Path.cwd()) not in out


def test_pairs_of_your_own(run):
    """Accuracy by category, the rule for ties said."""
    code, out, _ = run("pairs", "--data", "pairs.jsonl", "--images", "images", "--metric", "clip-s", "--ties", "half")
    assert code == 0
    assert out.splitlines()[0].split("\t")[:6] == ["metric", "x", "95% CI", "y", "95% CI", "mean"]
    low, high = out.splitlines()[1].split("\t")[2].split("-")
    assert 0 <= float(low) <= float(high) <= 100
    assert "equal scores: half a point" in out
    assert "draws" not in out


def test_exclusions_that_excluded_nothing_are_not_printed(run):
    """A count of zero stays in the JSON and out of the table."""
    given = ("pairs", "--data", "pairs.jsonl", "--metric", "length", "--resamples", "0")
    assert "excluded" not in run(*given)[1]
    assert json.loads(run(*given, "--json")[1])["excluded"] == {"tied label (a coin)": 0}


def test_pairs_without_a_metric_print_no_empty_table(run):
    """CLIP-S of pairs without images: the reason on stderr, no table of ratings without rows."""
    code, out, err = run("pairs", "--data", "pairs.jsonl", "--metric", "clip-s")
    assert (code, out) == (1, "")
    assert "clip-s: looks at images" in err
    code, out, _ = run("pairs", "--data", "pairs.jsonl", "--metric", "clip-s", "--json")
    assert (code, json.loads(out)["metrics"]) == (1, [])


def test_texts_alone_leave_no_store(run, desk):
    """No image is looked at, no store is named and none is here: none is made; one that is named is."""
    for words in (
        (*OWN, "--metric", "length"),
        ("nope", "--data", "ratings.jsonl"),
        ("flickr8k-expert", "--data", "."),
        ("probe", "--refs", "refs.json", "--metric", "length"),
    ):
        run(*words)
        assert not (desk / ".clipstore").exists(), words
    run(*OWN, "--metric", "length", "--store", "mine")
    assert (desk / "mine").is_dir()


def test_explain_keeps_to_the_metrics_asked_for(run, desk):
    """``--explain`` shows what ``--metric`` and ``--scores`` name, and needs no Java for metrics without texts."""
    (desk / "scores.txt").write_text("\n".join(str(row) for row in range(2 * COUNT)), encoding="utf-8")
    given = (*OWN, "--metric", "length", "--scores", "mine=scores.txt", "--explain", "--resamples", "0")
    code, out, _ = run(*given)
    assert code == 0
    (header,) = (line for line in out.splitlines() if line.startswith("set-up"))
    assert header.split("\t") == ["set-up", "mine", "length"]
    found = json.loads(run(*given, "--json")[1])
    assert [one["setup"] for one in found["explain"]][:2] == ["published protocol (tau_c)", "tau_b in place of tau_c"]
    assert {name for one in found["explain"] for name in one["values"]} == {"mine", "length"}


def test_explain_of_pairs(run):
    """Each set-up has a row with its categories; published numbers would stand above."""
    given = ("pairs", "--data", "pairs.jsonl", "--metric", "length", "--explain", "--resamples", "0")
    code, out, _ = run(*given)
    assert code == 0
    (header,) = (line for line in out.splitlines() if line.startswith("metric\tset-up"))
    assert header.split("\t") == ["metric", "set-up", "x", "y", "mean", "off by"]
    assert any(line.startswith("length\tequal scores count as wrong (FLEUR)\t") for line in out.splitlines())
    (first, *_) = json.loads(run(*given, "--json")[1])["explain"]
    assert first["accuracy"]["length"].keys() == {"x", "y"}


def test_a_scorer_of_your_own(run, desk, monkeypatch):
    """``--metric MODULE:NAME`` of a scorer of image and caption together: its numbers are kept in the store."""
    (desk / "scorers.py").write_text(
        "import numpy as np\n"
        "from clipstore.encoders.fake import FakeEncoder\n"
        "from clipstore.encoders.protocol import Fingerprint\n"
        "class Lengths:\n"
        "    fingerprint = Fingerprint({'kind': 'lengths'})\n"
        "    environment = {'device': 'fake'}\n"
        "    def prepare_image(self, image): return FakeEncoder().prepare_image(image)\n"
        "    def score(self, image, texts): return np.array([len(text) for text in texts], np.float32)\n"
        "lengths = Lengths()\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(desk)
    code, out, _ = run(*OWN, "--images", "images", "--metric", "scorers:lengths")
    assert code == 0
    assert out.splitlines()[1].split("\t")[0] == "scorers:lengths"
    assert "scorer:" in out
    code, _, err = run(*OWN, "--metric", "scorers:lengths")
    assert code == 1
    assert "looks at images" in err


def test_scores_from_a_file_and_a_function(run, desk):
    """``--scores NAME=FILE`` and ``--metric MODULE:FUNCTION`` stand beside each other."""
    (desk / "scores.txt").write_text("\n".join(str(row) for row in range(2 * COUNT)), encoding="utf-8")
    own = "clipstore.metaeval.verb:length"
    code, out, _ = run(*OWN, "--metric", "none", "--metric", own, "--scores", "mine=scores.txt")
    assert code == 0
    assert [line.split("\t")[0] for line in out.splitlines()[1:3]] == ["mine", own]


def test_systems_and_gain_and_a_plot(run, desk):
    """``--systems`` warns that few prove little; ``--gain --plot`` draws."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (extra clipstore[metaeval])")
    given = (*OWN, "--images", "images", "--metric", "clip-s", "--metric", "length")
    code, out, _ = run(*given, "--systems", "--gain", "--plot", "gain.svg")
    assert code == 0
    assert "2 systems prove little" in out
    assert "information gain" in out
    assert ET.parse(desk / "gain.svg").getroot().tag.endswith("svg")


def test_a_plot_as_png_and_pdf(run, desk):
    """The file's name says which; both hold the drawing at its own proportions."""
    pytest.importorskip("cairosvg", reason="clipstore[plots] is not installed", exc_type=(ImportError, OSError))
    given = (*OWN, "--images", "images", "--metric", "ref-clip-s", "--curve")
    assert run(*given, "--plot", "curve.png")[0] == 0
    with Image.open(desk / "curve.png") as drawn_one:
        assert (drawn_one.format, drawn_one.size) == ("PNG", (2000, 1250))
    assert run(*given, "--plot", "curve.pdf")[0] == 0
    assert (desk / "curve.pdf").read_bytes().startswith(b"%PDF")


def test_a_plot_without_cairo_is_refused_before_any_work(run, desk, monkeypatch):
    """The message names the extra; nothing was computed."""
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    code, out, err = run(*OWN, "--metric", "length", "--curve", "--plot", "curve.png")
    assert (code, out) == (2, "")
    assert "pip install 'clipstore[plots]'" in err
    assert not (desk / "curve.png").exists()


def test_a_curve_of_references(run):
    """``--curve``: a column for one reference, one for two."""
    code, out, _ = run(*OWN, "--images", "images", "--metric", "ref-clip-s", "--curve", "--json")
    assert code == 0
    curve = json.loads(out)["curve"]
    assert curve["references"] == [1, 2]
    assert len(curve["tau"]["ref-clip-s"]) == 2


def test_a_probe_of_your_references(run):
    """``probe --refs``: one category a kind of word."""
    code, out, _ = run("probe", "--refs", "refs.json", "--images", "images", "--metric", "clip-s", "--resamples", "0")
    assert code == 0
    assert {"noun", "colour", "count"} <= set(out.splitlines()[0].split("\t"))


def test_without_images_clip_s_says_why(run):
    """Nothing could be computed: exit 1 and the reason on stderr."""
    code, _, err = run(*OWN, "--metric", "clip-s")
    assert code == 1
    assert "clip-s: looks at images" in err


def test_to_a_file(run, desk):
    """``-o``: the table aligned, nothing on stdout."""
    code, out, _ = run(*OWN, "--metric", "length", "-o", "table.txt")
    assert (code, out) == (0, "")
    assert (desk / "table.txt").read_text(encoding="utf-8").startswith("metric")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("ratings",), "no data"),
        (("probe",), "give --refs"),
        (("flickr8k", "--data", "."), "no benchmark is called 'flickr8k'"),
        (("flickr8k", "--data", "."), "and probe for your own references"),
        ((*OWN, "--metric", "zz"), "length, none, and MODULE:NAME for your own"),
        (("flickr8k-expert", "--data", "."), "ExpertAnnotations.txt"),
        ((*OWN, "--metric", "blue"), "no metric is called 'blue'"),
        ((*OWN, "--metric", "nowhere:f"), "importable here"),
        ((*OWN, "--scores", "mine"), "write NAME=FILE"),
        (("pairs", "--data", "pairs.jsonl", "--metric", "length", "--gain"), "choices, not ratings"),
        (("probe", "--refs", "refs.json", "--curve"), "choices, not ratings"),
        ((*OWN, "--metric", "none"), "leaves nothing to evaluate"),
        ((*OWN, "--metric", "length", "-o", "nowhere/table.txt"), "its folder does not exist"),
        (("probe", "--refs", "refs.json", "--data", "ratings.jsonl"), "probe reads no --data"),
        ((*OWN, "--refs", "refs.json"), "ratings reads no --refs"),
        ((*OWN, "--metric", "length", "--curve"), "a metric that is computed here"),
        ((*OWN, "--metric", "length", "--curve", "--gain", "--plot", "x.svg"), "draws one of --gain and --curve"),
    ],
)
def test_wrong_words_are_named(run, words, said):
    """Exit 2 and a message that says what to give."""
    code, _, err = run(*words)
    assert code == 2
    assert said in err


@pytest.mark.parametrize(
    "flags", [["--plot", "out.svg"], ["--curve", "--plot", "out.jpg"], ["--curve", "--plot", "nowhere/out.svg"]]
)
def test_a_drawing_that_would_not_be_made_is_refused(desk, capsys, flags):
    """--plot without something to draw, or under a name of another kind: exit 2, no file."""
    code = main.call(["metaeval", "ratings", "--data", "ratings.jsonl", "--metric", "length", *flags])
    assert code == 2
    assert "error: " in capsys.readouterr().err
    assert not Path(flags[-1]).exists()
