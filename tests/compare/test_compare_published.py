"""BLEU-4 and CIDEr of the systems that the field has published captions of, on the whole Karpathy test split."""

import shutil

import pytest

from clipstore import EvalSet
from clipstore.evaluate.measuring import measure
from clipstore.metrics.text import scoring

PUBLISHED = {
    "paddle-soft-attention": (29.93, 92.09),
    "magic": (12.88, 49.29),
    "er-san": (41.73, 134.97),
    "vqacaptioning": (39.03, 129.53),
    "ssg": (38.72, 128.30),
    "gat": (35.30, 111.50),
    "transformer-cil": (33.13, 111.13),
    "paddle-up-down": (35.03, 110.72),
}
pytestmark = pytest.mark.skipif(
    shutil.which("java") is None or not scoring.importlib.util.find_spec("pycocoevalcap"),
    reason="needs Java and pycocoevalcap",
)


def found(store, folder, names):
    """Return BLEU-4 and CIDEr, times 100, of each system on the images that it covers."""
    evalset = EvalSet.read(annotations=folder / "annotations.json")
    systems = {name: folder / "systems" / f"{name}.json" for name in names}
    made = measure(store, systems, evalset, ["bleu-4", "cider"], missing="skip")
    values = [made.measures[metric].values() for metric in ("bleu-4", "cider")]
    return {name: tuple(100 * own[row] for own in values) for row, name in enumerate(made.names)}


@pytest.mark.parametrize(
    "names",
    [list(PUBLISHED)[:2], pytest.param(list(PUBLISHED)[2:], marks=pytest.mark.stress)],
    ids=["two", "the others"],
)
def test_values_are_those_of_the_official_scorers(store, shared_data, names):
    """Within 0.1 of what pycocoevalcap's own scorers give for the whole files; magic lacks 18 images."""
    for name, values in found(store, shared_data / "karpathy", names).items():
        assert values == pytest.approx(PUBLISHED[name], abs=0.1), name
