"""A small network in OpenAI's layout, shared by the tests of encoders."""

import json

import pytest
import torch
from openai_reference import config, random_weights

from clipstore import encoders
from clipstore.encoders import names, open_clip
from clipstore.encoders.protocol import LoadOptions


@pytest.fixture(scope="session")
def openai_state():
    """Random weights of a small network, as OpenAI's files hold them."""
    return random_weights(config())


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory, openai_state):
    """A ``local-dir:`` of that network."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": config()}))
    torch.save(openai_state, folder / "weights.pt")
    return folder


@pytest.fixture(scope="session")
def small(small_folder):
    """That network as an encoder."""
    return open_clip.load(f"local-dir:{small_folder}", device="cpu")


@pytest.fixture(scope="session")
def small_half(small_folder):
    """It in bfloat16."""
    return open_clip.load(f"local-dir:{small_folder}", device="cpu", precision="bf16")


@pytest.fixture(scope="session")
def tiny():
    """The model that ships, as the store loads it."""
    return encoders.load(names.parse("tiny"), LoadOptions(device="cpu"))
