"""Ranks of a training run on several hosts, that read one store on a network file system."""

from __future__ import annotations

from pathlib import Path

import drawn
import numpy as np
import pytest

from clipstore import EvalSet, RewardScorer, Store
from clipstore.storage import lease
from clipstore.storage.catalogue import journal

COUNT = 6


def test_any_host_makes_rewards_while_one_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without WAL one host writes at a time; ranks elsewhere need no lease, for stored captions and for new ones."""
    monkeypatch.setattr(journal, "_probe", lambda _folder: False)
    monkeypatch.setattr(lease, "host", lambda: "first")
    evalset = EvalSet.read(images=drawn.draw(tmp_path / "images", COUNT), refs=drawn.references(COUNT))
    with Store.open(tmp_path / "store") as first:
        space = first.space("fake")
        stored = list(drawn.captions(COUNT).values())
        space.ensure_texts(stored, "A photo depicts ")
        wanted = RewardScorer(space, evalset)(evalset.keys, stored)
        assert lease.holder(tmp_path / "store") is not None
        for host in ("second", "third"):
            monkeypatch.setattr(lease, "host", lambda host=host: host)
            with Store.open(tmp_path / "store") as store:
                scorer = RewardScorer(store.space("fake"), evalset)
                assert np.array_equal(scorer(evalset.keys, stored), wanted)
                assert scorer.encoded == 0
                new = scorer(evalset.keys, [f"{host} says a new caption {i}" for i in range(COUNT)])
                assert new.shape == (COUNT,)
                assert scorer.encoded == COUNT
        holder = lease.holder(tmp_path / "store")
        assert holder is not None
        assert holder.host == "first", "no rank took the lease"
