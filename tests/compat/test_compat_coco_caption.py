"""The coco-caption shape: a mean, and the images in the order of gts."""

import drawn
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clipstore import EvalSet, score
from clipstore.compat import CLIPScore
from clipstore.encoders.fake import FakeEncoder
from clipstore.errors import InputError, Unpaired

COUNT = 8


@pytest.fixture
def space(store):
    """A space whose vectors are drawn from hashes."""
    return store.custom_space(FakeEncoder(), "fake")


@pytest.fixture
def images(tmp_path):
    """More drawn images than any gts names, and nothing yet that says which count."""
    return EvalSet.read(images=drawn.draw(tmp_path / "images", COUNT + 3))


def of_set(count=COUNT):
    """Return gts and res as coco-caption holds them."""
    return drawn.references(count), {key: [text] for key, text in drawn.captions(count).items()}


def test_it_is_what_score_gives(space, images, tmp_path):
    """Mean and images equal score's; the signature is kept; other images of the folder do not count."""
    gts, res = of_set()
    scorer = CLIPScore(space, images)
    mean, each = scorer.compute_score(gts, res)
    found = score(space, {"a": drawn.captions(COUNT)}, EvalSet.read(images=tmp_path / "images", refs=gts))["a"].clip_s
    assert mean == pytest.approx(found.mean)
    assert np.array_equal(each, found.per_item.astype(float))
    assert str(scorer.signature) == str(found.signature)
    assert scorer.method() == "CLIPScore"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15, deadline=None)
@given(order=st.permutations(range(COUNT)))
def test_scores_follow_the_order_of_gts(space, images, order):
    """However gts and res are shuffled, each number stays with its image."""
    gts, res = of_set()
    _, plain = CLIPScore(space, images).compute_score(gts, res)
    keys = list(gts)
    shuffled = {keys[place]: gts[keys[place]] for place in order}
    _, each = CLIPScore(space, images).compute_score(shuffled, dict(reversed(res.items())))
    assert np.array_equal(each, plain[list(order)])


def test_with_references(space, images):
    """``ref-clip-s`` takes the references of gts, one or many an image."""
    gts, res = of_set()
    gts[drawn.name(2)] = gts[drawn.name(2)][:1]
    scorer = CLIPScore(space, images, metric="ref-clip-s")
    mean, each = scorer.compute_score(gts, res)
    assert scorer.method() == "RefCLIPScore"
    assert mean == pytest.approx(each.mean())
    assert "|refs:1-2|" in str(scorer.signature)


def test_a_closed_set_will_do(space, images, tmp_path):
    """A set that references closed may hold more images than gts."""
    whole = EvalSet.read(images=tmp_path / "images", refs=drawn.references(COUNT + 3))
    gts, res = of_set()
    assert np.array_equal(
        CLIPScore(space, whole).compute_score(gts, res)[1], CLIPScore(space, images).compute_score(gts, res)[1]
    )


def test_ids_must_agree(space, images):
    """Different ids are refused with the first few; so is an id without image, and a bare string."""
    gts, res = of_set()
    with pytest.raises(InputError, match=r"1 ids are in one only \(first: scene_000000\)"):
        CLIPScore(space, images).compute_score(gts, {key: one for key, one in res.items() if key != drawn.name(0)})
    with pytest.raises(Unpaired):
        CLIPScore(space, images).compute_score({**gts, "other": ["x"]}, {**res, "other": ["x"]})
    with pytest.raises(InputError, match="list of one caption"):
        CLIPScore(space, images).compute_score(gts, {key: one[0] for key, one in res.items()})
