"""Pascal-50S and Abstract-50S: which of two captions is closer to what people say of an image.

Vedantam, Zitnick and Parikh 2015 (arXiv 1411.5726). 4,000 pairs in four categories: two human
correct (HC), one human correct and one of another image (HI), human and machine (HM), two
machines (MM). 48 votes a pair; accuracy is the mean over five draws of five references.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from clipstore.errors import BadFormat, InputError
from clipstore.metaeval.pictures import image_key
from clipstore.metaeval.protocols import Pairs
from clipstore.metaeval.published import PASCAL_BLEU, PASCAL_VOTES
from clipstore.metaeval.readers.files import Wanted, column, find_all, joined, load_mat, number, read_json, read_text
from clipstore.metaeval.readers.mat import VOTES, consensus, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

DRAWS, REFERENCES, SEED = 5, 5, 0
CATEGORIES: Final = {1: "HC", 2: "HI", 3: "HM", 4: "MM"}
_ABSTRACT: Final = {1: "same image", 2: "other image"}

_ORIGIN: Final = "the CIDEr consensus data of Vedantam et al. 2015, vrama91.github.io/cider"
LABELS: Final = Wanted(
    "pascal_50s.json",
    "FLEUR's repository: pairs with the majority of 48 votes",
    "4 x 1,000 pairs",
    "306602aac6077a3d95a0808d164bd98b",
)
LABELS_11: Final = Wanted(
    "pascal_50s_11.json",
    "your own majority of the 11 votes in pair_pascal.mat, laid out as pascal_50s.json",
    "4 x 1,000 pairs",
)
SENTENCES: Final = Wanted(
    "pascal50S.mat", _ORIGIN, "1,000 images with 50 sentences each", "c0f6b2243dfc9def6623f5085339a8c3"
)
PAIRS: Final = Wanted("pair_pascal.mat", _ORIGIN, "4,000 pairs")
VOTED: Final = Wanted("consensus_pascal.mat", _ORIGIN, "192,000 triplets")
ABSTRACT_PAIRS: Final = Wanted("pair_abstract.mat", _ORIGIN, "400 pairs")
ABSTRACT_VOTED: Final = Wanted("consensus_abstract.mat", _ORIGIN, "19,200 triplets")


def read(folder: Path, votes: int = 48, seed: int = SEED, *, draws: int = DRAWS, keep: bool = False) -> Pairs:
    """Read Pascal-50S: from ``pascal_50s.json`` and ``pascal50S.mat``, or from the two consensus files.

    Parameters
    ----------
    folder
        Holds them.
    votes
        48, as the erratum of the CLIPScore paper says, or 11 as its first version did (from
        ``pascal_50s_11.json``).
    seed, draws
        Of the draws of references, and how many there are.
    keep
        Leave the pairs' own captions among the sentences that references are drawn from; published
        tables take them out.
    """
    if votes == VOTES and LABELS.search(folder) is None and PAIRS.search(folder) is not None:
        return _of_consensus(
            "pascal50s", consensus(*find_all(folder, PAIRS, VOTED)), CATEGORIES, seed, PASCAL_VOTES, draws
        )
    wanted = LABELS if votes == VOTES else LABELS_11
    path, sentences = find_all(folder, wanted, SENTENCES)
    rows = _labelled(read_json(path), path)
    pools = _sentences(sentences)
    lost = sorted({row[0] for row in rows} - pools.keys())
    if lost:
        msg = f"{sentences.name}: {len(lost):,} images of {path.name} are not there (first: {lost[0]})"
        raise BadFormat(msg)
    said: dict[str, set[str]] = {}
    for image, first, second, *_ in rows:
        said.setdefault(image, set()).update((_bare(first), _bare(second)))
    left = {image: tuple(one for one in pools[image] if keep or _bare(one) not in said[image]) for image in said}
    removed = sum(len(pools[image]) - len(left[image]) for image in said)
    differ = [note for note in (wanted.differs(path), SENTENCES.differs(sentences)) if note]
    return Pairs(
        "pascal50s" if votes == VOTES else "pascal50s-11",
        tuple(row[0] for row in rows),
        tuple(row[1] for row in rows),
        tuple(row[2] for row in rows),
        draws_of([row[0] for row in rows], left, seed, draws),
        np.array([row[3] for row in rows], np.int64),
        tuple(row[4] for row in rows),
        {"sentence that is a caption of its image's pairs (not drawn as a reference)": removed},
        (*differ, f"{draws} draws of {REFERENCES} references an image, seed {seed}", PASCAL_VOTES, PASCAL_BLEU),
    )


def fleur_labels(folder: Path) -> tuple[int, ...] | None:
    """Return the labels that FLEUR's result files carry, in the order of the pairs; None where a file is missing.

    They differ from ``pascal_50s.json`` in 35 pairs, whose votes are tied or nearly so: other coins.
    """
    out: list[int] = []
    for category in CATEGORIES.values():
        path = Wanted(f"fleur_scores_{category}.txt", "FLEUR's repository").search(folder)
        if path is None:
            return None
        for at, line in enumerate(read_text(path).splitlines(), 1):
            if line.startswith("label :"):
                out.append(int(number(line.rpartition(":")[2], path, at)))
    return tuple(out)


def draws_of(
    images: Sequence[str], pools: Mapping[str, Sequence[str]], seed: int, draws: int = DRAWS, size: int = REFERENCES
) -> tuple[tuple[tuple[str, ...], ...], ...]:
    """Return the references of each row once a draw; rows of one image share theirs."""
    out = []
    for draw in range(draws):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(draw,))))
        chosen = {}
        for image in dict.fromkeys(images):
            pool = pools[image]
            chosen[image] = tuple(pool[at] for at in sorted(rng.permutation(len(pool))[:size].tolist()))
        out.append(tuple(chosen[image] for image in images))
    return tuple(out)


def read_11(folder: Path, *, draws: int = DRAWS, keep: bool = False) -> Pairs:
    """Read Pascal-50S with the 11 votes that the first version of the CLIPScore paper used."""
    return read(folder, 11, draws=draws, keep=keep)


def abstract(folder: Path, seed: int = SEED, *, draws: int = DRAWS) -> Pairs:
    """Read Abstract-50S: 400 pairs, 200 of them with a caption of another image, 48 votes each."""
    rows = consensus(*find_all(folder, ABSTRACT_PAIRS, ABSTRACT_VOTED))
    return _of_consensus("abstract50s", rows, _ABSTRACT, seed, "length and a random image get 53", draws)


def _of_consensus(
    name: str,
    rows: Sequence[tuple[str, str, str, int, int, tuple[str, ...]]],
    categories: Mapping[int, str],
    seed: int,
    note: str,
    draws: int,
) -> Pairs:
    keys = [str(number) for number in range(len(rows))]
    pools = {key: row[5] for key, row in zip(keys, rows, strict=True)}
    return Pairs(
        name,
        tuple(row[0] for row in rows),
        tuple(row[1] for row in rows),
        tuple(row[2] for row in rows),
        draws_of(keys, pools, seed, draws),
        np.array([row[3] for row in rows], np.int64),
        tuple(categories.get(row[4], str(row[4])) for row in rows),
        {"tied votes (a coin each draw)": sum(row[3] < 0 for row in rows)},
        (f"{draws} draws of {REFERENCES} references a pair, seed {seed}", note),
    )


def _labelled(value: Any, path: Path) -> list[tuple[str, str, str, int, str]]:
    """Return (image, A, B, label, category) of each pair."""
    out = []
    try:
        for category in CATEGORIES.values():
            for at, row in enumerate(value[category], 1):
                first, second = (joined(one) for one in column(row, ("captions",), path, at))
                out.append((image_key(row["image"]), first, second, int(row["label"]), category))
    except (KeyError, TypeError, ValueError) as error:
        msg = f"{path.name}: not lists HC, HI, HM, MM of image, captions and label: {error!r}"
        raise BadFormat(msg) from error
    return out


def _sentences(path: Path) -> dict[str, tuple[str, ...]]:
    value = load_mat(path)
    if "train_sent_final" not in value:
        msg = f"{path.name}: no variable 'train_sent_final'"
        raise InputError(msg)
    try:
        return {
            image_key(text(one["name"])): tuple(text(cell) for cell in one["sentences"].ravel())
            for one in value["train_sent_final"].ravel()
        }
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        msg = f"{path.name}: 'train_sent_final' is no list of 'name' and 'sentences': {error!r}"
        raise BadFormat(msg) from error


def _bare(caption: str) -> str:
    return "".join(mark for mark in caption.casefold() if mark.isalnum())
