"""The product in pieces is the product."""

import numpy as np
import pytest

from clipstore.significance.product import Summed


@pytest.mark.parametrize("columns", [1, 31, 32, 33, 97])
@pytest.mark.parametrize("items", [0, 1, 255, 256, 257, 5000])
@pytest.mark.parametrize("rows", [1, 47, 48, 101])
def test_pieces_make_the_product(rows, items, columns):
    """Whatever the sizes, nothing is left out and nothing counted twice."""
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, (rows, items)).astype(np.float64)
    table = rng.normal(size=(items, columns))
    np.testing.assert_allclose(Summed(table)(weights), weights @ table, rtol=0, atol=1e-9)
