"""Self-retrieval: the rank of a caption's own image, and how far it stands above the others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clipstore.metrics.retrieval import retrieve


def unit(rng, rows, dim=16):
    """Return random unit vectors."""
    drawn = rng.normal(size=(rows, dim))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


def test_a_caption_that_is_its_image_comes_first():
    """Rank 1, and a large z."""
    images = unit(np.random.default_rng(0), 50)
    found = retrieve(images, images, np.arange(50))
    assert found.ranks.tolist() == [1] * 50
    assert found.z.min() > 2


def test_equal_images_go_to_the_lower_row():
    """A tie counts those before, not those after."""
    images = np.tile(unit(np.random.default_rng(0), 1), (3, 1))
    assert retrieve(images[:1], images, np.array([1])).ranks.tolist() == [2]


@given(st.integers(0, 2**32 - 1), st.integers(3, 40))
def test_against_a_plain_sort(seed, count):
    """Ranks and z as a loop over captions gives them, in whatever order captions come."""
    rng = np.random.default_rng(seed)
    captions, images = unit(rng, count), unit(rng, count)
    own = rng.permutation(count)
    found = retrieve(captions, images, own)
    cosines = captions @ images.T
    for row in range(count):
        order = np.argsort(-cosines[row], kind="stable")
        assert found.ranks[row] == np.flatnonzero(order == own[row])[0] + 1
        others = np.delete(cosines[row].astype(float), own[row])
        assert found.z[row] == pytest.approx(
            (cosines[row, own[row]] - others.mean()) / others.std(ddof=1), rel=1e-4, abs=1e-5
        )


def test_two_images_have_no_z():
    """One other image has no spread: NaN, not a number made up."""
    images = unit(np.random.default_rng(0), 2)
    assert np.isnan(retrieve(images, images, np.arange(2)).z).all()
