"""``RewardScorer`` and ``Reranker``: rewards by memory and store, without a look at the catalogue."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import drawn
import numpy as np
import pytest

import clipstore as cs
from clipstore import EvalSet, Store
from clipstore.errors import FingerprintMismatch, InputError
from clipstore.rerank import Reranker, RewardScorer
from clipstore.storage.catalogue import Catalogue
from clipstore.storage.compact import compact
from clipstore.store import Space

KEYS = [drawn.name(i) for i in range(6)]


@pytest.fixture
def scorer(space: Space, evalset: EvalSet) -> RewardScorer:
    """A scorer of the six drawn images."""
    return RewardScorer(space, evalset)


@contextmanager
def no_sql(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail on any transaction."""

    def refuse(*_: object) -> None:
        msg = "SQL on the hot path"
        raise AssertionError(msg)

    with monkeypatch.context() as patch:
        patch.setattr(Catalogue, "read", refuse)
        patch.setattr(Catalogue, "write", refuse)
        yield


def test_a_reward_is_clip_s(space: Space, evalset: EvalSet, scorer: RewardScorer) -> None:
    """Float32, what ``score`` gives, by the user's ids in any order; an empty caption is 0."""
    captions = drawn.captions(6)
    wanted = cs.score(space, {"a": captions}, evalset)["a"].clip_s
    keys = KEYS[::-1]
    got = scorer([*keys, keys[0]], [*(captions[key] for key in keys), " "])
    assert got.dtype == np.float32
    assert got.tolist() == pytest.approx([*(wanted[key] for key in keys), 0])


def test_new_captions_are_not_kept_unless_asked(store: Store, space: Space, evalset: EvalSet) -> None:
    """The store is as before; with ``keep`` the caption's vector and text stand in it."""
    scorer = RewardScorer(space, evalset)
    before = store.counts().texts
    scorer(KEYS[:1], ["a passing thought"])
    assert store.counts().texts == before
    kept = RewardScorer(space, evalset, keep=True)
    kept(KEYS[:1], ["a caption to keep"])
    assert store.counts().texts == before + 1
    assert len(space.gather_texts(space.text_keys(["a caption to keep"], "A photo depicts "))) == 1


def test_nothing_is_asked_of_the_catalogue(
    space: Space, evalset: EvalSet, encoder: drawn.Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stored captions and new ones are rewarded without SQL; a caption is encoded once, images never again."""
    cs.score(space, {"a": drawn.captions(6)}, evalset)
    scorer = RewardScorer(space, evalset)
    encoder.texts.clear()
    images = encoder.images
    with no_sql(monkeypatch):
        scorer(KEYS, list(drawn.captions(6).values()))
        assert encoder.texts == []
        scorer(KEYS[:2], ["new", "new"])
        scorer(KEYS[:2], ["new", "newer"])
    assert encoder.texts == ["a photo depicts new", "a photo depicts newer"]
    assert scorer.encoded == 2
    assert encoder.images == images


def test_segments_that_were_compacted_away_are_read_anew(
    store: Store, space: Space, evalset: EvalSet, encoder: drawn.Watched
) -> None:
    """As another process compacts and sweeps: a caption that it moved is looked up still, and a new one encoded."""
    cs.score(space, {"a": drawn.captions(6)}, evalset)
    space.ensure_texts(["a second segment"], "A photo depicts ")
    wanted = RewardScorer(space, evalset)(KEYS, list(drawn.captions(6).values()))
    scorer, another = RewardScorer(space, evalset), RewardScorer(space, evalset)
    old = sorted((store.folder / "vectors").rglob("text/*.faiss"))
    compact(store.catalogue)
    for path in old:
        path.unlink(missing_ok=True)
    encoder.texts.clear()
    assert scorer(KEYS, list(drawn.captions(6).values())).tolist() == wanted.tolist()
    assert encoder.texts == []
    another(KEYS[:1], ["never seen"])
    assert encoder.texts == ["a photo depicts never seen"]


def test_the_greedy_caption_is_a_baseline(scorer: RewardScorer) -> None:
    """Its reward is taken off, pair by pair."""
    sampled, greedy = ["one thing", "another"], ["the usual", "the usual"]
    plain = scorer(KEYS[:2], sampled) - scorer(KEYS[:2], greedy)
    assert scorer(KEYS[:2], sampled, greedy=greedy) == pytest.approx(plain)
    assert scorer(KEYS[:2], greedy, greedy=greedy) == pytest.approx([0, 0])


def test_the_group_is_a_baseline(scorer: RewardScorer) -> None:
    """The mean of the other captions of the same image; alone, the reward stays."""
    ids = [KEYS[0], KEYS[1], KEYS[0], KEYS[0]]
    plain = scorer(ids, ["a", "b", "c", "d"]).tolist()
    got = scorer(ids, ["a", "b", "c", "d"], group=True)
    wanted = [plain[0] - (plain[2] + plain[3]) / 2, plain[1], plain[2] - (plain[0] + plain[3]) / 2]
    assert got[:3] == pytest.approx(wanted, abs=1e-6)


def test_the_trainers_tower_is_shared_and_checked(space: Space, evalset: EvalSet, encoder: drawn.Watched) -> None:
    """It gets what the encoder would get; another model is refused on stored references."""
    cs.score(space, {"a": drawn.captions(6)}, evalset)
    calls: list[list[str]] = []

    def tower(texts: list[str]) -> np.ndarray:
        calls.append(list(texts))
        return 3 * encoder.embed_texts(encoder.tokenize(texts))

    shared = RewardScorer(space, evalset, tower=tower)
    own = RewardScorer(space, evalset)
    assert shared(KEYS[:1], ["Something New"]) == pytest.approx(own(KEYS[:1], ["Something New"]), abs=1e-6)
    assert calls[-1] == ["a photo depicts something new"]
    with pytest.raises(FingerprintMismatch, match="is not fake"):
        RewardScorer(space, evalset, tower=lambda texts: np.eye(len(texts), 64))
    with pytest.raises(InputError, match="shape"):
        RewardScorer(space, evalset, tower=lambda texts: np.ones((len(texts), 3)))


def test_memory_forgets_and_rewards_stay_right(space: Space, evalset: EvalSet, scorer: RewardScorer) -> None:
    """With room for four captions every answer is as with room for all, in calls small and large."""
    small = RewardScorer(space, evalset, remember=4)
    random = np.random.default_rng(0)
    words = [f"word {i}" for i in range(9)] + ["", " "]
    for size in (1, 2, 3, 4, 7, 30, 2, 1, 5):
        ids = [KEYS[i] for i in random.integers(0, 6, size)]
        captions = [words[i] for i in random.integers(0, len(words), size)]
        assert small(ids, captions) == pytest.approx(scorer(ids, captions), abs=1e-6)


def test_a_tensor_on_the_callers_device(scorer: RewardScorer) -> None:
    """Asked for a device, the answer is torch's float32."""
    torch = pytest.importorskip("torch")
    got = scorer(KEYS[:2], ["a", "b"], device="cpu")
    assert isinstance(got, torch.Tensor)
    assert got.dtype == torch.float32
    assert got.tolist() == pytest.approx(scorer(KEYS[:2], ["a", "b"]).tolist())


def test_several_ranks_read_one_store(space: Space, evalset: EvalSet, scorer: RewardScorer) -> None:
    """A forked rank gives the same rewards."""
    wanted = scorer(KEYS, ["a"] * 6)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.allclose(scorer(KEYS, ["a"] * 6), wanted) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_what_cant_be_rewarded(space: Space, scorer: RewardScorer, tmp_path: Path) -> None:
    """Unknown ids, uneven columns, two baselines, unreadable images."""
    with pytest.raises(InputError, match="'nobody' is not in the set"):
        scorer(["nobody"], ["a"])
    with pytest.raises(InputError, match="pair by pair"):
        scorer(KEYS[:2], ["a"])
    with pytest.raises(InputError, match="one baseline"):
        scorer(KEYS[:1], ["a"], greedy=["b"], group=True)
    folder = drawn.draw(tmp_path / "odd", 6)
    (folder / f"{drawn.name(1)}.png").write_bytes(b"none")
    with pytest.raises(InputError, match="can't be read"):
        RewardScorer(space, EvalSet.read(images=folder, refs=drawn.references(6)))


def test_a_number_is_an_id_as_int_and_as_str(space: Space, tmp_path: Path) -> None:
    """References of a JSON object have strings where a trainer has numbers; where both are ids they stay apart."""
    folder = drawn.draw(tmp_path / "numbered", 3)
    images = {str(i): folder / f"{drawn.name(i)}.png" for i in range(2)}
    scorer = RewardScorer(space, EvalSet.read(images=images, refs={key: ["a"] for key in images}))
    assert scorer([0, 1], ["a", "b"]).tolist() == scorer(["0", "1"], ["a", "b"]).tolist()
    with pytest.raises(InputError, match=r"image 2 is not in the set .*\(2 images\)"):
        scorer([2], ["a"])
    both = {7: folder / f"{drawn.name(1)}.png", "7": folder / f"{drawn.name(2)}.png"}
    apart = RewardScorer(space, EvalSet.read(images=both).of_all_images())
    assert apart([7], ["b"]).tolist() == scorer([1], ["b"]).tolist()
    assert apart(["7"], ["b"]).tolist() != apart([7], ["b"]).tolist()


def test_a_folder_alone_is_enough(space: Space, evalset: EvalSet, tmp_path: Path) -> None:
    """All of its images, by their stems; nothing at all is refused."""
    alone = RewardScorer(space, EvalSet.read(images=tmp_path / "images"))
    assert alone(KEYS[:2], ["a", "b"]).tolist() == RewardScorer(space, evalset)(KEYS[:2], ["a", "b"]).tolist()
    with pytest.raises(InputError, match="which images"):
        RewardScorer(space, EvalSet.read())


def test_a_reranker_picks_the_largest_reward(scorer: RewardScorer) -> None:
    """Ragged lists, the earlier of equals, an empty caption last."""
    places, rewards = Reranker(scorer)(KEYS[:3], [["a", "b"], ["", "c", "c"], [" "]])
    each = scorer([KEYS[0]] * 2, ["a", "b"])
    assert places.tolist() == [int(each.argmax()), 1, 0]
    assert rewards.tolist() == pytest.approx([each.max(), scorer([KEYS[1]], ["c"])[0], 0])
    with pytest.raises(InputError, match="needs candidates"):
        Reranker(scorer)(KEYS[:1], [[]])
