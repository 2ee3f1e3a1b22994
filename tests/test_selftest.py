"""The self-test passes on a sound machine, and finds what is planted."""

from __future__ import annotations

import json

import numpy as np
import open_clip as upstream
import PIL.Image
import pytest
import torch
from clipstore_cli import selftest as command

from clipstore import encoders
from clipstore.encoders import names
from clipstore.encoders.protocol import LoadOptions, Prepared, Tokens
from clipstore.errors import EncoderError
from clipstore.selftest import examine, passed, selftest

TINY = names.parse("tiny")


@pytest.fixture
def tiny():
    """The model that ships, fresh for each test: some break it."""
    return encoders.load(TINY, LoadOptions(device="cpu"))


def failed(encoder):
    """Which checks fail, by name, each with a remedy."""
    checks = examine(encoder, TINY)
    bad = [check for check in checks if check.verdict == "failed"]
    assert all(check.remedy for check in bad)
    assert passed(checks) is not bool(bad)
    return " | ".join(check.name for check in bad)


def test_the_model_that_ships_passes():
    """Every check runs but the golden values, which are OpenAI's."""
    checks = selftest(TINY, LoadOptions(device="cpu"))
    assert {check.name for check in checks if check.verdict != "ok"} == {"golden values of the published weights"}
    assert passed(checks)


@pytest.mark.parametrize("options", [{"precision": "bf16"}, {"preprocess": "fast"}], ids=str)
def test_other_ways_to_load_it_pass_too(options):
    """Half precision and fast pixels keep to their own limits."""
    if options.get("preprocess") == "fast":
        pytest.importorskip("simplejpeg", reason="the extra clipstore[fast] is not installed")
    assert passed(selftest(TINY, LoadOptions(device="cpu", **options)))


def test_a_wrong_activation_is_found(tiny):
    """GELU where the config says QuickGELU, or the other way round."""
    quick = upstream.transformer.QuickGELU
    wrong = torch.nn.GELU if any(isinstance(one, quick) for one in tiny.parts.model.modules()) else quick
    for block in tiny.parts.model.transformer.resblocks:
        block.mlp.gelu = wrong()
    assert "activation" in failed(tiny)


def test_a_dropped_end_is_found(tiny, monkeypatch):
    """A long caption that is cut without its end token."""
    honest = tiny._tokens.__class__.__call__

    def dropping(self, texts):
        found = honest(self, texts)
        return [Tokens((*one.ids[:-1], one.ids[-2]), one.cut) if one.cut else one for one in found]

    monkeypatch.setattr(tiny._tokens.__class__, "__call__", dropping)
    assert "token ids" in failed(tiny)


def test_a_changed_transform_is_found(tiny, monkeypatch):
    """Bilinear in place of bicubic: the pixels differ."""

    def bilinear(picture: PIL.Image.Image) -> Prepared:
        height, width = tiny.parts.preprocess.size
        small = picture.convert("RGB").resize((width, height), PIL.Image.Resampling.BILINEAR)
        return Prepared(np.asarray(small), "RGB", picture.size)

    honest = tiny.prepare_image
    monkeypatch.setattr(
        tiny.__class__,
        "prepare_image",
        lambda _, image: honest(image) if isinstance(image, bytes) else bilinear(image),
    )
    assert "pixels" in failed(tiny)


def test_a_wrong_text_path_is_found(tiny):
    """A tower that is cut although it must not be."""
    tiny.parts.model.attn_mask.zero_()
    assert "text at its true length" in failed(tiny)


def test_random_weights_are_not_openais(tmp_path):
    """The golden values of the published model are checked under its name alone: others fail them."""
    torch.manual_seed(0)
    small = {**upstream.get_model_config("ViT-B-32")}
    small["vision_cfg"] = {**small["vision_cfg"], "layers": 1}
    small["text_cfg"] = {**small["text_cfg"], "layers": 1}
    state = upstream.model.CLIP(**small).state_dict()
    torch.save(state, tmp_path / "w.pt")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(upstream.factory._MODEL_CONFIGS, "ViT-B-32", small)
        checks = selftest(names.parse("ViT-B-32/openai", weights=tmp_path / "w.pt"), LoadOptions(device="cpu"))
    (golden,) = [check for check in checks if check.name.startswith("golden")]
    assert golden.verdict == "failed"


def test_fake_has_nothing_to_test():
    """It has no model behind it."""
    with pytest.raises(EncoderError, match="nothing to test"):
        selftest(names.parse("fake"), LoadOptions())


def test_the_command_prints_a_table_and_exits_by_the_result(capsys, monkeypatch, tmp_path):
    """0 where all is well, 1 where a check failed, each failure with its remedy; JSON on request."""
    from clipstore import selftest as checks

    monkeypatch.chdir(tmp_path)
    run = {"models": ["tiny"], "device": "cpu"}
    assert command.selftest(**defaults(command.selftest) | run) == 0
    assert len(capsys.readouterr().out.splitlines()) == 9
    monkeypatch.setattr(checks, "FLOAT32", -1.0)
    assert command.selftest(**defaults(command.selftest) | run | {"json": True}) == 1
    out, err = capsys.readouterr()
    assert {one["verdict"] for one in json.loads(out)["checks"]} >= {"failed"}
    assert "error: " in err


def defaults(function):
    """A command's defaults, as the command line gives them."""
    parameters = function.__signature__.parameters.values()
    return {one.name: one.default for one in parameters if one.name not in {"model", "device"}}
