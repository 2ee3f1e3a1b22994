"""Stores written by every released schema: today's clipstore opens them, on both databases, with all that was in them."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
import tarfile
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import inspect

from clipstore import Store, keys
from clipstore.storage import upgrade
from clipstore.storage.catalogue import contents, files, pairs, runs, sets, settings, spaces
from clipstore.storage.catalogue import engine as engines
from clipstore.storage.catalogue import segments as segment_rows
from clipstore.storage.check import check
from clipstore.storage.location import locate
from clipstore.storage.lookup import Shelf

RELEASED = sorted((Path(__file__).parent / "released").glob("*.tar.xz"))


def test_every_schema_is_kept():
    """Each revision that this clipstore knows has a store that was written with it."""
    assert [path.name.removesuffix(".tar.xz") for path in RELEASED] == list(upgrade.REVISIONS)


@pytest.mark.parametrize("archive", RELEASED, ids=lambda path: path.name.removesuffix(".tar.xz"))
def test_a_released_store_opens_with_all_that_was_in_it(folder, tmp_path, archive):
    """Vectors bit for bit, texts, images, the eval set, captions, runs, pair scores, names: all there, at today's schema."""
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path / "old", filter="data")
    expected = json.loads((tmp_path / "old" / "expected.json").read_text(encoding="utf-8"))
    _bring(tmp_path / "old" / "store", folder, archive.name.removesuffix(".tar.xz"))
    with Store.open(folder) as store:
        assert check(folder, store.catalogue) == []
        with store.catalogue.read() as tx:
            assert upgrade.revision(tx, "here") == upgrade.HEAD
            _examine(tx, folder, expected)


def _examine(tx, folder, expected):
    digest, images, texts = expected["digest"], expected["images"], expected["texts"]
    for modality, ids in (("text", expected["text_keys"]), ("image", images)):
        shelf = Shelf(folder, segment_rows.all(tx, digest, modality))
        assert np.array_equal(shelf.gather(np.array(ids)), np.array(expected[f"{modality}_vectors"], np.float32))
    assert contents.texts(tx, keys.text_ids(texts)) == dict(zip(keys.text_ids(texts), texts, strict=True))
    assert contents.cuts(tx, digest, np.array(expected["text_keys"])) == {
        int(key): cut for key, cut in expected["cuts"].items()
    }
    assert {row.mode for row in contents.images(tx, images).values()} == {"RGB"}
    found = sets.get(tx, "squares")
    assert [[item.key, item.image_id, list(item.references), item.tags] for item in found.items] == expected["items"]
    assert [list(row) for row in sets.candidates(tx, "squares", "earlier")] == expected["candidates"]
    assert [list(row) for row in sets.candidates(tx, "squares", "earlier", "aaa")] == expected["candidates"][:1]
    run = runs.get(tx, "ab12")
    assert (run.verb, run.request, run.result) == ("score", {"model": "fake"}, {"clip-s": 0.5})
    assert run.used_images.tolist() == images
    captions = np.array(run.used_texts[:2])
    assert pairs.get(tx, "scorer", np.array(images[:2]), captions).tolist() == [0.25, 0.75]
    assert settings.get(tx, "a setting") == "its value"
    assert files.paths(tx, images[:1]) == {images[0]: ("/pictures/red.png",)}
    assert [row.path for row in files.failures(tx)] == ["/pictures/bad.png"]
    assert spaces.get(tx, digest).fields["kind"] == "fake"
    assert spaces.prompts(tx, digest) == ["A photo depicts "]
    assert [alias.key.model for alias in spaces.aliases(tx)] == ["fake:8"]


def _bring(old: Path, folder: Path, revision: str) -> None:
    """Put an old store where today's is to open it; for PostgreSQL its rows go into tables of the same old schema."""
    on_server = folder.exists()
    shutil.copytree(old, folder, dirs_exist_ok=True)
    if not on_server:
        return
    (folder / "catalogue.sqlite").unlink()
    engine = engines.postgresql_engine(locate(folder, create=False).url)
    source = sqlite3.connect(old / "catalogue.sqlite")
    with engine.begin() as connection:
        _migrate_to(connection, revision)
        waiting = [name for name in inspect(connection).get_table_names() if name != "alembic_version"]
        for name in _parents_first(connection, waiting):
            columns = [column["name"] for column in inspect(connection).get_columns(name)]
            rows = source.execute(f"SELECT {', '.join(columns)} FROM {name}").fetchall()
            kinds = {column["name"]: str(column["type"]) for column in inspect(connection).get_columns(name)}
            made = [
                tuple(_value(kinds[column], value) for column, value in zip(columns, row, strict=True)) for row in rows
            ]
            connection.exec_driver_sql(f"DELETE FROM {name}")
            if made:
                marks = ", ".join(["%s"] * len(columns))
                connection.exec_driver_sql(f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({marks})", made)
    source.close()
    engine.dispose()


def _value(kind: str, value: object) -> object:
    return bool(value) if kind == "BOOLEAN" and value is not None else value


def _parents_first(connection, names):
    needs = {name: {key["referred_table"] for key in inspect(connection).get_foreign_keys(name)} for name in names}
    ordered: list[str] = []
    while len(ordered) < len(names):
        ordered += [name for name in names if name not in ordered and needs[name] - {name} <= set(ordered)]
    return ordered


def _migrate_to(connection, revision):
    from alembic import command
    from alembic.config import Config

    config = Config(stdout=io.StringIO())
    config.set_main_option("script_location", str(upgrade.scripts()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
