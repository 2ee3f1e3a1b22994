"""Text metrics against pycocoevalcap, keyed by image; the parts that need Java or the extra say so."""

import importlib.util
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from clipstore.errors import InputError
from clipstore.metrics.text import CORPUS, JavaFault, bleu_value, java, meteor, score_texts, tokenise
from clipstore.significance import Settings, analyse_corpus

needs_package = pytest.mark.skipif(
    importlib.util.find_spec("pycocoevalcap") is None, reason="pycocoevalcap is not installed (extra clipstore[text])"
)
needs_java = pytest.mark.skipif(shutil.which("java") is None, reason="there is no `java` on the path")

REFERENCES = {
    "b.jpg": ["A man rides a horse on the beach.", "A person riding a brown horse", "man on a horse near the sea"],
    7: ["Two dogs play in the snow", "Dogs are playing (outside) in snow!"],
    "7": ["a red bus", "A bus, red, on a street", "the bus stops"],
    "none": [],
    "x": ["A plate of food with a fork", "Some food on a plate"],
}
SYSTEMS = {
    "one": {
        "x": "a plate of food",
        "b.jpg": "a man riding a horse on a beach",
        7: "a cat sleeps",
        "7": "A red bus.",
        "none": "a thing",
    },
    "two": {"b.jpg": "a horse", 7: "two dogs playing in the snow", "7": "", "x": None},
}


@pytest.fixture(scope="module")
def found():
    """Return the scores of two systems on five images."""
    return score_texts(REFERENCES, SYSTEMS, ["Bleu_1", "bleu-4", "METEOR", "ROUGE_L", "CIDEr"])


@pytest.fixture(scope="module")
def theirs():
    """Return pycocoevalcap's own numbers of system one on the images that have references: corpus and per image."""
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    keys = [key for key in REFERENCES if REFERENCES[key]]
    tokens = tokenise([*(text for key in keys for text in REFERENCES[key]), *SYSTEMS["one"].values()])
    gts = {key: [tokens[text] for text in REFERENCES[key]] for key in keys}
    res = {key: [tokens[SYSTEMS["one"][key]]] for key in keys}
    bleu, bleus = Bleu(4).compute_score(gts, res, verbose=0)
    out = {f"bleu-{order}": (bleu[order - 1], bleus[order - 1]) for order in (1, 4)}
    out["rouge-l"] = Rouge().compute_score(gts, res)
    out["cider"] = Cider().compute_score(gts, res)
    return {name: (value, dict(zip(keys, numbers, strict=True))) for name, (value, numbers) in out.items()}


@needs_package
@needs_java
@pytest.mark.parametrize("metric", ["bleu-1", "bleu-4", "rouge-l", "cider"])
def test_numbers_are_pycocoevalcaps(found, theirs, metric):
    """The corpus value and every image's number are pycocoevalcap's, each under its own key."""
    value, numbers = theirs[metric]
    ours = found.systems["one"][metric]
    assert ours.value == pytest.approx(value, rel=1e-9)
    assert ours.to_dict() == pytest.approx({**numbers, "none": None})


@needs_package
@needs_java
def test_meteor_is_javas_own(found):
    """METEOR from statistics is what Meteor itself makes of them, for each image and for the corpus."""
    ours = found.systems["one"]["meteor"]
    held = ~np.isnan(ours.per_item)
    rows = [" ".join(map(str, row)) for row in ours.statistics[held].tolist()]
    command = ["-Xmx2G", "-jar", "meteor-1.5.jar", "-", "-", "-stdio", "-l", "en", "-norm"]
    lines = java.run(command, java.package() / "meteor", [" ||| ".join(["EVAL", *rows])])
    made = [float(line) for line in lines]
    assert ours.per_item[held].tolist() == pytest.approx(made[:-1], abs=1e-12)
    assert ours.value == pytest.approx(made[-1], abs=1e-12)


@needs_package
@needs_java
def test_absent_and_empty_captions(found):
    """No caption and no reference give no number; an empty caption gives 0; n counts the numbers."""
    for score in found.systems["two"].values():
        numbers = score.to_dict()
        assert (numbers["x"], numbers["none"]) == (None, None)
        assert numbers["7"] == pytest.approx(0, abs=1e-12)
        assert numbers[7] > 0
        assert score.n == 3
    assert found.systems["one"]["cider"].n == 4


@needs_package
@needs_java
def test_order_of_the_input_changes_nothing(found):
    """However references and captions are ordered, each image keeps its number (U9)."""
    rng = random.Random(3)
    keys = list(REFERENCES)
    rng.shuffle(keys)
    systems = {name: dict(sorted(some.items(), key=lambda _: rng.random())) for name, some in reversed(SYSTEMS.items())}
    again = score_texts({key: REFERENCES[key] for key in keys}, systems, ["bleu-4", "rouge-l", "cider"])
    for name, scores in again.systems.items():
        for metric, score in scores.items():
            assert score.keys == tuple(keys)
            assert score.to_dict() == pytest.approx(found.systems[name][metric].to_dict())
            assert score.value == pytest.approx(found.systems[name][metric].value)


@needs_package
@needs_java
def test_cider_keeps_the_frequencies_of_the_set(found):
    """A system that covers part of the set is scored with the whole set's document frequencies."""
    part = score_texts(REFERENCES, {"part": {7: SYSTEMS["two"][7]}}, ["cider"]).systems["part"]["cider"]
    assert part.to_dict()[7] == pytest.approx(found.systems["two"]["cider"].to_dict()[7])
    alone = score_texts({7: REFERENCES[7]}, {"part": {7: SYSTEMS["two"][7]}}, ["cider"]).systems["part"]["cider"]
    assert alone.to_dict()[7] != pytest.approx(part.to_dict()[7])
    assert ("df", "set") in part.fields


@needs_package
@needs_java
def test_corpus_values_can_be_tested(found):
    """The statistics of BLEU and METEOR go into the swap test, whose estimate is the number printed."""
    for metric in ("bleu-1", "meteor"):
        scores = [found.systems[name][metric] for name in ("one", "two")]
        table = np.stack([score.statistics for score in scores])
        made = analyse_corpus(table, CORPUS[metric], settings=Settings(resamples=200))
        assert [one.value for one in made.systems] == pytest.approx([score.value for score in scores])
        assert made.pairs[0].exact
        assert made.pairs[0].n == 3


@needs_package
@needs_java
def test_line_breaks_shift_nothing():
    """A line break of any kind inside a caption leaves the others in their place."""
    odd = [
        "a\rcat",
        "a\ndog",
        "a\u2028cow",
        "a\x0cpig",
        "a\x85hen",
        "",
        "  ",
        "!",
        "caf\u00e9 \u201copen\u201d",
        "an owl",
    ]
    tokens = tokenise(odd)
    assert [tokens[text] for text in odd[:8]] == ["a cat", "a dog", "a cow", "a pig", "a hen", "", "", ""]
    assert tokens["caf\u00e9 \u201copen\u201d"] == "caf\u00e9 open"
    assert tokens["an owl"] == "an owl"


@needs_package
@needs_java
def test_nothing_is_printed():
    """Neither Java nor pycocoevalcap writes a line: not to stdout, not to stderr."""
    code = (
        "from clipstore.metrics.text import score_texts\n"
        "score_texts({1: ['a cat']}, {'s': {1: 'a cat'}}, ['bleu-4', 'cider', 'rouge-l'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


@needs_package
def test_without_java_there_is_one_clear_line(monkeypatch):
    """Without Java every text metric is a problem in one line, and nothing is raised."""
    monkeypatch.setenv("PATH", "/nowhere")
    found = score_texts(REFERENCES, SYSTEMS, ["bleu-4", "cider"])
    assert set(found.problems) == {"bleu-4", "cider"}
    assert all("Java" in line and "install" in line and "\n" not in line for line in found.problems.values())
    assert found.systems == {"one": {}, "two": {}}


@needs_package
@needs_java
def test_a_failing_metric_leaves_the_others(monkeypatch):
    """Where METEOR's Java fails its line says so, and BLEU is there all the same."""

    def fail(segments):
        msg = "METEOR stopped"
        raise JavaFault(msg)

    monkeypatch.setattr(meteor, "statistics", fail)
    found = score_texts(REFERENCES, SYSTEMS, ["meteor", "bleu-4"])
    assert found.problems == {"meteor": "METEOR stopped"}
    assert list(found.systems["one"]) == ["bleu-4"]


@needs_package
@needs_java
def test_spice_without_its_models_downloads_nothing():
    """SPICE's missing models are a problem that names them; nothing is fetched."""
    if (java.package() / "spice" / "lib" / "stanford-corenlp-3.6.0-models.jar").exists():
        pytest.skip("SPICE's models are present")
    found = score_texts(REFERENCES, SYSTEMS, ["spice", "rouge-l"])
    assert "stanford-corenlp-3.6.0-models.jar" in found.problems["spice"]
    assert list(found.systems["one"]) == ["rouge-l"]


@needs_package
@needs_java
def test_java_that_fails_says_why():
    """A program that Java can't run is a fault with Java's first line."""
    with pytest.raises(JavaFault, match="no-such\\.jar"):
        java.run(["-jar", "no-such.jar"], Path(), [])


def test_without_the_package(monkeypatch):
    """Without pycocoevalcap the message names the extra."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"clipstore\[text\]"):
        score_texts(REFERENCES, SYSTEMS)


def test_strange_captions_and_names():
    """A caption of no image, and a metric that is not of text, are refused before anything runs."""
    with pytest.raises(InputError, match="'y'"):
        score_texts(REFERENCES, {"s": {"y": "a"}})
    with pytest.raises(InputError, match="CLIPScore"):
        score_texts(REFERENCES, SYSTEMS, ["CLIPScore"])


def test_import_is_light():
    """Importing the module loads neither pycocoevalcap nor a plotting library."""
    code = (
        "import sys, clipstore.metrics.text; print([m for m in sys.modules if m.startswith(('pycoco', 'matplotlib'))])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_bleu_by_hand():
    """Matches 3 of 4, 1 of 3 at length 4 against 5: BLEU-2 is sqrt(1/4) exp(1 - 5/4)."""
    sums = np.array([4, 5, 4, 3, 2, 1, 3, 1, 0, 0], float)
    assert bleu_value(sums, 2) == pytest.approx(0.5 * np.exp(-0.25), rel=1e-6)
    assert bleu_value(np.stack([sums, sums]), 1).shape == (2,)


@needs_package
@needs_java
def test_published_numbers(shared_data):
    """BLEU-4 and CIDEr of MAGIC on 4,982 images of the Karpathy split are those of its full file, to 0.1."""
    folder = shared_data / "karpathy"
    annotations = json.loads((folder / "annotations.json").read_text())
    references = {image["id"]: [] for image in annotations["images"]}
    for row in annotations["annotations"]:
        references[row["image_id"]].append(row["caption"])
    captions = {row["image_id"]: row["caption"] for row in json.loads((folder / "systems" / "magic.json").read_text())}
    scores = score_texts(references, {"magic": captions}, ["bleu-4", "cider"]).systems["magic"]
    assert 100 * scores["bleu-4"].value == pytest.approx(12.88, abs=0.1)
    assert 100 * scores["cider"].value == pytest.approx(49.29, abs=0.1)
    assert scores["cider"].n == 4982
