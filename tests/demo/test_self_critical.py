"""The self-critical training example: it runs on the model that ships, and its reward rises."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")


def test_the_reward_rises(tmp_path: Path) -> None:
    """Thirty steps on forty scenes at least double the greedy reward; no caption is encoded twice."""
    from clipstore.demo.self_critical import run

    done = run(tmp_path, count=40, steps=30)
    assert done.after > 2 * done.before
    assert done.encoded <= 4 * 8 * 6
