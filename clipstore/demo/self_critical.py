"""Self-critical training on CLIP-S, in a page: the reward comes from the store, and it rises.

``python -m clipstore.demo.self_critical [--steps N] [--scenes N] [--model tiny]`` draws scenes and
trains a captioner that only knows sentences such as *two red stars*: a linear layer from an image's
vector to a count, a colour and a shape. Each step samples a caption for every image of a batch, and
its advantage is its reward less that of the greedy caption (Rennie et al. 2017, section 3.3).

What to take from it for a real captioner: one :class:`clipstore.rerank.RewardScorer`, made once; a call a
step with the trainer's own image ids; the answer as a tensor on the trainer's device.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import torch
from torch import Tensor, nn

from clipstore.demo import make, scenes
from clipstore.evalset import EvalSet
from clipstore.rerank import RewardScorer
from clipstore.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.items import ItemKey

COLOURS, SHAPES, COUNTS = tuple(scenes.COLOURS), dict(scenes.SHAPES), dict(scenes.COUNTS)
BATCH = 64
LEARNING_RATE = 0.05


@final
class Captioner(nn.Module):
    """From an image's vector to a count, a colour and a shape, each by its own linear head."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(dim, size) for size in (len(COUNTS), len(COLOURS), len(SHAPES)))

    def forward(self, vectors: Tensor) -> list[torch.distributions.Categorical]:
        """Return a distribution over the words of each place."""
        return [torch.distributions.Categorical(logits=head(vectors)) for head in self.heads]


def sentences(words: Sequence[Tensor]) -> list[str]:
    """Return the caption of each row of word numbers."""
    counts, shapes = list(COUNTS.items()), list(SHAPES.items())
    out = []
    for count, colour, shape in zip(*(column.tolist() for column in words), strict=True):
        word, number = counts[count]
        out.append(f"{word} {COLOURS[colour]} {shapes[shape][number > 1]}")
    return out


@final
@dataclass(frozen=True, slots=True)
class Trained:
    """Mean reward of greedy captions, before and after, and how many captions were encoded for it."""

    before: float
    after: float
    encoded: int


def train(scorer: RewardScorer, keys: Sequence[ItemKey], vectors: Tensor, steps: int, seed: int = 0) -> Trained:
    """Train a captioner on the reward.

    Parameters
    ----------
    scorer
        Gives the reward of (image id, caption) pairs.
    keys
        The trainer's own ids of the images.
    vectors
        One vector an image for the captioner to look at, float32, shape (images, dim).
    steps
        How many batches.
    seed
        Of the captioner and of what it samples.
    """
    torch.manual_seed(seed)
    model = Captioner(vectors.shape[1])
    optimiser = torch.optim.Adam(model.parameters(), LEARNING_RATE)
    device = vectors.device

    def greedy(rows: Tensor) -> list[str]:
        with torch.no_grad():
            return sentences([words.logits.argmax(dim=-1) for words in model(vectors[rows])])

    def measure() -> float:
        return float(scorer(keys, greedy(torch.arange(len(keys)))).mean())

    before = measure()
    for _ in range(steps):
        rows = torch.randperm(len(keys))[:BATCH]
        ids = [keys[row] for row in rows.tolist()]
        words = model(vectors[rows])
        drawn = [word.sample() for word in words]
        advantage = scorer(ids, sentences(drawn), greedy=greedy(rows), device=device)
        likelihood = torch.stack([word.log_prob(number) for word, number in zip(words, drawn, strict=True)]).sum(dim=0)
        loss = -(advantage * likelihood).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return Trained(before, measure(), scorer.encoded)


def run(folder: Path, count: int, steps: int, model: str = "tiny") -> Trained:
    """Draw scenes into a folder, and train on them with a store beside them."""
    files = make.make(folder, count)
    with Store.open(folder / ".clipstore") as store:
        space = store.space(model)
        evalset = EvalSet.read(images=files.images, refs=files.references)
        scorer = RewardScorer(space, evalset)
        ids = [id_ for id_ in store.identify(evalset.images()).ids if id_ is not None]
        vectors = torch.from_numpy(space.gather_images(torch.tensor(ids).numpy()))
        return train(scorer, evalset.keys, vectors - vectors.mean(dim=0), steps)


def main() -> None:
    """Train, and print the reward before and after."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=200)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--model", default="tiny")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        done = run(Path(folder), given.scenes, given.steps, given.model)
    rise = f"greedy reward {done.before:.4f} -> {done.after:.4f} in {given.steps} steps"
    sys.stdout.write(f"{rise}; {done.encoded} captions encoded\n")


if __name__ == "__main__":
    main()
