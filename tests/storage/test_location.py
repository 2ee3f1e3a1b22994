"""Where a store may be: a new or empty folder, or a store; never in somebody's other folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from clipstore.errors import BadFormat, CannotWrite, Damaged, NotAStore, StoreError
from clipstore.storage.catalogue import Catalogue
from clipstore.storage.location import locate


def test_folder_with_other_files_is_not_turned_into_a_store(tmp_path):
    """A folder that holds other things and no store is refused by name, and nothing is written to it."""
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(NotAStore, match=r"thesis\.tex.*empty folder"):
        Catalogue.open(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("litter", [".DS_Store", ".gitignore", "store.lock", "aside", "catalogue.sqlite"])
def test_litter_of_systems_and_of_stopped_processes_is_no_obstacle(tmp_path, litter):
    """Hidden files, and what a process that died while creating a store leaves, don't stop a new store."""
    (tmp_path / litter).mkdir() if litter == "aside" else (tmp_path / litter).touch()
    Catalogue.open(tmp_path).close()


def test_file_in_place_of_the_folder_is_refused(tmp_path):
    """A file where the folder, or one of its parents, should be is refused."""
    (tmp_path / "s").write_text("x")
    for path in (tmp_path / "s", tmp_path / "s" / "deeper"):
        with pytest.raises(NotAStore, match="file"):
            Catalogue.open(path)
    assert (tmp_path / "s").read_text() == "x"


def test_absent_store_is_not_created_when_told_so(tmp_path):
    """Without ``create`` an absent or empty folder raises and stays as it is."""
    with pytest.raises(NotAStore, match="no store here"):
        Catalogue.open(tmp_path / "s", create=False)
    assert not (tmp_path / "s").exists()
    with pytest.raises(NotAStore, match="no store here"):
        Catalogue.open(tmp_path, create=False)
    assert list(tmp_path.iterdir()) == []


def test_lost_catalogue_beside_segments_is_damage(tmp_path):
    """Segments without a catalogue are never hidden behind a fresh, empty one."""
    segment = tmp_path / "vectors" / "ab" / "text" / "a.faiss"
    segment.parent.mkdir(parents=True)
    segment.touch()
    with pytest.raises(Damaged, match="verify --repair"):
        Catalogue.open(tmp_path)
    assert not (tmp_path / "catalogue.sqlite").exists()


def test_parent_that_cannot_be_made_is_told():
    """A folder that the system does not let us make is CannotWrite."""
    with pytest.raises(CannotWrite):
        locate(Path("/proc/clipstore"), create=True)


@pytest.mark.parametrize("url", ["postgresql://me@db.lab:5433/clip", "postgresql+psycopg://me@db.lab:5433/clip"])
def test_store_toml_names_a_server(tmp_path, url):
    """A PostgreSQL URL in store.toml is the catalogue, with or without the driver's name."""
    (tmp_path / "store.toml").write_text(f'catalogue = "{url}"')
    location = locate(tmp_path, create=False)
    assert location.shown == "postgresql+psycopg://me@db.lab:5433/clip"


@pytest.mark.parametrize("url", ["postgresql://me:hunter2@db/clip", "postgresql://me@db/clip?password=hunter2"])
def test_password_in_store_toml_is_refused_and_never_shown(tmp_path, url):
    """A password in the URL is refused with the two places where it may stand, and is not repeated."""
    (tmp_path / "store.toml").write_text(f'catalogue = "{url}"')
    with pytest.raises(BadFormat, match=r"PGPASSWORD or ~/\.pgpass") as caught:
        locate(tmp_path, create=False)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        'catalogue = "mysql://me:hunter2@db/clip"',
        'catalogue = "sqlite:///x.sqlite"',
        'catalogue = "hunter2"',
        "catalogue = 7",
        'catalogue = "postgresql+psycopg://127.0.0.1:notaport/hunter2"',
        "catalogue",
        "\ufeff= 3",
    ],
)
def test_bad_store_toml_is_refused_with_what_to_write(tmp_path, text):
    """Another database, no URL or no TOML at all is one clear error that names the file."""
    (tmp_path / "store.toml").write_text(text)
    with pytest.raises(BadFormat, match=r"store\.toml") as caught:
        locate(tmp_path, create=False)
    assert "hunter2" not in f"{caught.value} {caught.value.__cause__}"


@pytest.mark.parametrize("text", ['catalog = "postgresql://host/db"', 'dtype = "float16"'])
def test_a_mistyped_key_makes_no_second_catalogue(tmp_path, text):
    """A key that is not known is refused with those that are, and no SQLite file is made."""
    (tmp_path / "store.toml").write_text(text)
    with pytest.raises(BadFormat, match=r"unknown key .* known are base, bases, catalogue"):
        Catalogue.open(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["store.toml"]


def test_store_toml_without_a_catalogue_means_sqlite(tmp_path):
    """A store.toml with other settings keeps the catalogue in the folder."""
    (tmp_path / "store.toml").write_text('bases = ["../coco"]')
    assert locate(tmp_path, create=False).shown == str(tmp_path / "catalogue.sqlite")


def test_missing_driver_is_told_with_its_package(tmp_path, monkeypatch):
    """A PostgreSQL catalogue without psycopg installed says what to install."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    (tmp_path / "store.toml").write_text('catalogue = "postgresql://me@db/clip"')
    with pytest.raises(StoreError, match=r"pip install 'psycopg\[binary\]'"):
        Catalogue.open(tmp_path)


def test_server_that_cannot_be_reached_is_told(tmp_path):
    """A server that does not answer is one clear error that shows the URL."""
    pytest.importorskip("psycopg", reason="needs the PostgreSQL driver")
    (tmp_path / "store.toml").write_text('catalogue = "postgresql://me@127.0.0.1:1/clip"')
    with pytest.raises(StoreError, match="can't reach the catalogue"):
        Catalogue.open(tmp_path)
