"""Scenes show what their captions say, and are the same everywhere."""

import random
import subprocess
import sys

import pytest

from clipstore.demo import scenes

SEEDS = range(scenes.FIRST_HELD_OUT_SEED, scenes.FIRST_HELD_OUT_SEED + 200)
KINDS = ("colour", "shape", "count", "size", "relation")


@pytest.fixture(scope="module")
def drawn():
    """Two hundred small scenes."""
    return [scenes.draw(seed, size=64) for seed in SEEDS]


def near(pixel, colour):
    """Whether a pixel has a colour, but for the shade that each shape draws."""
    return all(abs(a - b) <= 10 for a, b in zip(pixel, colour, strict=True))


def test_same_seed_same_scene():
    """A seed gives the same pixels and captions each time, whatever else was drawn."""
    first = scenes.draw(7)
    random.seed(0)
    scenes.draw(8)
    again = scenes.draw(7)
    assert first.image.tobytes() == again.image.tobytes()
    assert (first.references, first.facts) == (again.references, again.facts)


def test_seed_is_pinned():
    """The captions of a seed do not change from version to version."""
    assert scenes.draw(scenes.FIRST_HELD_OUT_SEED).references == (
        "two small yellow circles left of two small pink triangles",
        "a picture of two small pink triangles right of two small yellow circles",
        "two yellow circles left of two pink triangles",
        "two small yellow circles and two small pink triangles on a grey background",
        "a drawing with two pink triangles and two yellow circles",
    )


@pytest.mark.parametrize("size", [64, 100, 256])
def test_size(size):
    """An image is square, RGB and of the size that was asked for."""
    image = scenes.draw(3, size=size).image
    assert (image.mode, image.size) == ("RGB", (size, size))


def test_size_does_not_change_the_captions():
    """The same scene is drawn at every size."""
    assert scenes.draw(5, size=64).references == scenes.draw(5, size=256).references


def test_colours_are_those_of_the_facts():
    """Every stated colour is in the image, and no other."""
    for seed in SEEDS[:40]:
        scene = scenes.draw(seed, size=128)
        areas = scene.image.getcolors(maxcolors=128 * 128)
        large = [colour for count, colour in areas if count > 60]
        shown = {name for name, colour in scenes.COLOURS.items() if any(near(pixel, colour) for pixel in large)}
        assert shown == {group.colour for group in scene.facts.groups}


def test_one_to_four_shapes(drawn):
    """A scene shows one to four shapes, and every such number occurs."""
    assert {sum(group.count for group in scene.facts.groups) for scene in drawn} == {1, 2, 3, 4}


def test_references(drawn):
    """A scene has five references, each with other words."""
    for scene in drawn:
        assert len(set(scene.references)) == 5


def test_hundred_distinct_captions(drawn):
    """Two hundred scenes give at least a hundred distinct captions."""
    assert len({scene.references[0] for scene in drawn}) >= 100


def test_describe_says_where():
    """A relation reads the same from both ends."""
    groups = (scenes.Group(1, "large", "red", "star"), scenes.Group(2, "small", "blue", "cross"))
    facts = scenes.Facts(groups, "left", "grey")
    assert scenes.describe(facts) == "a large red star left of two small blue crosses"
    assert scenes.describe(facts, reverse=True, sizes=False) == "two blue crosses right of a red star"
    assert scenes.describe(facts, related=False, background=True, lead="see ") == (
        "see a large red star and two small blue crosses on a grey background"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_swapped_changes_one_word(drawn, kind):
    """A swap changes exactly one word, to another of its kind, and keeps the right caption."""
    rng = random.Random(0)
    seen = 0
    for scene in drawn:
        pair = scenes.swapped(scene.references[0], kind, rng)
        if pair is None:
            continue
        seen += 1
        right, wrong = pair
        assert right == scene.references[0]
        assert wrong not in scene.references
        changed = [(a, b) for a, b in zip(right.split(), wrong.split(), strict=True) if a != b]
        assert len(changed) == 1
    assert seen > 40


def test_swapped_without_the_fact():
    """A caption that states no such fact cannot be swapped."""
    rng = random.Random(0)
    assert scenes.swapped("a red circle", "relation", rng) is None
    assert scenes.swapped("a red circle", "count", rng) is None
    assert scenes.swapped("a red circle", "size", rng) is None


def test_systems_differ_in_quality(drawn):
    """The good system is always right, the mixed one in half of all cases, the poor one never."""
    rng = random.Random(0)
    ways = (True, False)
    right = [
        {scenes.describe(scene.facts, lead="this shows ", reverse=way, background=True) for way in ways}
        for scene in drawn
    ]
    good = [scenes.good_caption(scene, rng) in ok for scene, ok in zip(drawn, right, strict=True)]
    mixed = [scenes.mixed_caption(scene, rng) in ok for scene, ok in zip(drawn, right, strict=True)]
    assert all(good)
    assert 0.35 < sum(mixed) / len(mixed) < 0.65
    for scene in drawn:
        poor = scenes.poor_caption(scene, rng)
        assert poor in scenes.GENERIC or poor not in scene.references


def test_imports_nothing_heavy():
    """Drawing loads neither torch nor open_clip."""
    program = (
        "import sys, clipstore.demo.scenes as s; s.draw(1); "
        "sys.exit(any(name in sys.modules for name in ('torch', 'torchvision', 'open_clip')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
