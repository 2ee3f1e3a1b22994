"""Runs the commands of this folder's tests in this process, with the fake encoder."""

from __future__ import annotations

import pytest
from clipstore_cli import compare, inputs, main, replay, show

from clipstore.encoders.fake import FakeEncoder

COMMANDS = {"compare": compare.compare, "show": show.show, "replay": replay.replay}


@pytest.fixture
def command(monkeypatch, tmp_path, empty_store):
    """Return a function that runs arguments in a folder of its own and returns the exit code."""
    known = {one.name for one in main.app.registered_commands}
    for name, function in COMMANDS.items():
        if name not in known:
            main.app.command(name)(function)
    monkeypatch.setattr(inputs, "space_of", lambda _model, store, _settings: store.custom_space(FakeEncoder(), "fake"))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> int:
        return main.call([str(one) for one in arguments])

    return run
