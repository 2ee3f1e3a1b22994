"""What every encoder must do: subclass and give ``encoder``."""

import io

import numpy as np
import PIL.Image
import pytest

from clipstore.encoders import canonical, pipeline
from clipstore.encoders.protocol import Encoder
from clipstore.errors import BadImage


def picture(seed, size=(90, 60)):
    """A drawn picture."""
    coarse = np.random.default_rng(seed).integers(0, 256, (5, 5, 3), dtype=np.uint8)
    return PIL.Image.fromarray(coarse).resize(size)


def png(seed, size=(90, 60)):
    """The bytes of a drawn picture's file."""
    buffer = io.BytesIO()
    picture(seed, size).save(buffer, "PNG")
    return buffer.getvalue()


class EncoderContract:
    """The behaviour of :class:`clipstore.encoders.protocol.Encoder`."""

    @pytest.fixture
    def encoder(self):
        """The encoder under test."""
        raise NotImplementedError

    #: How far a vector may move when it is encoded in another batch: of its cosine.
    tolerance = 1e-5

    def test_is_an_encoder(self, encoder):
        """It has every part of the protocol."""
        assert isinstance(encoder, Encoder)
        assert encoder.dim > 0
        assert encoder.image_batch > 0
        assert encoder.token_budget > 0

    def test_fingerprint_is_stable_hex(self, encoder):
        """The fingerprint is 16 hex digits, names its cleaning, and differs in nothing from itself."""
        fingerprint = encoder.fingerprint
        assert len(fingerprint.digest) == 16
        assert int(fingerprint.digest, 16) >= 0
        assert canonical.cleaner(fingerprint.cleaning)
        assert fingerprint.difference(encoder.fingerprint) == []

    def test_environment_is_text(self, encoder):
        """Versions and device are strings."""
        assert all(isinstance(part, str) for pair in encoder.environment.items() for part in pair)
        assert "device" in encoder.environment

    def test_texts_give_unit_rows_in_order(self, encoder):
        """Texts of any length give finite unit rows of float32, in input order, repeats alike."""
        texts = ["a dog", "", "a cat on a mat " * 30, "a dog", "zwei Hunde 🐶"]
        vectors = encoder.encode_texts(texts)
        assert vectors.dtype == np.float32
        assert vectors.shape == (len(texts), encoder.dim)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        np.testing.assert_array_equal(vectors[0], vectors[3])
        alone = np.concatenate([encoder.encode_texts([text]) for text in texts])
        assert ((vectors * alone).sum(1) > 1 - self.tolerance).all()

    def test_images_give_unit_rows_in_order(self, encoder):
        """Images give finite unit rows of float32, in input order, as in batches of one."""
        files = [png(seed) for seed in range(5)]
        vectors = encoder.encode_images(files)
        assert vectors.dtype == np.float32
        assert vectors.shape == (5, encoder.dim)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        alone = np.concatenate([encoder.encode_images([file]) for file in files])
        assert ((vectors * alone).sum(1) > 1 - self.tolerance).all()
        assert np.linalg.norm(vectors[0] - vectors[1]) > 1e-3

    def test_nothing_gives_no_rows(self, encoder):
        """Empty input gives an array of no rows."""
        assert encoder.encode_texts([]).shape == (0, encoder.dim)
        assert encoder.encode_images([]).shape == (0, encoder.dim)
        assert encoder.embed_texts([]).shape == (0, encoder.dim)
        assert encoder.embed_images([]).shape == (0, encoder.dim)
        assert encoder.tokenize([]) == []

    def test_picture_in_memory_is_prepared(self, encoder):
        """A picture in memory is taken as well; its mode and size are reported."""
        prepared = encoder.prepare_image(picture(1))
        assert (prepared.mode, prepared.size, prepared.flags) == ("RGB", (90, 60), ())
        assert encoder.embed_images([prepared]).shape == (1, encoder.dim)

    @pytest.mark.parametrize("data", [b"", b"not an image", png(0)[:200]], ids=["empty", "text", "truncated"])
    def test_bad_image_is_refused_with_a_reason(self, encoder, data):
        """A file that can't be decoded is BadImage with a reason in words."""
        with pytest.raises(BadImage, match=r"\w+"):
            encoder.prepare_image(data)

    def test_tokens_are_counted(self, encoder):
        """What does not fit the context is counted; what fits is not cut."""
        short, long = encoder.tokenize(["a dog", "dog " * 300])
        assert short.cut == 0
        assert long.cut > 0
        assert len(long.ids) <= encoder.fingerprint.fields["context_length"]

    def test_pipeline_reports_failures_and_goes_on(self, encoder):
        """A bad image and a missing file are failures; the others are embedded."""

        def gone():
            raise FileNotFoundError(2, "No such file or directory")

        sources = [("a", lambda: png(0)), ("bad", lambda: b"no"), ("gone", gone), ("b", lambda: png(1))]
        batches = list(pipeline.images(encoder, sources, threads=2))
        assert [key for batch in batches for key in batch.keys] == ["a", "b"]
        failures = dict(failure for batch in batches for failure in batch.failures)
        assert set(failures) == {"bad", "gone"}
        assert failures["gone"] == "No such file or directory"
