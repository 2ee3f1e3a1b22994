"""A name stands for files: those that changed are seen, those that are lost are said to be, others are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from clipstore import Store, encoders
from clipstore.encoders.fake import FakeEncoder
from clipstore.encoders.names import ModelName
from clipstore.encoders.protocol import LoadOptions
from clipstore.errors import FingerprintMismatch, UnknownModel

PLAIN = "ViT-B-32/openai"


class Loader:
    """Loads a fake encoder whose length is what the model's file says, and counts."""

    def __init__(self) -> None:
        self.loads = 0

    def __call__(self, name: ModelName, _options: LoadOptions) -> FakeEncoder:
        """Load."""
        self.loads += 1
        file = name.weights or Path(name.architecture) / "model.safetensors"
        return FakeEncoder(int(file.read_text(encoding="utf-8").split()[0]))


@pytest.fixture
def loader(monkeypatch: pytest.MonkeyPatch) -> Loader:
    """What loads models in a test."""
    made = Loader()
    monkeypatch.setattr(encoders, "load", made)
    return made


def folder_at(place: Path, dim: int = 64) -> Path:
    """Write a model's folder."""
    place.mkdir(parents=True)
    (place / "open_clip_config.json").write_text("{}", encoding="utf-8")
    (place / "model.safetensors").write_text(str(dim), encoding="utf-8")
    return place


def test_a_folder_that_is_trained_on_is_noticed(store: Store, tmp_path: Path, loader: Loader) -> None:
    """New weights in the same folder are another encoder: refused, not given the old vectors."""
    folder = folder_at(tmp_path / "mine")
    store.space(f"local-dir:{folder}").ensure_texts(["a cat"])
    assert store.space(f"local-dir:{folder}").ensure_texts(["a cat"]).encoded == 0
    assert loader.loads == 1
    (folder / "model.safetensors").write_text("32", encoding="utf-8")
    with pytest.raises(FingerprintMismatch, match="dim: 64 -> 32"):
        store.space(f"local-dir:{folder}")


@pytest.mark.parametrize("file", ["open_clip_config.json", "model.safetensors", "tokenizer.json"])
def test_each_file_of_a_folder_counts(store: Store, tmp_path: Path, loader: Loader, file: str) -> None:
    """Config, weights or tokenizer written anew: the model is loaded again; a log beside them is no matter."""
    folder = folder_at(tmp_path / "mine")
    store.space(f"local-dir:{folder}")
    (folder / "train.log").write_text("step 1", encoding="utf-8")
    store.space(f"local-dir:{folder}")
    assert loader.loads == 1
    (folder / file).write_text("64   ", encoding="utf-8")
    store.space(f"local-dir:{folder}")
    store.space(f"local-dir:{folder}")
    assert loader.loads == 2


def test_a_folder_is_known_by_its_place_and_shown_by_its_name(
    store: Store, tmp_path: Path, loader: Loader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path from here and from the root are one model; two folders of one name are two; no path is shown."""
    folder_at(tmp_path / "a" / "mine")
    folder_at(tmp_path / "b" / "mine", 32)
    whole = store.space(f"local-dir:{tmp_path / 'a' / 'mine'}")
    monkeypatch.chdir(tmp_path / "a")
    assert store.space("local-dir:mine").fingerprint.digest == whole.fingerprint.digest
    assert loader.loads == 1
    monkeypatch.chdir(tmp_path / "b")
    other = store.space("local-dir:mine")
    assert other.fingerprint.digest != whole.fingerprint.digest
    assert {whole.shown, other.shown} == {"local-dir:mine"}
    assert not any("/" in model.model + model.weights for model in store.models())


def test_a_mistyped_path_is_refused_where_the_file_is_known_elsewhere(
    store: Store, tmp_path: Path, loader: Loader
) -> None:
    """A path to nothing is not served with the vectors of another file of that name; the right one is named."""
    weights = tmp_path / "right" / "weights.pt"
    weights.parent.mkdir()
    weights.write_text("64", encoding="utf-8")
    store.space(PLAIN, weights=weights).ensure_texts(["a cat"])
    with pytest.raises(UnknownModel, match=rf"wrong/weights.pt: no such file.*{weights}: give that path"):
        store.space(PLAIN, weights=tmp_path / "wrong" / "weights.pt")
    folder = folder_at(tmp_path / "here" / "mine")
    store.space(f"local-dir:{folder}")
    with pytest.raises(UnknownModel, match="there/mine: no such file"):
        store.space(f"local-dir:{tmp_path / 'there' / 'mine'}")


def test_a_store_that_moved_without_its_weights_says_what_it_trusts(
    store: Store, tmp_path: Path, loader: Loader
) -> None:
    """Neither the path given nor the one recorded is here: the name is trusted, and the space says so with a digest."""
    weights = tmp_path / "weights.pt"
    weights.write_text("64", encoding="utf-8")
    space = store.space(PLAIN, weights=weights)
    space.ensure_texts(["a cat"])
    assert space.notes == ()
    weights.unlink()
    for path in (weights, tmp_path / "elsewhere" / "weights.pt"):
        space = store.space(PLAIN, weights=path)
        assert space.ensure_texts(["a cat"]).encoded == 0
        (note,) = space.notes
        assert note.startswith("weights taken on trust: weights.pt is not on this machine")
        assert space.fingerprint.digest in note
    assert loader.loads == 1


def test_two_lost_files_of_one_name_are_not_confused(store: Store, tmp_path: Path, loader: Loader) -> None:
    """Two files of a name, both gone, with different vectors: neither is guessed."""
    for folder, dim in (("a", 64), ("b", 32)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "weights.pt").write_text(str(dim), encoding="utf-8")
        store.space(PLAIN, weights=tmp_path / folder / "weights.pt")
        (tmp_path / folder / "weights.pt").unlink()
    with pytest.raises(FileNotFoundError):  # what this loader says: it was asked
        store.space(PLAIN, weights=tmp_path / "c" / "weights.pt")
    assert store.space(PLAIN, weights=tmp_path / "a" / "weights.pt").dim == 64


def test_files_looked_at_in_vain_need_no_writable_store(
    store: Store, open_store: Callable[[str], Store], tmp_path: Path, loader: Loader
) -> None:
    """A copy of the same weights is loaded and served while another process writes."""
    weights = tmp_path / "weights.pt"
    weights.write_text("64", encoding="utf-8")
    store.space(PLAIN, weights=weights).ensure_texts(["a cat"])
    weights.write_text("64 saved again", encoding="utf-8")
    with Store.open(store.folder) as other, other.catalogue.write():
        assert store.space(PLAIN, weights=weights).ensure_texts(["a cat"]).encoded == 0
    assert loader.loads == 2
