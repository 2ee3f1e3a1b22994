"""The text tower at its true length: exact where it is used, and not used where it is not exact."""

import numpy as np
import open_clip as upstream
import pytest
import torch
from openai_reference import config

from clipstore.encoders import network, tokenizer
from clipstore.encoders.text_tower import TextTower

TEXTS = ["a dog", "", "a man who rides a red bicycle down the hill", "two dogs play " * 5, "x " * 100]
PROBES = tokenizer.wrap(upstream.SimpleTokenizer(), 77)(TEXTS)


def built(cfg, seed=0):
    """A random network of a config, with weights large enough for attention to matter."""
    torch.manual_seed(seed)
    model = network.build(cfg, "fp32", "m")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * (0.15 if parameter.ndim > 1 else 1.0))
    return model


def text(**fields):
    """A small config with other fields in its text tower."""
    cfg = config(layers=1, text_layers=2)
    cfg["text_cfg"].update(fields)
    return cfg


CUSTOM = {"custom_text": True}


@pytest.mark.parametrize(
    "cfg",
    [
        text(),
        {**text(), **CUSTOM},
        {**text(pool_type="eos", eos_id=49407), **CUSTOM},
        {**text(proj_bias=True), **CUSTOM},
        {**text(proj_type="none", width=64, heads=1), **CUSTOM},
    ],
    ids=["clip", "custom", "eos", "linear", "no-projection"],
)
def test_causal_towers_are_cut_and_agree(cfg):
    """A causal tower that reads its end token runs at true length, within 1e-6 of the full path."""
    model = built(cfg)
    tower = TextTower(model, 77, PROBES)
    assert tower.cuts
    with torch.inference_mode():
        short = torch.cat([tower([item], torch.device("cpu")) for item in PROBES])
        whole = model.encode_text(tower.padded(PROBES, 77, torch.device("cpu")))
    cosines = torch.nn.functional.cosine_similarity(short.double(), whole.double(), dim=-1)
    assert (1 - cosines).max() < 1e-6


@pytest.mark.parametrize(
    "cfg",
    [
        {**text(no_causal_mask=True, pool_type="last"), **CUSTOM},
        {**text(no_causal_mask=True), **CUSTOM},
        {**text(pool_type="last"), **CUSTOM},
        {**text(embed_cls=True, pad_id=0), **CUSTOM},
    ],
    ids=["siglip", "bidirectional", "last", "class-token"],
)
def test_other_towers_run_at_full_length(cfg):
    """A tower where padding matters gives open_clip's own features, at full length."""
    context = 76 if cfg["text_cfg"].get("embed_cls") else 77
    cfg["text_cfg"]["context_length"] = context
    model = built(cfg)
    probes = tokenizer.wrap(upstream.SimpleTokenizer(), context)(TEXTS)
    tower = TextTower(model, context, probes)
    assert not tower.cuts
    with torch.inference_mode():
        found = torch.cat([tower([item], torch.device("cpu")) for item in probes])
        ids = upstream.SimpleTokenizer()(TEXTS, context_length=context)
        expected = torch.cat([model.encode_text(row[None]) for row in ids])
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-5)


def test_the_check_decides_not_the_class():
    """A tower that looks like one that can be cut, but reads past its end, fails the check at load."""
    model = built(text())
    honest = model.encode_text
    model.encode_text = lambda ids: honest(ids) + (ids == 0).sum(1, keepdim=True) * 0.1
    assert not TextTower(model, 77, PROBES).cuts


def test_a_feature_that_is_not_finite_fails_the_check():
    """Broken weights end in full length, not in an exception here; the vectors are refused later."""
    model = built(text())
    model.ln_final.weight.data[0] = float("nan")
    assert not TextTower(model, 77, PROBES).cuts


@pytest.mark.parametrize("own", [True, False], ids=["own blocks", "open_clip's blocks"])
def test_a_shared_start_is_computed_once_and_changes_nothing(own):
    """Texts with a common start, among them one that is only that start: as each alone, within 1e-6."""
    model = built(text())
    tower = TextTower(model, 77, PROBES)
    assert tower._own
    tower._own = own
    texts = [f"a photo depicts {rest}" for rest in ("", "a dog", "a cat on a mat", "two " * 40, "a dog")]
    tokens = tokenizer.wrap(upstream.SimpleTokenizer(), 77)(texts)
    cpu = torch.device("cpu")
    with torch.inference_mode():
        together = tower(tokens, cpu)
        alone = torch.cat([tower([item], cpu) for item in tokens])
        whole = model.encode_text(tower.padded(tokens, 77, cpu))
        assert own is (tower._start is not None)
        other = tower(tokenizer.wrap(upstream.SimpleTokenizer(), 77)(["the dog"] * 4), cpu)
        again = tower(tokens, cpu)
    assert torch.isfinite(other).all()
    for found in (together, alone, again):
        assert (1 - torch.nn.functional.cosine_similarity(found.double(), whole.double())).max() < 1e-6


def test_blocks_that_are_not_plain_run_as_they_are():
    """A tower of open_clip's other blocks is cut, and its blocks are called, not taken apart."""
    model = built(text())
    block = model.transformer.resblocks[0]
    block.__class__ = type("Other", (type(block),), {})
    tower = TextTower(model, 77, PROBES)
    assert tower.cuts
    assert not tower._own
