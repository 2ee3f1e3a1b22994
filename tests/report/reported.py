"""A small set with hostile captions, scored with the fake encoder, and its report."""

from __future__ import annotations

import drawn
import pytest

from clipstore import EvalSet, compare, measure
from clipstore.encoders.fake import FakeEncoder
from clipstore.evalset import save
from clipstore.formats import read_captions
from clipstore.report import gather
from clipstore.significance import Settings

COUNT = 24
HOSTILE = (
    "</script><script>alert(1)</script>",
    "[red]bold[/red] & <b onclick='x'>",
    "=1+1",
    "\u202etfel ot thgir\u202c \u2068isolate\u2069",
    " ".join(["word"] * 300),
    "\N{DOG FACE} on a \N{SURFER} \"quoted\" 'single'",
    "{{ 7 * 7 }} {% raw %} https://example.com/x.js",
    "\u2028 a line separator \u2029",
    "a bell\x07 an escape\x1b[31m a delete\x7f a next line\x85 a NUL\x00 no letter\ufffe",
)


def systems(count: int = COUNT) -> dict[str, dict[str, str]]:
    """Return three systems; the second has a hostile name, the third says hostile things."""
    hostile = drawn.captions(count, "something else on")
    for number, text in enumerate(HOSTILE):
        hostile[drawn.name(number)] = text
    return {
        "blip": drawn.captions(count),
        "a/b & <i>100%</i>": drawn.captions(count, "the first words on"),
        "hostile": hostile,
    }


def filled(store, folder, count: int = COUNT, name: str = "shown"):
    """Save the set and its systems, scored; return the space and the set as loaded."""
    drawn.draw(folder / "images", count)
    evalset = EvalSet.read(images=folder / "images", refs=drawn.references(count))
    space = store.custom_space(FakeEncoder(), "fake")
    ids = store.identify(evalset.images()).ids
    read = {system: read_captions(own) for system, own in systems(count).items()}
    save(store, name, evalset, read, ids)
    loaded = EvalSet.load(store, name)
    measure(space, read, loaded)
    return space, loaded


def made(store, folder, count: int = COUNT, **more):
    """Return a report."""
    space, loaded = filled(store, folder, count)
    measured = measure(space, {name: read_captions(own) for name, own in systems(count).items()}, loaded)
    return gather(compare(measured, settings=Settings(resamples=200)), space, **more)


@pytest.fixture
def report(store, tmp_path):
    """A report of 24 images and three systems."""
    return made(store, tmp_path)
