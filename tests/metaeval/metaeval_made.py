"""Small benchmarks in the published layouts, and judges whose agreement is known."""

from __future__ import annotations

import json

import numpy as np

from clipstore.metaeval import Pairs, Ratings

CAPTIONS = [
    "a black dog runs on the grass .",
    "a dog is running outside .",
    "two children play football .",
    "a man rides a red bicycle .",
    "a woman reads a book in the park .",
]


def tokens(folder, images=("one.jpg", "two.jpg", "three.jpg.1")):
    """Write ``Flickr8k.token.txt`` with five captions an image."""
    lines = [
        f"{image}#{place}\t{'the' if number else 'a'} {image.partition('.')[0]} {text}"
        for number, image in enumerate(images)
        for place, text in enumerate(CAPTIONS)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Flickr8k.token.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def expert(folder):
    """Write six lines of expert ratings, one of them on an image's own caption."""
    tokens(folder)
    lines = [
        "one.jpg\ttwo.jpg#0\t1\t1\t2",
        "one.jpg\tone.jpg#2\t4\t4\t4",
        "one.jpg\tthree.jpg.1#1\t2\t1\t3",
        "two.jpg\tone.jpg#3\t1\t1\t1",
        "two.jpg\tthree.jpg.1#0\t3\t2\t3",
        "three.jpg.1\ttwo.jpg#4\t2\t2\t4",
    ]
    (folder / "ExpertAnnotations.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def crowd(folder):
    """Write five lines of CrowdFlower votes, one of them on an image's own caption."""
    tokens(folder)
    lines = [
        "one.jpg\ttwo.jpg#0\t0\t0\t3",
        "one.jpg\tone.jpg#2\t1\t3\t0",
        "one.jpg\tthree.jpg.1#1\t0.333333333333333\t1\t2",
        "two.jpg\tone.jpg#3\t0.25\t1\t3",
        "two.jpg\tthree.jpg.1#0\t0.666666666666667\t2\t1",
    ]
    (folder / "CrowdFlowerAnnotations.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def ratings(scores, *, judges=1, noise=0.0, per_image=2, levels=5, systems=(), seed=0):
    """Return ratings by judges who see a score, plus noise, in a few levels."""
    rng = np.random.default_rng(seed)
    seen = scores[:, None] + noise * rng.normal(size=(len(scores), judges))
    edges = np.quantile(seen, np.linspace(0, 1, levels + 1)[1:-1])
    images = tuple(f"img{row // per_image}" for row in range(len(scores)))
    captions = tuple(f"caption {row}" for row in range(len(scores)))
    references = tuple((f"reference {image}", f"another {image}") for image in images)
    return Ratings("ratings", images, captions, references, np.digitize(seen, edges) + 1.0, systems=systems)


def pairs(labels, categories, draws=1):
    """Return pairs of captions named by their row."""
    count = len(labels)
    references = tuple(tuple((f"reference {row} of draw {draw}",) for row in range(count)) for draw in range(draws))
    return Pairs(
        "pairs",
        tuple(f"img{row}" for row in range(count)),
        tuple(f"a {row}" for row in range(count)),
        tuple(f"b {row}" for row in range(count)),
        references,
        np.array(labels, np.int64),
        tuple(categories),
    )


def write(path, value):
    """Write JSON, or rows as JSON lines where the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "\n".join(json.dumps(row) for row in value) if path.suffix == ".jsonl" else json.dumps(value)
    path.write_text(lines, encoding="utf-8")
    return path
