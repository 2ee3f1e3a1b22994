"""Files of weights: read without unpickling, fitted in full, or refused with what, where and how."""

import os
import pickle
from pathlib import Path

import pytest
import torch
from openai_reference import config
from safetensors.torch import save_file

from clipstore.encoders import network, open_clip, weights
from clipstore.encoders.fingerprint import tensors_digest
from clipstore.errors import EncoderError


def plain(state):
    """The tensors without OpenAI's three numbers."""
    return {name: tensor for name, tensor in state.items() if name not in weights.OPENAI_KEYS}


def load(folder, file):
    """Load a file for the small network."""
    return open_clip.build(
        open_clip.names.parse(f"local-dir:{folder}", weights=file), open_clip.LoadOptions(device="cpu")
    )


class Net(torch.nn.Module):
    """A module to be scripted."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)

    def forward(self, x):
        """Any code at all."""
        return self.linear(x)


class Bomb:
    """What a hostile pickle does."""

    def __reduce__(self):
        """Make a file when it is unpickled."""
        return os.mkdir, (self.where,)


def test_layouts_of_equal_weights_share_a_fingerprint(tmp_path, small_folder, small, openai_state):
    """OpenAI's layout, float32 safetensors, a training checkpoint and a parallel one: equal tensors, one fingerprint."""
    tensors = plain(openai_state)
    save_file({name: tensor.float() for name, tensor in tensors.items()}, tmp_path / "single.safetensors")
    torch.save(
        {"epoch": 3, "state_dict": {f"module.{name}": tensor for name, tensor in tensors.items()}},
        tmp_path / "train.pt",
    )
    save_file(tensors, tmp_path / "named_otherwise.bin")
    for file in sorted(tmp_path.iterdir()):
        assert load(small_folder, file).fingerprint == small.fingerprint, file.name


def test_one_changed_bit_changes_the_fingerprint(tmp_path, small_folder, small, openai_state):
    """A weight that moves by its last bit is another encoder."""
    tensors = {name: tensor.float() for name, tensor in plain(openai_state).items()}
    first = tensors["ln_final.weight"].view(torch.int32)
    first[0] ^= 1
    save_file(tensors, tmp_path / "changed.safetensors")
    other = load(small_folder, tmp_path / "changed.safetensors").fingerprint
    assert other.digest != small.fingerprint.digest
    (line,) = small.fingerprint.difference(other)
    assert line.startswith("weights: sha256:")


def test_half_precision_files_run_in_single_precision(small):
    """float16 on disk is no half precision run: every weight is cast to float32."""
    assert {tensor.dtype for tensor in small._model.parameters()} == {torch.float32}


def test_a_pickle_is_never_run(tmp_path):
    """A hostile file is refused, and its code has not run."""
    bomb = Bomb()
    bomb.where = str(tmp_path / "boom")
    torch.save({"state_dict": bomb}, tmp_path / "bomb.pt")
    (tmp_path / "bare.pkl").write_bytes(pickle.dumps(bomb))
    for file in ("bomb.pt", "bare.pkl"):
        with pytest.raises(EncoderError, match="can't be read as weights"):
            weights.read(tmp_path / file)
    assert not (tmp_path / "boom").exists()


@pytest.mark.filterwarnings("ignore:.*torch.jit")
def test_torchscript_needs_trust(tmp_path):
    """An archive that carries code is refused until the user says so; then its tensors are read."""
    torch.jit.script(Net()).save(tmp_path / "script.pt")
    with pytest.raises(EncoderError, match="--trust-weights"):
        weights.read(tmp_path / "script.pt")
    assert set(weights.read(tmp_path / "script.pt", trust=True).tensors) == {"linear.weight", "linear.bias"}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "can't be read"),
        (b"\x80garbage", "can't be read"),
        (b"PK\x03\x04broken", "can't be read"),
        (b"1234567\0{", "can't be read"),
    ],
)
def test_broken_files_are_named(tmp_path, content, says):
    """Garbage is one message with the file and the remedy."""
    file = tmp_path / "broken.pt"
    file.write_bytes(content)
    with pytest.raises(EncoderError, match=f"broken.pt: {says}.*safetensors"):
        weights.read(file)


def test_missing_files_and_folders_are_named(tmp_path):
    """A path that is no file says so."""
    with pytest.raises(EncoderError, match=r"none\.pt: no such file"):
        weights.read(tmp_path / "none.pt")
    with pytest.raises(EncoderError, match="a folder"):
        weights.read(tmp_path)


def test_what_is_no_state_dict_is_refused(tmp_path):
    """A list, an empty dictionary, a dictionary with other things in it."""
    for number, content in enumerate(([1], {}, {"a": torch.ones(1), "lr": 0.1})):
        file = tmp_path / f"{number}.pt"
        torch.save(content, file)
        with pytest.raises(EncoderError, match="no plain state dict"):
            weights.read(file)


def test_wrong_tensors_are_listed(tmp_path, small_folder, openai_state):
    """Missing, unexpected and misshapen tensors are counted, the first few by name."""
    tensors = plain(openai_state)
    tensors["extra.weight"] = torch.ones(1)
    tensors["text_projection"] = torch.ones(3, 4)
    for name in ("ln_final.bias", "ln_final.weight", "logit_scale", "visual.proj", "visual.conv1.weight"):
        del tensors[name]
    save_file(tensors, tmp_path / "wrong.safetensors")
    with pytest.raises(EncoderError) as caught:
        load(small_folder, tmp_path / "wrong.safetensors")
    message = str(caught.value)
    assert "wrong.safetensors: these are not the weights of local-dir:" in message
    assert "missing (5): logit_scale" in message
    assert "unexpected (1): extra.weight" in message
    assert "of another shape (1): text_projection (3, 4) not (128, 64)" in message


def test_a_separate_text_tower_takes_the_old_layout(openai_state):
    """Weights of one class fit the other of open_clip's classes, under its own names."""
    cfg = {**config(), "custom_text": True}
    model = network.build(cfg, "fp32", "m")
    weights.fit(model, weights.Weights(Path("w.pt"), plain(openai_state), openai=False), "m")
    assert torch.equal(model.state_dict()["text.ln_final.weight"], openai_state["ln_final.weight"].float())


def test_building_leaves_torchs_random_state_alone():
    """A network's first values come from a random state of their own."""
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    network.build(config(layers=1, text_layers=1), "fp32", "m")
    assert torch.equal(torch.rand(3), expected)


def test_digest_rule():
    """Equal values share a digest in any dtype; names, shapes and values that differ don't."""
    half = torch.tensor([[1.0, -0.0, 65504.0]], dtype=torch.float16).numpy()
    usual = tensors_digest([("a", half), ("b", half)])
    assert usual.startswith("sha256:")
    assert tensors_digest([("b", half.astype("f4")), ("a", half.astype("f8"))]) == usual
    for other in (
        [("a", half)],
        [("a", half), ("c", half)],
        [("a", half.T), ("b", half)],
        [("a", half + 1), ("b", half)],
    ):
        assert tensors_digest(other) != usual
    single = half.astype("f4") + 1e-7
    assert tensors_digest([("a", single)]) == tensors_digest([("a", single.astype("f8"))])
    assert tensors_digest([("a", half)]) != tensors_digest([("a", -half)])


@pytest.mark.parametrize(
    ("content", "says"), [(b"", "the file is empty"), (b"just some words", "no format of weights")]
)
def test_what_is_no_file_of_weights_is_told_in_words(tmp_path, content, says):
    """Not with a bare number of the unpickler's, and not with torch's advice to unpickle it."""
    (tmp_path / "w.pt").write_bytes(content)
    with pytest.raises(EncoderError, match=says):
        weights.read(tmp_path / "w.pt")
    torch.save({"odd": Net()}, tmp_path / "code.pt")
    with pytest.raises(EncoderError, match="holds more than tensors, and nothing is ever unpickled"):
        weights.read(tmp_path / "code.pt")
