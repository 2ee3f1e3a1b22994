"""Simple scenes with captions, drawn with Pillow alone.

A scene is one to four flat shapes in one or two groups on a plain background.
It knows what it shows, so right captions and captions with one wrong word can
be written for it. The demo, the tests and the training of ``tiny`` use it.
The same seed gives the same scene on any machine.
"""

import math
import random
from dataclasses import dataclass
from typing import Final, Literal

from PIL import Image, ImageDraw

Kind = Literal["colour", "shape", "count", "size", "relation"]
Relation = Literal["left", "right", "above", "below"]

#: Seeds from here on are never used to train ``tiny``: take them for demos and tests.
FIRST_HELD_OUT_SEED: Final = 1_000_000

#: All names start with a consonant, so that a swap never needs another article.
COLOURS: Final[dict[str, tuple[int, int, int]]] = {
    "red": (220, 40, 40),
    "yellow": (245, 220, 50),
    "green": (40, 160, 70),
    "cyan": (70, 205, 215),
    "blue": (50, 80, 220),
    "purple": (130, 55, 170),
    "pink": (245, 150, 190),
    "brown": (120, 75, 40),
}
BACKGROUNDS: Final[dict[str, tuple[int, int, int]]] = {
    "white": (244, 244, 244),
    "grey": (150, 150, 150),
    "black": (22, 22, 22),
}
#: Each shape with its plural.
SHAPES: Final = {
    name: "crosses" if name == "cross" else f"{name}s"
    for name in ("circle", "square", "triangle", "star", "cross", "ring")
}
#: Each size with the smallest and largest width of a shape, as parts of the image's width.
SIZES: Final[dict[str, tuple[float, float]]] = {"small": (0.17, 0.20), "large": (0.28, 0.31)}
COUNTS: Final[dict[str, int]] = {"a": 1, "two": 2, "three": 3, "four": 4}
_OPPOSITES: Final[tuple[tuple[Relation, Relation], ...]] = (("left", "right"), ("above", "below"))
INVERSE: Final = {a: b for pair in _OPPOSITES for a, b in (pair, pair[::-1])}
#: Captions that say nothing of the scene.
GENERIC: Final = ("an image", "a picture of something", "a colourful drawing", "some shapes")

#: Repeated to be drawn more often: two scenes in five show one group.
_COUNTS_OF_GROUPS: Final[tuple[tuple[int, ...], ...]] = (
    *((1,), (2,), (3,), (4,)) * 3,
    *((1, 1),) * 8,
    *((1, 2), (2, 1), (1, 3), (3, 1), (2, 2)) * 2,
)
_SWAPS: Final[dict[Kind, tuple[tuple[str, ...], ...]]] = {
    "colour": (tuple(COLOURS),),
    "shape": (tuple(SHAPES), tuple(SHAPES.values())),
    "count": (("two", "three", "four"),),
    "size": (tuple(SIZES),),
    "relation": _OPPOSITES,
}


@dataclass(frozen=True)
class Group:
    """One to four equal shapes; the names are keys of `SIZES`, `COLOURS` and `SHAPES`."""

    count: int
    size: str
    colour: str
    shape: str


@dataclass(frozen=True)
class Facts:
    """What a scene shows."""

    #: One group, or two of different colours.
    groups: tuple[Group, ...]
    #: Where the first group is, seen from the second; None for a single group.
    relation: Relation | None
    #: A key of `BACKGROUNDS`.
    background: str


@dataclass(frozen=True)
class Scene:
    """A drawn image with its captions."""

    #: Square, RGB.
    image: Image.Image
    #: Five right captions; the first states everything but the background.
    references: tuple[str, ...]
    facts: Facts


def draw(seed: int, size: int = 256) -> Scene:
    """Draw the scene of a seed.

    Parameters
    ----------
    seed
        Equal seeds give equal scenes. `FIRST_HELD_OUT_SEED` and above were never trained on.
    size
        Width and height of the image in pixels.

    Returns
    -------
    Scene
        The same on any machine.
    """
    rng = random.Random(seed)  # noqa: S311 - drawings, not secrets
    facts = _invent(rng)
    return Scene(_paint(facts, size, rng), references(facts), facts)


def references(facts: Facts) -> tuple[str, ...]:
    """Write the five reference captions of a scene."""
    return (
        describe(facts),
        describe(facts, lead="a picture of ", reverse=True),
        describe(facts, sizes=False),
        describe(facts, related=False, background=True),
        describe(facts, lead="a drawing with ", reverse=True, sizes=False, related=False),
    )


def describe(
    facts: Facts,
    *,
    lead: str = "",
    sizes: bool = True,
    related: bool = True,
    reverse: bool = False,
    background: bool = False,
) -> str:
    """Write one right caption.

    Parameters
    ----------
    facts
        What the scene shows.
    lead
        Words before the caption, with their space.
    sizes, background
        Say small or large; name the background.
    related
        Say where the first group is, seen from the second; else join them with "and".
    reverse
        Name the second group first.

    Returns
    -------
    str
        Such as ``"a large red star left of two small blue rings"``.
    """
    phrases = [_phrase(group, sizes=sizes) for group in facts.groups]
    relation = facts.relation
    if reverse and relation is not None:
        phrases.reverse()
        relation = INVERSE[relation]
    joint = " and "
    if related and relation is not None:
        joint = f" {relation} of " if relation in {"left", "right"} else f" {relation} "
    tail = f" on a {facts.background} background" if background else ""
    return lead + joint.join(phrases) + tail


def swapped(caption: str, kind: Kind, rng: random.Random) -> tuple[str, str] | None:
    """Make a caption wrong by changing one word.

    Parameters
    ----------
    caption
        A right caption, as `draw` and `describe` write them.
    kind
        Which fact to get wrong. A count is swapped among two, three and four: one needs other words.
    rng
        Chooses the word and its replacement.

    Returns
    -------
    tuple of str, or None
        The right caption and the wrong one; None when the caption states no such fact.
    """
    words = caption.split(" ")
    families = [(place, family) for place, word in enumerate(words) for family in _SWAPS[kind] if word in family]
    options = [(place, other) for place, family in families for other in family if other != words[place]]
    if not options:
        return None
    place, other = rng.choice(options)
    return caption, " ".join([*words[:place], other, *words[place + 1 :]])


def good_caption(scene: Scene, rng: random.Random) -> str:
    """Caption a scene as a good system would: all facts right, not the words of a reference."""
    return describe(scene.facts, lead="this shows ", reverse=_coin(rng), background=True)


def mixed_caption(scene: Scene, rng: random.Random) -> str:
    """Caption a scene as a middling system would: one fact is wrong in half of all cases."""
    caption = good_caption(scene, rng)
    if _coin(rng):
        return caption
    kinds: list[Kind] = ["colour", "shape", "count"]
    pairs = [pair for kind in kinds if (pair := swapped(caption, kind, rng)) is not None]
    return rng.choice(pairs)[1]


def poor_caption(scene: Scene, rng: random.Random) -> str:
    """Caption a scene as a poor system would: in general words, or as some other scene."""
    if _coin(rng):
        return rng.choice(GENERIC)
    other = _invent(rng)
    while other.groups == scene.facts.groups:
        other = _invent(rng)
    return describe(other)


def _coin(rng: random.Random) -> bool:
    return rng.choice((True, False))


def _phrase(group: Group, *, sizes: bool) -> str:
    count = next(word for word, number in COUNTS.items() if number == group.count)
    shape = group.shape if group.count == 1 else SHAPES[group.shape]
    size = f"{group.size} " if sizes else ""
    return f"{count} {size}{group.colour} {shape}"


def _invent(rng: random.Random) -> Facts:
    counts = rng.choice(_COUNTS_OF_GROUPS)
    colours = rng.sample(list(COLOURS), len(counts))
    groups = tuple(
        Group(count, rng.choice(list(SIZES)), colour, rng.choice(list(SHAPES)))
        for count, colour in zip(counts, colours, strict=True)
    )
    relation = rng.choice(list(INVERSE)) if len(groups) > 1 else None
    return Facts(groups, relation, rng.choice(list(BACKGROUNDS)))


def _paint(facts: Facts, size: int, rng: random.Random) -> Image.Image:
    """Draw at twice the size and halve it, which smooths the edges."""
    full = 2 * size
    canvas = Image.new("RGB", (full, full), _shade(BACKGROUNDS[facts.background], rng))
    pen = ImageDraw.Draw(canvas)
    for group, cells in zip(facts.groups, _cells(facts, rng), strict=True):
        for left, top, width, height in cells:
            side = rng.uniform(*SIZES[group.size])
            x, y = left + rng.random() * (width - side), top + rng.random() * (height - side)
            box = (round(x * full), round(y * full), round(side * full))
            _shape(pen, group.shape, box, _shade(COLOURS[group.colour], rng))
    return canvas.reduce(2)


def _shade(colour: tuple[int, int, int], rng: random.Random) -> tuple[int, int, int]:
    red, green, blue = (part + rng.randint(-10, 10) for part in colour)
    return red, green, blue


def _cells(facts: Facts, rng: random.Random) -> list[list[tuple[float, float, float, float]]]:
    """Give each shape of each group a part of the image: left, top, width, height in 0 to 1."""
    if facts.relation is None:
        count = facts.groups[0].count
        places = rng.sample(range(9), count)
        grid = [(place % 3 / 3, place // 3 / 3, 1 / 3, 1 / 3) for place in places]
        return [[(0.02, 0.02, 0.96, 0.96)] if count == 1 else grid]
    starts = (0.02, 0.54) if facts.relation in {"left", "above"} else (0.54, 0.02)
    upright = facts.relation in {"above", "below"}
    cells = []
    for group, start in zip(facts.groups, starts, strict=True):
        spread, first = (1 / group.count, 0.0) if group.count > 1 else (0.5, 0.25)
        across = [first + step * spread for step in range(group.count)]
        cells.append([(at, start, spread, 0.44) if upright else (start, at, 0.44, spread) for at in across])
    return cells


def _shape(pen: ImageDraw.ImageDraw, name: str, box: tuple[int, int, int], colour: tuple[int, int, int]) -> None:
    x, y, side = box
    end_x, end_y = x + side, y + side
    if name == "circle":
        pen.ellipse((x, y, end_x, end_y), fill=colour)
    elif name == "ring":
        pen.ellipse((x, y, end_x, end_y), outline=colour, width=round(side * 0.24))
    elif name == "square":
        inset = round(side * 0.05)
        pen.rectangle((x + inset, y + inset, end_x - inset, end_y - inset), fill=colour)
    elif name == "cross":
        arm = round(side * 0.34)
        pen.rectangle((x + arm, y, end_x - arm, end_y), fill=colour)
        pen.rectangle((x, y + arm, end_x, end_y - arm), fill=colour)
    elif name == "triangle":
        pen.polygon(((x + side // 2, y), (end_x, end_y), (x, end_y)), fill=colour)
    else:
        turns = [(step * math.pi / 5, side * (0.21 if step % 2 else 0.5)) for step in range(10)]
        x, y = x + side // 2, y + side // 2
        pen.polygon([(x + round(arm * math.sin(a)), y - round(arm * math.cos(a))) for a, arm in turns], fill=colour)
