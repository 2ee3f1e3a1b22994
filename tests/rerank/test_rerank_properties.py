"""What must hold for any lists: shuffles, repeats, pure weights, cascades."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from clipstore.rerank import methods
from clipstore.rerank.ragged import Ragged

SOME = settings(max_examples=60, deadline=None)
NUMBER = st.floats(-50, 50, allow_nan=False, width=32)


@st.composite
def images(draw: st.DrawFn) -> list[list[tuple[int, float, float]]]:
    """Draw images, each a list of (text, clip, logp); one text has one clip in an image."""
    out = []
    for _ in range(draw(st.integers(1, 6))):
        clips = draw(st.lists(NUMBER, min_size=1, max_size=4))
        chosen = draw(st.lists(st.tuples(st.integers(0, len(clips) - 1), NUMBER), min_size=1, max_size=6))
        out.append([(text, clips[text], logp) for text, logp in chosen])
    return out


def flat(lists: list[list[tuple[int, float, float]]]) -> tuple[Ragged, np.ndarray, np.ndarray, np.ndarray]:
    """Return shape, text numbers, clip and logp."""
    rows = [row for one in lists for row in one]
    texts, clip, logp = (np.array(column) for column in zip(*rows, strict=True))
    return Ragged.of_counts(np.array([len(one) for one in lists])), texts, clip, logp


def picks(lists: list[list[tuple[int, float, float]]], by: str, weight: float = 0.5) -> list[tuple[int, float, float]]:
    """Return the candidate that each image gets."""
    shape, texts, clip, logp = flat(lists)
    scores = {
        "clip": lambda: clip,
        "logp": lambda: logp,
        "mix": lambda: methods.mix(clip, logp, weight, shape, texts),
        "vote": lambda: methods.votes(texts, shape),
        "rrf": lambda: methods.rrf([clip, logp], shape),
    }[by]()
    rows = [row for one in lists for row in one]
    return [rows[place] for place in shape.best(scores).tolist()]


@SOME
@given(images(), st.randoms(use_true_random=False), st.sampled_from(["clip", "logp", "mix", "vote", "rrf"]))
def test_shuffling_images_changes_no_pick(lists, random, by) -> None:
    """Each image gets the same caption, wherever it stands."""
    order = list(range(len(lists)))
    random.shuffle(order)
    shuffled = picks([lists[row] for row in order], by)
    assert shuffled == [picks(lists, by)[row] for row in order]


@SOME
@given(images(), st.data(), st.sampled_from(["clip", "logp", "mix"]), st.sampled_from([0.0, 0.05, 0.5, 0.7, 1.0]))
def test_a_repeated_candidate_changes_no_pick(lists, data, by, weight) -> None:
    """By clip, logp and mix; votes and MBR count it, on purpose."""
    row = data.draw(st.integers(0, len(lists) - 1))
    twin = data.draw(st.sampled_from(lists[row]))
    place = data.draw(st.integers(lists[row].index(twin), len(lists[row])))
    more = [list(one) for one in lists]
    more[row].insert(place, twin)
    assert picks(more, by, weight) == picks(lists, by, weight)


@SOME
@given(images())
def test_the_ends_of_mix_are_the_pure_selectors(lists) -> None:
    """Weight 1 picks as clip does, weight 0 as logp does."""
    assert picks(lists, "mix", 1.0) == picks(lists, "clip")
    assert picks(lists, "mix", 0.0) == picks(lists, "logp")


@SOME
@given(images())
def test_ragged_and_even_paths_agree(lists) -> None:
    """The quick way for lists of one length gives what the general one gives."""
    shape, _, clip, _ = flat(lists)
    padded = Ragged.of_counts(np.append(shape.counts, shape.counts[-1] + 1))
    more = np.append(clip, np.zeros(int(shape.counts[-1]) + 1))
    assert padded.best(more)[:-1].tolist() == shape.best(clip).tolist()
    assert padded.order(more)[: shape.total].tolist() == shape.order(clip).tolist()
