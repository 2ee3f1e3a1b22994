"""Pair scores, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import drawn
import numpy as np
import PIL.Image
import pytest

from clipstore import Store, keys
from clipstore.encoders.protocol import Fingerprint, PairScorer, Prepared
from clipstore.errors import BadImage, EncoderError, NotStored
from clipstore.evaluate.pair_scores import pair_scores


class Words:
    """A scorer that counts: the words of a text times the image's width; it remembers what it was asked."""

    def __init__(self, name: str = "words") -> None:
        self.fingerprint = Fingerprint(MappingProxyType({"kind": name}))
        self.environment = {"device": "none"}
        self.asked: list[str] = []

    def prepare_image(self, image: bytes | PIL.Image.Image) -> Prepared:
        """Take a picture; bytes are refused."""
        if isinstance(image, bytes):
            msg = "no picture"
            raise BadImage(msg)
        return Prepared(np.zeros((1, 1, 3), np.uint8), image.mode, image.size)

    def score(self, image: Prepared, texts: Sequence[str]) -> np.ndarray:
        """Count."""
        self.asked += texts
        return np.array([len(text.split()) * image.size[0] for text in texts], np.float32)


def ask(store: Store, scorer: Words, rows: list[tuple[int, str]], **options: bool) -> list[float]:
    """Scores of (picture number, text) pairs; picture 9 can't be read."""
    read = {number: (lambda number=number: drawn.picture(number, (10 + number, 10))) for number in range(5)}
    contexts = {number: keys.from_sha256(keys.sha256(bytes([number]))) for number in range(10)}
    readers = {contexts[number]: reader for number, reader in read.items()} | {contexts[9]: lambda: b"broken"}
    ids = np.array([contexts[number] for number, _ in rows], np.int64)
    made = pair_scores(
        store.catalogue, scorer.fingerprint, lambda: scorer, ids, [text for _, text in rows], readers, **options
    )
    assert made.dtype == np.float32
    return made.tolist()


def test_each_pair_is_computed_once(store: Store) -> None:
    """Repeats are one pair; a second call computes nothing; new pairs alone are added."""
    scorer = Words()
    assert isinstance(scorer, PairScorer)
    rows = [(0, "a dog"), (1, "a dog"), (0, "a dog"), (0, "a cat here")]
    assert ask(store, scorer, rows) == [20, 22, 20, 30]
    assert sorted(scorer.asked) == ["a cat here", "a dog", "a dog"]
    scorer.asked.clear()
    assert ask(store, scorer, [*rows, (2, "new")]) == [20, 22, 20, 30, 12]
    assert scorer.asked == ["new"]


def test_a_cached_call_loads_no_scorer(store: Store) -> None:
    """The scorer is asked for only where something is missing; without leave, that is an error."""
    ask(store, Words(), [(0, "a dog")])
    contexts = np.array([keys.from_sha256(keys.sha256(bytes([0])))], np.int64)

    def never() -> PairScorer:
        raise AssertionError

    made = pair_scores(store.catalogue, Words().fingerprint, never, contexts, ["a dog"], {}, encode=False)
    assert made.tolist() == [20]
    with pytest.raises(NotStored, match="1 pairs have no score"):
        pair_scores(store.catalogue, Words().fingerprint, never, contexts, ["other"], {}, encode=False)


def test_another_scorer_has_its_own_numbers(store: Store) -> None:
    """Fingerprints keep them apart, and a scorer that is not the one asked for is refused."""
    ask(store, Words(), [(0, "a dog")])
    other = Words("other")
    assert ask(store, other, [(0, "a dog")]) == [20]
    assert other.asked == ["a dog"]
    contexts = np.array([1], np.int64)
    with pytest.raises(EncoderError, match="kind: words -> other"):
        pair_scores(store.catalogue, Words().fingerprint, lambda: other, contexts, ["x"], {})


def test_an_image_that_can_not_be_read_has_no_number(store: Store) -> None:
    """NaN for it, numbers for the rest, and it is tried again next time."""
    scorer = Words()
    first = ask(store, scorer, [(9, "a dog"), (0, "a dog")])
    assert np.isnan(first[0])
    assert first[1] == 20
    assert np.isnan(ask(store, scorer, [(9, "a dog")])[0])


def test_what_was_done_before_an_interruption_is_kept(store: Store) -> None:
    """Ctrl-C during the third image: the first two have their numbers."""

    class Interrupted(Words):
        def score(self, image: Prepared, texts: Sequence[str]) -> np.ndarray:
            if len(self.asked) == 2:
                raise KeyboardInterrupt
            return super().score(image, texts)

    rows = [(number, "a dog") for number in range(4)]
    with pytest.raises(KeyboardInterrupt):
        ask(store, Interrupted(), rows)
    again = Words()
    assert ask(store, again, rows) == [20, 22, 24, 26]
    assert len(again.asked) == 2
