"""Which files of a folder are images."""

from __future__ import annotations

from pathlib import Path

import pytest

from clipstore.errors import InputError
from clipstore.formats import image_files

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 30


def test_images_are_found_by_content_and_listed_sorted(tmp_path: Path) -> None:
    """Odd extensions and none are found by their first bytes; texts are not; order is fixed."""
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    names = ["B.JPG", "a.webp", "c.tif", "d.avif", "e.bmp", "f.gif", "sub/g.png", "sub/deep/x.jpg.1", "noext"]
    for name in names:
        (tmp_path / name).write_bytes(PNG)
    for name in ("refs.json", "notes.md", "README", "sub/caps.1"):
        (tmp_path / name).write_text("no image")
    assert image_files(tmp_path) == sorted(names)


@pytest.mark.parametrize(
    "head",
    [
        b"\xff\xd8\xff\xe0",
        b"GIF89a",
        b"BM\x00\x00",
        b"II*\x00",
        b"MM\x00*",
        b"RIFF\x00\x00\x00\x00WEBPVP8 ",
        b"\x00\x00\x00\x20ftypavif",
        b"P6\n1 1 255",
        b"\x00\x00\x00\x0cjP  \r\n",
    ],
)
def test_every_common_container_is_known_by_its_first_bytes(head: bytes, tmp_path: Path) -> None:
    """A file named ``download`` is an image when its bytes are."""
    (tmp_path / "download").write_bytes(head)
    assert image_files(tmp_path) == ["download"]


def test_what_is_named_like_an_image_is_listed_so_that_it_fails_by_name(tmp_path: Path) -> None:
    """A text named ``x.jpg``, an empty one, and a folder of that name are listed; hidden files are not."""
    (tmp_path / "text.jpg").write_text("no image")
    (tmp_path / "empty.png").touch()
    (tmp_path / "folder.jpg").mkdir()
    (tmp_path / "folder.jpg" / "in.png").write_bytes(PNG)
    (tmp_path / "._a.jpg").write_bytes(PNG)
    (tmp_path / ".clipstore").mkdir()
    (tmp_path / ".clipstore" / "b.png").write_bytes(PNG)
    assert image_files(tmp_path) == ["empty.png", "folder.jpg", "folder.jpg/in.png", "text.jpg"]


def test_links_that_turn_in_a_circle_end(tmp_path: Path) -> None:
    """A link to a parent folder is followed no second time."""
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert image_files(tmp_path) == ["a.png"]


def test_missing_empty_and_wrong_folders_are_refused(tmp_path: Path) -> None:
    """No folder, no image, no folder but a file: each has its words."""
    with pytest.raises(InputError, match="does not exist"):
        image_files(tmp_path / "no")
    with pytest.raises(InputError, match="holds no image"):
        image_files(tmp_path)
    (tmp_path / "f").touch()
    with pytest.raises(InputError, match="is not a folder"):
        image_files(tmp_path / "f")
