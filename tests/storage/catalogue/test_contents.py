"""Contents: what an id stands for comes back exactly, and never changes its meaning."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from small_stores import DIGEST

from clipstore import keys
from clipstore.errors import IdCollision
from clipstore.storage.catalogue import contents, spaces
from clipstore.storage.catalogue.contents import ImageRow

ODD = ["", " a  dog ", "[red]</b>\"'\n\t", "дог 🐕‍🦺 é é", "{marks} ? %s :x", "word " * 300, "a\\udc80"]


def _add(tx, texts):
    contents.add_texts(tx, keys.text_ids(texts), texts)


def test_texts_come_back_exactly(catalogue):
    """Brackets, quotes, emoji, newlines, marks of SQL and long captions come back as they went in."""
    with catalogue.write() as tx:
        _add(tx, ODD)
        _add(tx, ODD)
        found = contents.texts(tx, [*keys.text_ids(ODD), 17])
        assert found == dict(zip(keys.text_ids(ODD), ODD, strict=True))
        assert contents.text_count(tx) == len(ODD)


def test_more_texts_than_one_statement_takes(catalogue):
    """Thousands of texts are stored and found in batches."""
    texts = [f"caption {number}" for number in range(5000)]
    with catalogue.write() as tx:
        _add(tx, texts[:2500])
        _add(tx, texts)
        assert len(contents.texts(tx, keys.text_ids(texts))) == 5000


def test_text_that_meets_another_of_its_id_is_a_collision(catalogue):
    """One id with two texts raises IdCollision, within one call or against the store, and changes nothing."""
    with catalogue.write() as tx:
        contents.add_texts(tx, [1, 2], ["a", "b"])
    for ids, texts in (([3, 1], ["c", "x"]), ([3, 3], ["c", "d"])):
        with pytest.raises(IdCollision, match="two different texts"), catalogue.write() as tx:
            contents.add_texts(tx, ids, texts)
    with catalogue.read() as tx:
        assert contents.texts(tx, [1, 2, 3]) == {1: "a", 2: "b"}


def _image(number: int) -> ImageRow:
    return ImageRow(number, bytes([number]) * 32, 2**40, "RGB", 640, 480, ("scaled from 16 bit",))


def test_images_come_back_and_collide_by_checksum(catalogue):
    """Image rows come back whole; the same id with another checksum raises IdCollision."""
    with catalogue.write() as tx:
        contents.add_images(tx, [_image(1), _image(2), _image(1)])
        contents.add_images(tx, [_image(2), _image(3)])
        assert contents.images(tx, [3, 1, 9]) == {1: _image(1), 3: _image(3)}
        assert contents.image_count(tx) == 3
    other = dataclasses.replace(_image(2), sha256=b"x" * 32)
    for images in ([_image(4), other], [_image(5), dataclasses.replace(_image(5), sha256=b"y" * 32)]):
        with pytest.raises(IdCollision, match="two different images"), catalogue.write() as tx:
            contents.add_images(tx, images)
    with catalogue.read() as tx:
        assert contents.image_count(tx) == 3


@pytest.mark.parametrize("asked", [100, 5000])
def test_cuts_are_found_for_few_and_for_many_keys(catalogue, asked):
    """Only keys whose text was cut are returned, for their own space, however many are asked."""
    with catalogue.write() as tx:
        spaces.register(tx, DIGEST, {}, 16)
        spaces.register(tx, "0" * 16, {}, 16)
        contents.add_cuts(tx, DIGEST, [(1, 90, 13), (50, 78, 1), (7, 77, 0), (2**62, 80, 3)])
        contents.add_cuts(tx, DIGEST, [(1, 90, 13)])
        wanted = np.arange(asked, dtype=np.int64)
        assert contents.cuts(tx, DIGEST, wanted) == {1: 13, 50: 1}
        assert contents.cuts(tx, "0" * 16, wanted) == {}
