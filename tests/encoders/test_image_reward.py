"""ImageReward, reduced in size with random weights, against its published formula through transformers' BLIP."""

import numpy as np
import pytest
import torch
import torchvision.transforms as tv
from contract import picture

from clipstore.encoders import image_reward
from clipstore.encoders.protocol import PairScorer
from clipstore.errors import EncoderError

pytest.importorskip("transformers", reason="the extra clipstore[pairs] is not installed")
import small_reward

TEXTS = ["A dog.", "cats on the mat", "the dog " * 40, ""]


@pytest.fixture(scope="module")
def upstream():
    """Both of transformers' towers and the published head, with random weights."""
    return small_reward.upstream()


@pytest.fixture(scope="module")
def scorer(upstream, tmp_path_factory):
    """Ours, from a checkpoint in the published layout."""
    folder = small_reward.written(tmp_path_factory.mktemp("reward"), upstream)
    return image_reward.load(folder / "ImageReward.pt", folder / "vocab.txt", device="cpu")


def test_rewards_equal_the_published_formula(upstream, scorer):
    """(MLP(CLS of the text that attends to the image) - 0.16717) / 1.03334; text cut at 35 tokens."""
    seen, said, head = upstream
    image = picture(3)
    pixels = tv.Compose([
        tv.Resize(32, tv.InterpolationMode.BICUBIC), tv.CenterCrop(32), lambda one: one.convert("RGB"), tv.ToTensor(),
        tv.Normalize((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
    ])(image)[None]  # fmt: skip
    word = {word: number for number, word in enumerate(small_reward.WORDS)}
    rows = [["[CLS]", "a", "dog", ".", "[SEP]"], ["[CLS]", "cat", "##s", "on", "the", "mat", "[SEP]"]]
    rows += [["[CLS]", *(["the", "dog"] * 40)[:33], "[SEP]"], ["[CLS]", "[SEP]"]]
    expected = []
    with torch.inference_mode():
        features = seen(pixel_values=pixels).last_hidden_state
        for row in rows:
            ids = torch.tensor([[word[one] for one in row]])
            out = said(
                input_ids=ids, attention_mask=torch.ones_like(ids), encoder_hidden_states=features,
                encoder_attention_mask=torch.ones(features.shape[:-1], dtype=torch.long), is_decoder=False,
            ).last_hidden_state[:, 0]  # fmt: skip
            expected.append(float((head(out) - 0.16717362830052426) / 1.0333394966054072))
    assert np.ptp(expected) > 1e-3
    np.testing.assert_allclose(scorer.score(scorer.prepare_image(image), TEXTS), expected, atol=1e-5)


def test_it_is_a_pair_scorer_with_a_fingerprint(scorer, tmp_path):
    """It keeps the protocol; another vocabulary is another fingerprint; versions are no part of it."""
    assert isinstance(scorer, PairScorer)
    assert len(scorer.fingerprint.digest) == 16
    assert torch.__version__ not in str(dict(scorer.fingerprint.fields))
    assert {"torch", "pillow", "transformers", "device"} == set(scorer.environment)


def test_the_image_moves_the_reward(scorer):
    """Another image, another number: the text attends to it."""
    one, other = (scorer.score(scorer.prepare_image(picture(seed)), TEXTS) for seed in (1, 2))
    assert np.abs(one - other).max() > 1e-4
    assert scorer.score(scorer.prepare_image(picture(1)), []).shape == (0,)


def test_other_weights_are_refused(tmp_path):
    """A file that is something else says so; a missing vocabulary too."""
    torch.save({"a": torch.ones(1)}, tmp_path / "x.pt")
    with pytest.raises(EncoderError, match="not the weights of ImageReward"):
        image_reward.load(tmp_path / "x.pt", tmp_path / "vocab.txt", device="cpu")


@pytest.mark.weights
def test_imagereward_gives_a_published_example():
    """Its README ranks four pictures of one prompt; they and the weights are on the hub only."""
    pytest.skip("the checkpoint and its example pictures are on the model hub: THUDM/ImageReward")
