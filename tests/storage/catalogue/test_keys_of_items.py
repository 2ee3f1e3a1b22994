"""Keys of items: whatever a user calls an item comes back as it came, type included."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from clipstore.storage.catalogue import items


@given(st.text() | st.integers())
@example('a "quoted" \\ key')
@example("7")
@example(7)
@example(-7)
@example("²")
@example("")
def test_a_key_comes_back_as_it_came(key):
    """Every string and every number survives, also where the short way of reading does not do."""
    found = items.unspelled(items.spelled(key))
    assert found == key == json.loads(items.spelled(key))
    assert type(found) is type(key)
