"""The report's small set, served from a real store."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "report"))

import reported

from clipstore.serve import Live, application, searching

BASE = "http://127.0.0.1:8000"


@pytest.fixture
def live(store, tmp_path):
    """A live report of 24 images and three systems."""
    space, _ = reported.filled(store, tmp_path)
    return Live(store, "shown", lambda: space)


@pytest.fixture
def client(live, monkeypatch):
    """A browser's requests to it, on the loopback; a search waits, however busy the machine is."""
    monkeypatch.setattr(searching, "PATIENCE", 60)
    from starlette.testclient import TestClient

    with TestClient(application(live), base_url=BASE, follow_redirects=False) as made:
        yield made
