"""Scores equal those of OpenAI's reference code and the official formula, from the same weights."""

import numpy as np
import pytest
import torch
from openai_reference import (
    FULL,
    PREFIX,
    WORDS,
    Official,
    clip_s,
    drawn_captions,
    drawn_images,
    openai_clip,
    random_weights,
    ref_clip_s,
    unit,
)

from clipstore.encoders import canonical, open_clip

COUNT = 12


def compare(encoder, official, count=COUNT):
    """Return CLIP-S and RefCLIP-S of both sides, per image."""
    files, captions = drawn_images(count), drawn_captions(count)
    references = [drawn_captions(COUNT, seed=1)[-1 - index % 3 :] for index in range(count)]
    sides = []
    for images, texts in (
        (official.images, official.texts),
        (encoder.encode_images, lambda some: encoder.encode_texts([PREFIX + text for text in some])),
    ):
        seen, said = images(files), texts(captions)
        refs = [texts(some) for some in references]
        sides.append((clip_s(seen, said), ref_clip_s(seen, said, refs)))
    return sides


def check(sides):
    """Both scores agree within 1e-5, and are no constant."""
    (clip, ref), (own_clip, own_ref) = sides
    assert clip.min() > 0
    assert np.ptp(clip) > 0.05
    assert np.ptp(ref) > 0.05
    np.testing.assert_allclose(own_clip, clip, atol=1e-5, rtol=0)
    np.testing.assert_allclose(own_ref, ref, atol=1e-5, rtol=0)


def test_small_network_scores_as_the_reference(small, openai_state):
    """Captions of 0, 1, 72, 73 and 200 words, images of several sizes: equal scores, text cut to its length."""
    assert small.cuts_texts
    check(compare(small, Official(openai_state)))


def test_full_size_network_scores_as_the_reference(tmp_path):
    """A whole ViT-B/32 in OpenAI's layout, by the default name and a file of weights."""
    state = random_weights(FULL)
    torch.save(state, tmp_path / "random.pt")
    encoder = open_clip.load("ViT-B-32/openai", weights=tmp_path / "random.pt", device="cpu")
    check(compare(encoder, Official(state), count=5))


def test_another_activation_is_seen(small, openai_state):
    """The comparison is not blind: GELU in place of QuickGELU moves scores by more than the tolerance."""
    network = Official(openai_state)
    for module in network.network.modules():
        if type(module).__name__ == "QuickGELU":
            module.forward = torch.nn.functional.gelu
    (clip, _), (own, _) = compare(small, network)
    assert np.abs(clip - own).max() > 1e-4


@pytest.mark.parametrize("prefix", [PREFIX, ""], ids=["prefix", "no prefix"])
@pytest.mark.parametrize("words", [0, 1, 72, 73, 200])
def test_captions_of_every_length_equal_the_reference(small, openai_state, words, prefix):
    """1, 72, 73 and 200 words and none, with the prefix and without: OpenAI's own features, within 1e-5."""
    official = Official(openai_state)
    texts = [" ".join((WORDS[start:] + WORDS[:start]) * 15) for start in range(6)]
    texts = [prefix + " ".join(text.split()[:words]) for text in texts]
    with torch.inference_mode():
        expected = unit(official.network.encode_text(official.clip.tokenize(texts, truncate=True))).numpy()
    together = small.encode_texts(texts)
    alone = np.concatenate([small.encode_texts([text]) for text in texts])
    for found in (together, alone):
        assert (1 - (found.astype(np.float64) * expected).sum(1)).max() < 1e-5


@pytest.mark.parametrize("batch", [1, 2, 3, 4, 5, 7, 64])
def test_every_batch_shape_gives_the_same_vectors(small, batch):
    """The batch that a text meets in moves its cosine by less than 1e-5, whatever its length."""
    clean = canonical.cleaner(small.fingerprint.cleaning)
    tokens = small.tokenize([clean(PREFIX + text) for text in drawn_captions(16)])
    alone = np.concatenate([small.embed_texts([item]) for item in tokens])
    parts = [small.embed_texts(tokens[start : start + batch]) for start in range(0, len(tokens), batch)]
    assert ((alone * np.concatenate(parts)).sum(1) > 1 - 1e-5).all()


def test_token_ids_equal_the_reference(small):
    """OpenAI's own tokenizer gives the same ids, with the prefix and without."""
    clip = openai_clip()
    captions = drawn_captions(40)
    for texts in (captions, [PREFIX + caption for caption in captions]):
        clean = canonical.cleaner(small.fingerprint.cleaning)
        expected = clip.tokenize(texts, truncate=True).numpy()
        found = np.zeros_like(expected)
        for row, item in zip(found, small.tokenize([clean(text) for text in texts]), strict=True):
            row[: len(item.ids)] = item.ids
        np.testing.assert_array_equal(found, expected)


def test_long_captions_are_cut_and_counted(small):
    """72, 73 and 200 words after the prefix: equal ids that end with EOT; 0, 1 and 128 tokens cut."""
    tokens = small.tokenize([PREFIX.lower() + "x " * words for words in (72, 73, 200)])
    assert [item.cut for item in tokens] == [0, 1, 128]
    assert tokens[0].ids == tokens[1].ids == tokens[2].ids
    assert (len(tokens[0].ids), tokens[0].ids[-1]) == (77, 49407)
