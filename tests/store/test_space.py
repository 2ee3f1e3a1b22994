"""Encode what is missing, once; gather it in the order asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import drawn
import numpy as np
import pytest
from drawn import Watched
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clipstore import Store
from clipstore.encoders.fake import FakeEncoder
from clipstore.errors import NotStored
from clipstore.items import Image
from clipstore.storage import segments
from clipstore.store import writing

PREFIX = "A photo depicts "


def files(folder: Path, count: int) -> list[Image]:
    """Draw pictures and return them as images that lie in files."""
    drawn.draw(folder, count)
    return [Image(path, path.name) for path in sorted(folder.iterdir())]


def test_texts_are_encoded_once(store: Store) -> None:
    """The second call encodes nothing and never asks the encoder; with one text more only that one is encoded."""
    encoder = Watched()
    space = store.custom_space(encoder, "mine")
    texts = ["a cat", "a dog", "a cat"]
    first = space.ensure_texts(texts, PREFIX)
    assert (first.asked, first.encoded, first.cached) == (2, 2, 0)
    again = space.ensure_texts(texts, PREFIX)
    assert (again.asked, again.encoded, again.cached) == (2, 0, 2)
    assert again.seconds == 0
    more = space.ensure_texts([*texts, "a cow"], PREFIX)
    assert (more.asked, more.encoded) == (3, 1)
    assert sorted(encoder.texts) == ["a photo depicts a cat", "a photo depicts a cow", "a photo depicts a dog"]


def test_images_are_encoded_once_by_content(store: Store, tmp_path: Path) -> None:
    """A copy, a rename and a second call cost nothing: the id is the content."""
    encoder = Watched()
    space = store.custom_space(encoder, "mine")
    images = files(tmp_path / "images", 3)
    assert space.ensure_images(images).encoded == 3
    (tmp_path / "images" / "scene_000000.png").rename(tmp_path / "images" / "other.png")
    (tmp_path / "images" / "copy.png").write_bytes((tmp_path / "images" / "other.png").read_bytes())
    again = space.ensure_images([Image(path, path.name) for path in sorted((tmp_path / "images").iterdir())])
    assert again.encoded == 0
    assert again.asked == 3
    assert len(again.ids) == 4
    assert encoder.images == 3


def test_spellings_that_share_tokens_share_a_vector(store: Store) -> None:
    """Case, doubled and leading spaces and HTML entities don't change the tokens, so they share one key."""
    encoder = Watched()
    space = store.custom_space(encoder, "mine")
    done = space.ensure_texts(["A cat &amp; a dog", "a  cat & a dog", " a CAT & a dog\n"], PREFIX)
    assert (done.asked, done.encoded) == (1, 1)
    assert len(set(done.keys.tolist())) == 1
    assert encoder.texts == ["a photo depicts a cat & a dog"]


def test_a_prefix_makes_another_vector(store: Store) -> None:
    """The same text under two prefixes has two keys and two vectors."""
    space = store.space("fake")
    with_prefix = space.ensure_texts(["a cat"], PREFIX).keys
    without = space.ensure_texts(["a cat"]).keys
    assert with_prefix.tolist() != without.tolist()
    assert not np.array_equal(space.gather_texts(with_prefix), space.gather_texts(without))


def test_a_prefix_and_a_text_that_join_alike_share_a_vector(store: Store) -> None:
    """The key is of the whole string: ``a `` + ``cat`` and `` `` + ``a cat`` give one."""
    space = store.space("fake")
    assert space.ensure_texts(["cat"], "a ").encoded == 1
    assert space.ensure_texts(["a cat"]).encoded == 0


def test_two_encoders_share_nothing_in_one_store(store: Store) -> None:
    """Another fingerprint is another space: nothing of the first is found in it."""
    one, other = store.space("fake"), store.space("fake:32")
    keys = one.ensure_texts(["a cat"]).keys
    assert one.fingerprint.digest != other.fingerprint.digest
    with pytest.raises(NotStored):
        other.gather_texts(keys)
    assert other.ensure_texts(["a cat"]).encoded == 1
    assert other.gather_texts(keys).shape == (1, 32)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(order=st.lists(st.integers(0, 19), max_size=60))
def test_gather_keeps_order_and_repeats(store: Store, order: list[int]) -> None:
    """Vectors come in the order asked, repeats included, equal to what the encoder gives."""
    texts = [f"text number {i}" for i in range(20)]
    space = store.space("fake")
    keys = space.ensure_texts(texts).keys[order]
    gathered = space.gather_texts(keys)
    assert gathered.shape == (len(order), 64)
    assert gathered.dtype == np.float32
    expected = FakeEncoder().encode_texts([texts[i] for i in order])
    np.testing.assert_array_equal(gathered, expected.reshape(gathered.shape))


def test_a_vector_that_is_not_there_is_named(store: Store) -> None:
    """Gathering what was never encoded says how many and which id, and what to do."""
    space = store.space("fake")
    keys = space.text_keys(["never seen"])
    with pytest.raises(NotStored, match=rf"1 vectors are not in the store.*{int(keys[0]):016x}.*encode them first"):
        space.gather_texts(keys)


def test_no_encode_refuses_and_counts(store: Store, tmp_path: Path) -> None:
    """With encode=False a missing item raises, with the count, the model and the remedy; nothing is loaded."""
    encoder = Watched()
    space = store.custom_space(encoder, "mine")
    space.ensure_texts(["there"])
    with pytest.raises(NotStored, match=r"2 texts have no vector of mine in store.*without --no-encode"):
        space.ensure_texts(["there", "one", "two"], encode=False)
    with pytest.raises(NotStored, match=r"3 images have no vector of mine"):
        space.ensure_images(files(tmp_path / "images", 3), encode=False)
    assert space.ensure_texts(["there"], encode=False).encoded == 0
    assert encoder.images == 0


def test_stored_vectors_are_what_was_computed_bit_for_bit(store: Store, open_store: Callable[[str], Store]) -> None:
    """A store opened again gives the same bits."""
    texts = [f"text {i}" for i in range(50)]
    keys = store.space("fake").ensure_texts(texts).keys
    with Store.open(store.folder) as again:
        np.testing.assert_array_equal(again.space("fake").gather_texts(keys), FakeEncoder().encode_texts(texts))


def test_what_another_opening_adds_is_seen(store: Store) -> None:
    """A space sees what somebody else committed since it looked."""
    mine = store.space("fake")
    mine.ensure_texts(["one"])
    with Store.open(store.folder) as other:
        other.space("fake").ensure_texts(["two"])
    assert mine.ensure_texts(["one", "two"]).encoded == 0


def test_an_interruption_keeps_what_was_done(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle commits what was encoded; the rerun encodes only the rest."""
    encoder = Watched()
    space = store.custom_space(encoder, "mine")
    monkeypatch.setattr(Watched, "token_budget", property(lambda _: 60))
    texts = [f"one of many texts {i}" for i in range(40)]

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "texts" and done >= total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        space.ensure_texts(texts, progress=stop)
    kept = int(space.shelf("text").contains(space.text_keys(texts)).sum())
    assert 20 <= kept < 40
    again = space.ensure_texts(texts)
    assert again.encoded == 40 - kept


def test_an_interruption_keeps_images_too(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C between two batches of images commits the first; the rerun encodes the rest."""
    monkeypatch.setattr(Watched, "image_batch", property(lambda _: 4))
    encoder = Watched()
    space = store.custom_space(encoder, "mine")
    images = files(tmp_path / "images", 10)

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "images" and done >= 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        space.ensure_images(images, progress=stop)
    kept = space.shelf("image").rows
    assert kept == 4
    assert space.ensure_images(images).encoded == 6
    assert store.counts().images == 10


def test_work_is_committed_in_chunks(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk is committed when it is full, not only at the end: another opening sees it meanwhile."""
    monkeypatch.setattr(writing, "ROWS", 10)
    monkeypatch.setattr(FakeEncoder, "token_budget", property(lambda _: 60))
    seen: list[int] = []

    def look(stage: str, _done: int, _total: int) -> None:
        if stage == "texts":
            seen.append(store.space("fake").shelf("text").rows)

    store.space("fake").ensure_texts([f"one of the texts {i}" for i in range(50)], progress=look)
    assert len(set(seen)) >= 4
    assert seen == sorted(seen)
    assert store.space("fake").shelf("text").rows == 50


def test_progress_tells_each_stage_to_its_end(store: Store, tmp_path: Path) -> None:
    """Stages load, read, images and texts each end at their total; done never goes back."""
    told: dict[str, list[tuple[int, int]]] = {}

    def progress(stage: str, done: int, total: int) -> None:
        told.setdefault(stage, []).append((done, total))

    space = store.custom_space(FakeEncoder(), "mine")
    space.ensure_images(files(tmp_path / "images", 5), progress=progress)
    space.ensure_texts(["a", "b"], progress=progress)
    assert set(told) == {"load", "read", "images", "texts"}
    for steps in told.values():
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1]


def test_cuts_are_recorded_where_a_text_is_too_long(store: Store) -> None:
    """A text of 80 words loses 5 of the fake encoder's 75; a short one has no entry."""
    space = store.space("fake")
    keys = space.ensure_texts(["word " * 80, "short"]).keys
    assert space.cuts(keys) == {int(keys[0]): 5}


def test_nothing_asked_is_nothing_done(store: Store) -> None:
    """Empty lists are fine and load no encoder."""
    encoder = Watched()
    space = store.custom_space(encoder, "mine")
    assert space.ensure_texts([]).asked == 0
    assert space.ensure_images([]).asked == 0
    assert len(space.gather_texts(np.empty(0, np.int64))) == 0


def test_two_failed_copies_do_not_make_the_cached_count_negative(store: Store, tmp_path: Path) -> None:
    """Two empty files share an id; both are failures, and nothing is cached."""
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(b"")
    done = store.space("fake").ensure_images([Image(tmp_path / name, name) for name in ("a.png", "b.png")])
    assert [one.name for one in done.failures] == ["a.png", "b.png"]
    assert done.encoded == 0
    assert done.cached == 0


def test_a_commit_costs_reading_the_new_segment_only(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a commit of another process the segments that were looked into before are not read again."""
    space = store.space("fake")
    space.ensure_texts(["one"])
    with Store.open(store.folder) as other:
        other.space("fake").ensure_texts(["two"])
        assert space.shelf("text").contains(space.text_keys(["one", "two"])).all()
        read: list[str] = []
        real = segments._reading
        monkeypatch.setattr(segments, "_reading", lambda path: read.append(path.stem) or real(path))
        before = set(space.shelf("text").names)
        other.space("fake").ensure_texts(["three"])
        read.clear()
        keys = space.text_keys(["one", "two", "three"])
        assert space.shelf("text").contains(keys).all()
        assert set(read) == set(space.shelf("text").names) - before
        assert len(space.gather_texts(keys)) == 3


def test_a_mixed_list_is_encoded_once(store: Store) -> None:
    """``ensure`` takes images and texts together, and does nothing the second time."""
    space = store.space("fake")
    items = [Image(drawn.picture(1), "one"), "a text", Image(drawn.picture(2), "two"), "a text"]
    assert [done.encoded for done in space.ensure(items, "A photo depicts ")] == [2, 1]
    assert [done.encoded for done in space.ensure(items, "A photo depicts ")] == [0, 0]
