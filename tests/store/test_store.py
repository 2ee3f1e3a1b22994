"""Opening a store, its spaces by name, and what it refuses."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import drawn
import pytest

from clipstore import Store, encoders
from clipstore.encoders.fake import FakeEncoder
from clipstore.encoders.names import ModelName
from clipstore.encoders.protocol import LoadOptions
from clipstore.errors import Damaged, FingerprintMismatch, NewerSchema, NotAStore, UnknownModel


def test_a_store_is_made_where_there_is_none(tmp_path: Path) -> None:
    """Opening creates it, empty; with create=False it is refused and nothing is made."""
    with pytest.raises(NotAStore, match="there is no store here"):
        Store.open(tmp_path / "new", create=False)
    assert not (tmp_path / "new").exists()
    with Store.open(tmp_path / "new") as store:
        counts = store.counts()
        assert (counts.images, counts.texts, counts.sets, counts.spaces) == (0, 0, 0, 0)
        assert not drawn.damage(store)


def test_a_folder_with_other_things_is_no_store(tmp_path: Path) -> None:
    """A folder that holds a user's files is refused by name and left alone."""
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(NotAStore, match=r"thesis\.tex"):
        Store.open(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_the_nearest_store_is_found_upwards(tmp_path: Path) -> None:
    """``.clipstore`` here or in the nearest parent is taken; where there is none, the one to make is here."""
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    (tmp_path / ".clipstore").mkdir()
    assert Store.nearest(deep) == tmp_path / ".clipstore"
    (tmp_path / "a" / "b" / ".clipstore").mkdir()
    assert Store.nearest(deep) == tmp_path / "a" / "b" / ".clipstore"


def test_a_store_of_a_newer_schema_is_refused(store: Store) -> None:
    """Both revisions are named, and the remedy; nothing is changed."""
    store.close()
    with sqlite3.connect(store.folder / "catalogue.sqlite") as connection:
        (before,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(NewerSchema, match=rf"schema 9999.*knows {before}.*install a newer clipstore"):
        Store.open(store.folder)
    with sqlite3.connect(store.folder / "catalogue.sqlite") as connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (before,))
    connection.close()


def test_vectors_without_a_catalogue_are_damage_not_a_new_store(store: Store) -> None:
    """A lost catalogue beside segments is refused; making a new one would hide them all."""
    store.space("fake").ensure_texts(["a cat"])
    store.close()
    kept = (store.folder / "catalogue.sqlite").read_bytes()
    for path in store.folder.glob("catalogue.sqlite*"):
        path.unlink()
    with pytest.raises(Damaged, match="gone or empty"):
        Store.open(store.folder)
    (store.folder / "catalogue.sqlite").write_bytes(kept)


def test_a_known_name_loads_no_model(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a name is known its space is given without loading anything; what is stored can be gathered."""
    keys = store.space("fake").ensure_texts(["a cat"]).keys
    monkeypatch.setattr(encoders, "load", lambda *_: pytest.fail("the model was loaded"))
    space = store.space("fake")
    assert space.ensure_texts(["a cat"]).encoded == 0
    assert space.gather_texts(keys).shape == (1, 64)


def test_a_known_name_that_loads_another_model_is_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both fingerprints are printed, line by line what differs, and the remedy; nothing is encoded."""
    first = store.space("fake")
    first.ensure_texts(["a cat"])

    def other(name: ModelName, options: LoadOptions) -> FakeEncoder:
        return FakeEncoder(32)

    monkeypatch.setattr(encoders, "load", other)
    second = store.space("fake")
    with pytest.raises(FingerprintMismatch) as caught:
        second.ensure_texts(["a dog"])
    message = str(caught.value)
    assert first.fingerprint.digest in message
    assert FakeEncoder(32).fingerprint.digest in message
    assert "dim: 64 -> 32" in message
    assert "--store" in message
    assert first.shelf("text").rows == 1


def test_weights_that_change_under_a_name_are_noticed(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another file under the same path asks the encoder again: equal tensors go on, others are refused."""
    weights = tmp_path / "weights.pt"
    weights.write_bytes(b"one")
    loads: list[int] = []
    dim = 64

    def load(name: ModelName, options: LoadOptions) -> FakeEncoder:
        loads.append(dim)
        return FakeEncoder(dim)

    monkeypatch.setattr(encoders, "load", load)
    space = store.space("ViT-B-32/openai", weights=weights)
    space.ensure_texts(["a cat"])
    assert store.space("ViT-B-32/openai", weights=weights).ensure_texts(["a cat"]).encoded == 0
    assert loads == [64]
    weights.write_bytes(b"the same tensors, saved again")
    assert store.space("ViT-B-32/openai", weights=weights).ensure_texts(["a cat"]).encoded == 0
    assert loads == [64, 64]
    assert store.space("ViT-B-32/openai", weights=weights).ensure_texts(["a cat"]).encoded == 0
    assert loads == [64, 64]
    weights.write_bytes(b"others")
    dim = 32
    with pytest.raises(FingerprintMismatch, match="dim: 64 -> 32"):
        store.space("ViT-B-32/openai", weights=weights)


def test_a_store_serves_without_its_weights_file(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine without the weights, what is stored is found by the file's name, wherever it lay."""
    weights = tmp_path / "here" / "weights.pt"
    weights.parent.mkdir()
    weights.write_bytes(b"one")
    monkeypatch.setattr(encoders, "load", lambda *_: FakeEncoder())
    store.space("ViT-B-32/openai", weights=weights).ensure_texts(["a cat"])
    weights.unlink()
    monkeypatch.setattr(encoders, "load", lambda *_: pytest.fail("the model was loaded"))
    for path in (weights, tmp_path / "elsewhere" / "weights.pt"):
        assert store.space("ViT-B-32/openai", weights=path).ensure_texts(["a cat"]).encoded == 0


def test_spellings_of_a_name_are_one_model(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's, OpenAI's, Hugging Face's and open_clip's names give one space, known by one name."""
    monkeypatch.setattr(encoders, "load", lambda *_: FakeEncoder())
    store.space("ViT-B-32/openai")
    monkeypatch.setattr(encoders, "load", lambda *_: pytest.fail("another name"))
    for name in ("ViT-B/32", "openai/clip-vit-base-patch32", "ViT-B-32-quickgelu/openai"):
        assert store.space(name).shown == "ViT-B-32/openai"
    assert store.space("ViT-B-32", pretrained="openai").shown == "ViT-B-32/openai"
    assert [model.model for model in store.models()] == ["ViT-B-32/openai"]


def test_models_are_listed_with_their_counts(store: Store, tmp_path: Path) -> None:
    """Each name with precision, dimension, and how many image and text vectors there are."""
    from clipstore.items import Image

    drawn.draw(tmp_path / "images", 2)
    space = store.space("fake:32")
    space.ensure_texts(["a", "b", "c"])
    space.ensure_images([Image(path, path.name) for path in sorted((tmp_path / "images").iterdir())])
    (model,) = store.models()
    assert (model.model, model.precision, model.dim, model.images, model.texts) == ("fake:32", "fp32", 32, 2, 3)
    assert model.digest == space.fingerprint.digest


@pytest.mark.parametrize("name", ["", "  ", "fake:x", "fake:0", "hf-hub:"])
def test_a_name_of_no_model_is_refused_and_not_registered(store: Store, name: str) -> None:
    """A bad name raises UnknownModel and leaves nothing behind."""
    with pytest.raises(UnknownModel):
        store.space(name)
    assert store.models() == []
    assert store.counts().spaces == 0


def test_a_read_only_store_still_serves(store: Store) -> None:
    """What is stored is read from a folder that can't be written; encoding there is refused, not half done."""
    import os

    from clipstore.errors import CannotWrite

    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    store.space("fake").ensure_texts(["a cat"])
    store.close()
    paths = [store.folder, *store.folder.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        with Store.open(store.folder) as opened:
            assert opened.space("fake").ensure_texts(["a cat"]).encoded == 0
            with pytest.raises(CannotWrite):
                opened.space("fake").ensure_texts(["a dog"])
    finally:
        for path in paths:
            path.chmod(0o755 if path.is_dir() else 0o644)
