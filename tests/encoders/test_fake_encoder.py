"""The encoder without a model."""

import io
import subprocess
import sys

import numpy as np
import PIL.Image
import pytest
from contract import EncoderContract, picture, png

from clipstore import encoders
from clipstore.encoders import names
from clipstore.encoders.fake import FakeEncoder
from clipstore.encoders.protocol import LoadOptions
from clipstore.errors import UnknownModel


class TestFakeContract(EncoderContract):
    """The fake is an encoder like any other."""

    @pytest.fixture
    def encoder(self):
        """The fake."""
        return FakeEncoder()


def test_equal_content_gives_equal_vectors_in_another_process():
    """Vectors depend on content alone, not on the process or its hash seed."""
    program = (
        "from clipstore.encoders.fake import FakeEncoder; "
        "print(FakeEncoder(8).encode_texts(['A  dog &amp; cat'])[0].tobytes().hex())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert bytes.fromhex(done.stdout) == FakeEncoder(8).encode_texts(["a dog & cat"])[0].tobytes()


def test_vectors_are_these_numbers():
    """The draw never changes: stores made with the fake stay valid."""
    np.testing.assert_array_equal(FakeEncoder(4).encode_texts(["a dog"])[0], np.array(GOLDEN, dtype=np.float32))


def test_cosines_spread_around_a_third():
    """Scores made with the fake are positive for the most part, and differ."""
    images = FakeEncoder().encode_images([png(seed) for seed in range(40)])
    texts = FakeEncoder().encode_texts([f"caption {number}" for number in range(40)])
    cosines = images @ texts.T
    assert 0.25 < cosines.mean() < 0.4
    assert cosines.std() > 0.05


def test_files_of_one_picture_differ():
    """The file's bytes are the content, as for image ids: a PNG and a BMP of one picture are two images."""
    bmp = io.BytesIO()
    PIL.Image.open(io.BytesIO(png(1))).save(bmp, "BMP")
    one, other = FakeEncoder().encode_images([png(1), bmp.getvalue()])
    assert np.linalg.norm(one - other) > 0.1


def test_palette_of_a_picture_in_memory_counts():
    """Two pictures with equal indices and other palettes are two images."""
    one = picture(1).quantize(4)
    other = one.copy()
    other.putpalette([9] * 12)
    first, second = FakeEncoder().encode_images([one, other])
    assert np.linalg.norm(first - second) > 0.1


def test_cut_counts_words_over_the_context():
    """With two places for start and end, 75 words fit."""
    fits, over = FakeEncoder().tokenize(["x " * 75, "x " * 80])
    assert (fits.cut, over.cut, len(over.ids)) == (0, 5, 77)


def test_loads_by_name():
    """``fake`` and ``fake:16`` are names of models; another length is another fingerprint."""
    usual = encoders.load(names.parse("fake"), LoadOptions())
    short = encoders.load(names.parse("fake:16"), LoadOptions())
    assert (usual.dim, short.dim) == (64, 16)
    assert usual.fingerprint.digest != short.fingerprint.digest
    with pytest.raises(UnknownModel, match="fake:64"):
        encoders.load(names.parse("fake:big"), LoadOptions())


GOLDEN = [0.494138240814209, 0.5278538465499878, 0.45251357555389404, 0.5219475626945496]
