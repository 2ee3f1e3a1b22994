"""Train ``tiny``, the small CLIP that ships, on drawn scenes, and print how well it does on others.

``python -m clipstore.demo.train [--out DIR] [--minutes N] [--seed N] [--threads N]`` retrains it on two CPU
cores in under 30 minutes: 11.3 were measured, with one thread and other programs on both cores. At first a
linear head, thrown away later, learns the facts of a scene from either vector; then captions are compared too.
"""

import argparse
import dataclasses
import json
import math
import multiprocessing
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import open_clip
import torch
from open_clip.model import CLIP
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from clipstore.demo import scenes
from clipstore.demo.scenes import COLOURS, COUNTS, GENERIC, INVERSE, SHAPES, SIZES, Facts, Kind

TINY: Final = Path(__file__).parent.parent / "encoders" / "tiny"
PREFIX: Final = "A photo depicts "
TRAINING_SCENES: Final = 30_000
BATCH: Final = 128
LEARNING_RATE: Final = 2e-3
#: This part of the time goes to the facts alone.
FACTS_ONLY: Final = 0.3
#: A low ceiling keeps the cosines of right pairs high, which CLIP-S needs.
MAX_LOGIT_SCALE: Final = 30.0
KINDS: Final[tuple[Kind, ...]] = ("colour", "shape", "count", "size", "relation")
LEADS: Final = ("", "a picture of ", "a drawing with ", "this shows ")
#: Of each colour: is it there, its shape, size and count, is it left, is it above.
FACTS_PER_COLOUR: Final = 1 + len(SHAPES) + len(SIZES) + len(COUNTS) + 2

Style = dict[str, Any]  # the wording that scenes.describe takes beside the facts
Targets = tuple[Tensor, Tensor]  # yes or no, and its weight


class Words:
    """The few tokens that scenes need, renumbered without gaps: a small table trains faster."""

    def __init__(self) -> None:
        tokenizer = open_clip.tokenizer.SimpleTokenizer()
        names = (*COLOURS, *SHAPES, *SHAPES.values(), *SIZES, *COUNTS, *INVERSE, *scenes.BACKGROUNDS)
        words = " ".join((PREFIX, *LEADS, *GENERIC, *names, "of and on background")).lower().split()
        pieces = {word: tokenizer.encode(word) for word in words}
        ends = [0, tokenizer.sot_token_id, tokenizer.eot_token_id]
        #: The tokenizer's ids, in their order: the end of text stays the largest.
        self.full_ids = sorted({*ends, *(piece for parts in pieces.values() for piece in parts)})
        self._pieces = {word: [self.full_ids.index(part) for part in parts] for word, parts in pieces.items()}
        self._start = self.full_ids.index(tokenizer.sot_token_id)

    def __call__(self, texts: Sequence[str]) -> Tensor:
        """Tokenize texts and pad them to the longest."""
        pieces = [[piece for word in text.lower().split() for piece in self._pieces[word]] for text in texts]
        rows = [torch.tensor([self._start, *row, len(self.full_ids) - 1]) for row in pieces]
        return nn.utils.rnn.pad_sequence(rows, batch_first=True)


def encode_text(model: CLIP, tokens: Tensor) -> Tensor:
    """Encode texts cut to their length, in five parts of similar length, so that little is padding."""
    ends = tokens.argmax(dim=1)
    order = ends.argsort()
    done = []
    for rows in order.chunk(5):
        length = int(ends[rows[-1]]) + 1
        x = model.token_embedding(tokens[rows, :length]) + model.positional_embedding[:length]
        x = model.transformer(x, attn_mask=model.attn_mask[:length, :length])
        done.append(model.ln_final(x)[torch.arange(len(rows)), ends[rows]])
    return functional.normalize(torch.cat(done)[order.argsort()] @ model.text_projection, dim=-1)


def _small(seed: int) -> tuple[bytes, Facts]:
    scene = scenes.draw(seed)
    return scene.image.resize((64, 64), Image.Resampling.BICUBIC).tobytes(), scene.facts


def draw_scenes(count: int) -> tuple[Tensor, list[Facts]]:
    """Draw the scenes of seeds 0 to count - 1 in two processes, at the model's size."""
    with multiprocessing.Pool(2) as pool:
        drawn = pool.map(_small, range(count), chunksize=500)
    pixels = torch.frombuffer(bytearray().join(pixels for pixels, _ in drawn), dtype=torch.uint8)
    return pixels.view(count, 64, 64, 3), [facts for _, facts in drawn]


def normalised(images: Tensor) -> Tensor:
    """Normalise uint8 images as open_clip does."""
    mean, std = (torch.tensor(x) for x in (open_clip.OPENAI_DATASET_MEAN, open_clip.OPENAI_DATASET_STD))
    return ((images.float() / 255 - mean) / std).permute(0, 3, 1, 2)


def turned(facts: Facts) -> Facts:
    """Give the facts with the relation the other way round."""
    return dataclasses.replace(facts, relation=None if facts.relation is None else INVERSE[facts.relation])


def choose_style(rng: random.Random) -> Style:
    """Choose the wording of a caption."""
    chances = {"sizes": 0.7, "related": 0.8, "reverse": 0.5, "background": 0.35}
    return {"lead": rng.choice(LEADS)} | {switch: rng.random() < chance for switch, chance in chances.items()}


def meaning(facts: Facts, style: Style) -> str:
    """Write what a caption states, the same for each wording of the same statement."""
    by_name = facts.groups[0].colour > facts.groups[-1].colour
    reverse = facts.relation in {"right", "below"} if style["related"] else by_name
    return scenes.describe(facts, **style | {"lead": "", "reverse": reverse})


def wrong_captions(facts: Facts, style: Style, rng: random.Random) -> tuple[str, str]:
    """Write two captions that are nearly right: one word swapped, and things exchanged."""
    swaps = [scenes.swapped(scenes.describe(facts, **style), kind, rng) for kind in KINDS]
    word = rng.choice([pair[1] for pair in swaps if pair])
    first, last = facts.groups[0], facts.groups[-1]
    if first is last:
        count = rng.choice([other for other in COUNTS.values() if other != first.count])
        wrong = dataclasses.replace(facts, groups=(dataclasses.replace(first, count=count),))
    elif style["related"] and rng.random() < 0.7:
        wrong = turned(facts)
        style = style | {"reverse": rng.random() < 0.5}
    else:
        exchanged = ((first, last.colour), (last, first.colour))
        groups = tuple(dataclasses.replace(group, colour=colour) for group, colour in exchanged)
        wrong = dataclasses.replace(facts, groups=groups)
    return word, scenes.describe(wrong, **style)


def targets(pairs: Sequence[tuple[Facts, Style]]) -> Targets:
    """Code what captions state as yes or no for each colour; what they leave out weighs nothing."""
    target = np.zeros((len(pairs), len(COLOURS), FACTS_PER_COLOUR), np.float32)
    weight = np.zeros_like(target)
    weight[:, :, 0] = 1
    for (facts, style), yes, known in zip(pairs, target, weight, strict=True):
        for place, group in enumerate(facts.groups):
            row = list(COLOURS).index(group.colour)
            shape, size = list(SHAPES).index(group.shape), list(SIZES).index(group.size)
            yes[row, [0, 1 + shape, 7 + size, 8 + group.count]] = 1
            known[row, 1:7] = 2
            known[row, 9:13] = 1
            known[row, 7:9] = style["sizes"]
            if facts.relation is not None and style["related"]:
                column = 13 if facts.relation in {"left", "right"} else 14
                yes[row, column] = (facts.relation in {"left", "above"}) == (place == 0)
                known[row, column] = 5
    return torch.from_numpy(target).flatten(1), torch.from_numpy(weight).flatten(1)


class Batch(NamedTuple):
    """What one step needs."""

    images: Tensor
    texts: list[str]  # right captions, with a wrong word, with things exchanged; generic ones
    image_facts: Targets
    text_facts: Targets
    also_true: Tensor  # captions (columns) of other scenes that are true of an image (row) too


def make_batch(images: Tensor, facts: Sequence[Facts], rng: random.Random, *, compare: bool) -> Batch:
    """Choose scenes, mirror half of them and write their captions; wrong ones only to compare."""
    places = [rng.randrange(len(facts)) for _ in range(BATCH)]
    flips = [rng.random() < 0.5 for _ in places]
    pixels = images[places]
    pixels[flips] = pixels[flips].flip(2)
    sideways = [flip and facts[place].relation in {"left", "right"} for place, flip in zip(places, flips, strict=True)]
    shown = [turned(facts[place]) if turn else facts[place] for place, turn in zip(places, sideways, strict=True)]
    styles = [choose_style(rng) for _ in places]
    told = list(zip(shown, styles, strict=True))
    seen = targets([(fact, {"sizes": True, "related": True}) for fact in shown])
    prefixes = [PREFIX if rng.random() < 0.7 else "" for _ in places]
    right = [prefix + scenes.describe(fact, **style) for prefix, (fact, style) in zip(prefixes, told, strict=True)]
    if not compare:
        return Batch(normalised(pixels), right, seen, targets(told), torch.zeros(0))
    wrong = [wrong_captions(fact, style, rng) for fact, style in told]
    nearly = [prefix + pair[which] for which in (0, 1) for prefix, pair in zip(prefixes, wrong, strict=True)]
    generic = [rng.choice(("", PREFIX)) + text for text in GENERIC]
    levels = [(style["sizes"], style["related"], style["background"]) for style in styles]
    by_level = dict(zip(levels, styles, strict=True))
    all_facts = {level: np.array([meaning(fact, style) for fact in shown]) for level, style in by_level.items()}
    true = np.stack([all_facts[level] == meaning(*one) for level, one in zip(levels, told, strict=True)], 1)
    np.fill_diagonal(true, val=False)
    return Batch(normalised(pixels), right + nearly + generic, seen, targets(told), torch.from_numpy(true))


def fact_loss(head: nn.Module, vectors: Tensor, facts: Targets) -> Tensor:
    """Ask the head for the facts."""
    losses = functional.binary_cross_entropy_with_logits(head(10 * vectors), *facts, reduction="sum")
    return losses / facts[1].sum()


def contrast(image: Tensor, text: Tensor, batch: Batch, scale: Tensor) -> Tensor:
    """Contrast images with all captions, captions with all images, and images with their nearly right captions."""
    right, word, exchange = text[: 3 * BATCH].view(3, BATCH, -1)
    square = (scale * image @ right.T).masked_fill(batch.also_true, -torch.inf)
    wrong = scale * torch.stack([(image * word).sum(1), (image * exchange).sum(1)], 1)
    goal = torch.arange(BATCH)
    near = functional.cross_entropy(torch.cat([square.diagonal()[:, None], wrong], 1), torch.zeros_like(goal))
    rows = functional.cross_entropy(torch.cat([square, wrong, scale * image @ text[3 * BATCH :].T], 1), goal)
    return rows + near + functional.cross_entropy(square.T, goal)


def fit(config: dict[str, Any], minutes: float, seed: int) -> CLIP:
    """Train for so many minutes; give the model with the whole vocabulary."""
    torch.manual_seed(seed)
    rng = random.Random(seed)  # noqa: S311 - choices of captions, not secrets
    words = Words()
    model = CLIP(**config | {"text_cfg": config["text_cfg"] | {"vocab_size": len(words.full_ids)}})
    head = nn.Linear(config["embed_dim"], len(COLOURS) * FACTS_PER_COLOUR)
    weights = [*model.parameters(), *head.parameters()]
    optimiser = torch.optim.AdamW(weights, weight_decay=0.01, betas=(0.9, 0.98))
    images, facts = draw_scenes(TRAINING_SCENES)
    start, step = time.monotonic(), 0
    while (done := (time.monotonic() - start) / (60 * minutes)) < 1:
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * min(1, (step + 1) / 100) * (0.005 + 0.5 * (1 + math.cos(math.pi * done)))
        compare = done > FACTS_ONLY
        batch = make_batch(images, facts, rng, compare=compare)
        image, text = model.encode_image(batch.images, normalize=True), encode_text(model, words(batch.texts))
        asked = fact_loss(head, image, batch.image_facts) + fact_loss(head, text[:BATCH], batch.text_facts)
        compared = contrast(image, text, batch, model.logit_scale.exp()) if compare else torch.zeros(())
        optimiser.zero_grad()
        torch.autograd.backward(compared + 4 * (1 - done) * asked)
        nn.utils.clip_grad_norm_(weights, 1.0)
        optimiser.step()
        model.logit_scale.data.clamp_(0, math.log(MAX_LOGIT_SCALE))
        step += 1
        if step % 100 == 0:
            print(f"step {step}, {done:.0%}: facts {asked:.3f}, comparison {compared:.3f}", flush=True)
    full = CLIP(**config)  # tokens that no scene needs keep their random start
    state, table = model.state_dict(), full.token_embedding.weight.detach().clone()
    table[words.full_ids] = state["token_embedding.weight"]
    full.load_state_dict(state | {"token_embedding.weight": table})
    return full.eval()


@torch.inference_mode()
def measure(model: CLIP, count: int = 2000) -> dict[str, float]:
    """Measure a model on held-out scenes, with open_clip's own transform and tokenizer."""
    transform = open_clip.image_transform(64, is_train=False, resize_mode="shortest", interpolation="bicubic")
    tokenizer = open_clip.tokenizer.SimpleTokenizer()
    drawn = [scenes.draw(scenes.FIRST_HELD_OUT_SEED + place) for place in range(count)]
    images = torch.cat([model.encode_image(transform(scene.image)[None], normalize=True) for scene in drawn])

    def cosines(places: Sequence[int], captions: Sequence[str]) -> Tensor:
        tokens = tokenizer([PREFIX + caption for caption in captions]).split(100)
        texts = torch.cat([model.encode_text(part, normalize=True) for part in tokens])
        return images[list(places)] @ texts.T

    figures: dict[str, float] = {}
    rng = random.Random(0)  # noqa: S311 - choices of words, not secrets
    for kind in KINDS:
        pairs = [(place, scenes.swapped(scene.references[0], kind, rng)) for place, scene in enumerate(drawn)]
        places, right, wrong = zip(*[(place, *pair) for place, pair in pairs if pair], strict=True)
        wins = cosines(places, right).diagonal() > cosines(places, wrong).diagonal()
        figures[kind] = float(wins.float().mean())
    own = {scene.references[0]: place for place, scene in enumerate(drawn)}
    parts = [list(own)[at : at + 100] for at in range(0, len(own) - 99, 100)]
    found = torch.stack([cosines([own[text] for text in part], part) for part in parts])
    own_places = torch.eye(100, dtype=torch.bool).expand_as(found)
    figures["recall@1 of 100"] = float((found.argmax(2) == torch.arange(100)).float().mean())
    figures["cosine of right captions"] = float(found[own_places].mean())
    figures["cosine of other captions"] = float(found[~own_places].mean())
    figures["cosine of generic captions"] = float(cosines(range(count), GENERIC).mean())
    return figures


def main() -> None:
    """Train, measure and write, as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m clipstore.demo.train", description="Train tiny on drawn scenes.")
    parser.add_argument("--out", type=Path, default=TINY, help="folder for the weights and the config")
    parser.add_argument("--minutes", type=float, default=10, help="time for the training steps alone")
    parser.add_argument("--seed", type=int, default=0, help="start of the weights and the choice of captions")
    parser.add_argument("--threads", type=int, default=2, help="take 1 when other programs keep the cores busy")
    options = parser.parse_args()
    start = time.monotonic()
    text = (TINY / "config.json").read_text()
    torch.set_num_threads(options.threads)
    with sdpa_kernel(SDPBackend.MATH):  # faster than the fused kernel on a CPU: short texts, few heads
        model = fit(json.loads(text), options.minutes, options.seed).half()
    options.out.mkdir(parents=True, exist_ok=True)
    save_file(model.state_dict(), options.out / "model.safetensors")
    (options.out / "config.json").write_text(text)
    for name, figure in measure(model.float()).items():
        print(f"{name:28}{figure:.3f}")
    print(f"{(time.monotonic() - start) / 60:.1f} minutes in all")


if __name__ == "__main__":
    main()
