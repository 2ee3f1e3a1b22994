"""Preparing in threads, embedding in batches: bounded, in order, ended cleanly."""

import os
import threading
import time

import drawn
import numpy as np
import pytest
from contract import png

from clipstore.encoders import in_order, pipeline
from clipstore.encoders.fake import FakeEncoder
from clipstore.encoders.protocol import Prepared, Tokens
from clipstore.errors import BadImage, EncoderError, InputError


class Watching:
    """A fake that counts what it is asked, and may refuse."""

    def __init__(self, *, image_batch=4, token_budget=60, refuse=frozenset()):
        self._fake = FakeEncoder(8)
        self.image_batch, self.token_budget, self.refuse = image_batch, token_budget, refuse
        self.prepared, self.embedded, self.threads, self.shapes = 0, 0, set(), []

    def __getattr__(self, name):
        return getattr(self._fake, name)

    def prepare_image(self, image):
        """Count, and take a number for an image."""
        self.prepared += 1
        self.threads.add(threading.current_thread().name)
        return Prepared(np.full((1, 1), image, np.uint8), "L", (1, 1))

    def embed_images(self, images):
        """Refuse a batch that holds a refused image."""
        assert threading.current_thread() is threading.main_thread()
        if any(int(image.pixels[0, 0]) in self.refuse for image in images):
            message = "not finite"
            raise EncoderError(message)
        self.embedded += len(images)
        return self._fake.embed_images(images)

    def embed_texts(self, texts):
        """Note the padded shape; refuse a batch that holds a refused text."""
        self.shapes.append((len(texts), max(len(text.ids) for text in texts)))
        if any(len(text.ids) - 2 in self.refuse for text in texts):
            message = "not finite"
            raise EncoderError(message)
        return self._fake.embed_texts(texts)


def numbers(count):
    """Sources that are numbers."""
    return ((number, lambda number=number: number) for number in range(count))


def test_images_come_in_order_in_full_batches():
    """Keys keep their order; all batches but the last are full; threads do the preparing."""
    encoder = Watching()
    batches = list(pipeline.images(encoder, numbers(10), threads=3))
    assert [batch.keys for batch in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert all(batch.vectors.shape == (len(batch.keys), 8) for batch in batches)
    assert batches[0].decoded[0] == pipeline.Decoded("L", (1, 1), ())
    assert all(name.startswith("clipstore") for name in encoder.threads)


def test_reading_ahead_is_bounded():
    """Whatever the folder's size, at most two batches and one image a thread are ahead."""
    encoder = Watching()
    stream = pipeline.images(encoder, numbers(1000), threads=2)
    for _ in range(3):
        next(stream)
    time.sleep(0.05)
    assert encoder.prepared <= 3 * 4 + 2 * 4 + 2 + 1
    stream.close()


def test_threads_end_when_the_stream_is_left():
    """Leaving early, by an exception or Ctrl-C, ends the threads."""
    before = threading.active_count()
    stream = pipeline.images(Watching(), numbers(1000), threads=4)
    next(stream)
    assert threading.active_count() > before
    with pytest.raises(KeyboardInterrupt):
        stream.throw(KeyboardInterrupt())
    assert threading.active_count() == before


def test_a_forked_child_can_use_it():
    """A child that forks after a run starts threads of its own, and ends."""
    list(pipeline.images(Watching(), numbers(10), threads=2))
    child = os.fork()
    if child == 0:
        done = sum(len(batch.keys) for batch in pipeline.images(FakeEncoder(8), [(0, lambda: png(0))], threads=2))
        os._exit(0 if done == 1 else 1)
    deadline = time.monotonic() + 20
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        assert time.monotonic() < deadline, "the child hangs"
        time.sleep(0.02)


def test_other_errors_of_a_source_come_through():
    """A mistake in the caller's function is not swallowed as a bad image."""

    def broken():
        message = "a bug"
        raise RuntimeError(message)

    with pytest.raises(RuntimeError, match="a bug"):
        list(pipeline.images(Watching(), [(0, broken)], threads=1))


def test_an_image_without_a_vector_is_a_failure_of_its_own():
    """One image that gives no finite vector fails alone; its neighbours are embedded."""
    (first, second) = pipeline.images(Watching(refuse={1}), numbers(8), threads=1)
    assert first.keys == [0, 2, 3]
    assert first.failures == [(1, "not finite")]
    assert first.vectors.shape == (3, 8)
    assert second.keys == [4, 5, 6, 7]


def test_a_broken_model_is_no_broken_image():
    """When no image of a batch gets a vector, the error is the model's."""
    with pytest.raises(EncoderError, match="not finite"):
        list(pipeline.images(Watching(refuse=set(range(8))), numbers(8), threads=1))


def test_texts_come_once_within_the_budget():
    """Every text once; no batch has more padded tokens than the budget, but for a single long text."""
    texts = ["x " * (number * 7 % 41) for number in range(200)]
    encoder = Watching()
    batches = list(pipeline.texts(encoder, texts))
    indices = np.concatenate([batch.indices for batch in batches])
    assert sorted(indices.tolist()) == list(range(200))
    assert all(rows * length <= 60 or rows == 1 for rows, length in encoder.shapes)
    assert len(encoder.shapes) < 120
    lengths = np.concatenate([batch.lengths for batch in batches])
    np.testing.assert_array_equal(lengths, [len(texts[index].split()) + 2 for index in indices])
    vectors = np.concatenate([batch.vectors for batch in batches])
    np.testing.assert_array_equal(vectors, FakeEncoder(8).encode_texts([texts[index] for index in indices]))


def test_cut_counts_come_with_their_texts():
    """How many tokens were cut is reported for each text."""
    batches = list(pipeline.texts(FakeEncoder(8), ["a b", "x " * 80, "x " * 76]))
    cut = dict(pair for batch in batches for pair in zip(batch.indices.tolist(), batch.cut.tolist(), strict=True))
    assert cut == {0: 0, 1: 5, 2: 1}


def test_more_texts_than_a_window(monkeypatch):
    """Windows are tokenised one after the other; indices count through."""
    monkeypatch.setattr(pipeline, "_WINDOW", 7)
    texts = [f"word{number}" for number in range(30)]
    found = {int(index) for batch in pipeline.texts(FakeEncoder(8), texts) for index in batch.indices}
    assert found == set(range(30))


def test_a_text_without_a_vector_is_quoted():
    """The error names the text, not only its place in a batch."""
    with pytest.raises(EncoderError, match="'one two three': not finite"):
        list(pipeline.texts(Watching(refuse={3}), ["one", "one two three", "one two"]))


def test_repeated_texts_are_embedded_once():
    """``encode_texts`` embeds distinct canonical texts once, and gives rows for all."""
    encoder = Watching()
    vectors = in_order.texts(encoder, ["A dog", "a  dog", "a cat", "a dog"])
    assert sum(rows for rows, _ in encoder.shapes) == 2
    np.testing.assert_array_equal(vectors[[0, 0, 0]], vectors[[0, 1, 3]])


def test_encode_images_names_the_bad_one():
    """A bad image among pictures is named by its position."""
    with pytest.raises(BadImage, match="image 1 of 3: not an image"):
        FakeEncoder().encode_images([png(0), b"nothing", png(1)])


def test_budget_splits_sorted_lengths():
    """The padded size of a batch is its count times its longest text."""
    assert list(pipeline._batches([3, 9, 3, 5], 10)) == [[0, 2], [3], [1]]
    assert list(pipeline._batches([], 10)) == []
    assert Tokens((1, 2)).cut == 0


def test_images_are_taken_as_paths_bytes_or_pictures(tmp_path):
    """All three give one vector; what is none of them, or can't be read, is named by its place."""
    encoder = FakeEncoder()
    path = drawn.draw(tmp_path, 1) / f"{drawn.name(0)}.png"
    made = encoder.encode_images([path, str(path), path.read_bytes()])
    assert np.array_equal(made[0], made[1])
    assert np.array_equal(made[0], made[2])
    made = in_order.texts(encoder, np.array(["a", "b"]))
    assert np.array_equal(made, in_order.texts(encoder, iter(["a", "b"])))
    with pytest.raises(BadImage, match=r"image 1 of 2: .*nope\.png: can't be read \(no such file"):
        encoder.encode_images([path, tmp_path / "nope.png"])
    with pytest.raises(InputError, match="image 0 of 1: a path, bytes or a PIL image is needed, not int"):
        in_order.images(encoder, [3])
    with pytest.raises(InputError, match="a list of images is needed, not one"):
        in_order.images(encoder, str(path))


def test_texts_are_a_list_of_texts():
    """One text is no list of letters, and what is no text is named by its place."""
    encoder = FakeEncoder()
    with pytest.raises(InputError, match="a list of texts is needed, not one"):
        in_order.texts(encoder, "abc")
    with pytest.raises(InputError, match="text 1 of 2: a str is needed, not NoneType"):
        in_order.texts(encoder, ["a", None])
