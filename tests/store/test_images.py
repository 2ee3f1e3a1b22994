"""Images as files, bytes and pictures; files that change, and files that can't be read."""

from __future__ import annotations

import io
import os
import shutil
import time
from pathlib import Path

import drawn
import numpy as np
import PIL.Image
import pytest

from clipstore import Store, keys
from clipstore.items import Image
from clipstore.store import identify


def encoded(picture: PIL.Image.Image, kind: str = "PNG") -> bytes:
    """Return a picture as the bytes of a file."""
    out = io.BytesIO()
    picture.save(out, kind)
    return out.getvalue()


def test_a_file_and_its_bytes_are_one_image(store: Store, tmp_path: Path) -> None:
    """The id is a hash of the file's bytes, wherever they come from."""
    data = encoded(drawn.picture(1))
    (tmp_path / "a.png").write_bytes(data)
    found = store.identify([Image(tmp_path / "a.png", "a"), Image(data, "b")])
    assert found.ids == (keys.image_id(data), keys.image_id(data))


def test_pictures_in_memory_are_told_apart_by_pixels_mode_and_palette(store: Store) -> None:
    """No conversion comes before the hash: another mode, palette or transparency is another image."""
    grey = PIL.Image.new("L", (3, 2), 5)
    palette = PIL.Image.new("P", (3, 2), 5)
    palette.putpalette([1, 2, 3] * 10)
    other = PIL.Image.new("P", (3, 2), 5)
    other.putpalette([3, 2, 1] * 10)
    clear = other.copy()
    clear.info["transparency"] = 5
    pictures = [grey, grey.convert("RGB"), palette, other, clear, PIL.Image.new("L", (2, 3), 5)]
    ids = store.identify([Image(one, str(i)) for i, one in enumerate(pictures)]).ids
    assert len(set(ids)) == len(pictures)
    assert store.identify([Image(grey.copy(), "again")]).ids[0] == ids[0]


def test_paths_bytes_and_pictures_are_all_encoded(store: Store, tmp_path: Path) -> None:
    """All three kinds come out as unit vectors, in the order asked."""
    drawn.picture(1).save(tmp_path / "a.png")
    images = [Image(tmp_path / "a.png", "a"), Image(encoded(drawn.picture(2)), "b"), Image(drawn.picture(3), "c")]
    space = store.space("fake")
    done = space.ensure_images(images)
    assert done.encoded == 3
    assert not done.failures
    vectors = space.gather_images(np.array(done.ids, np.int64))
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_a_known_file_is_not_read_again(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file whose stat is known and old enough is trusted: its bytes are not read a second time."""
    drawn.draw(tmp_path / "images", 3)
    images = [Image(path, path.name) for path in sorted((tmp_path / "images").iterdir())]
    monkeypatch.setattr(identify, "RACY_NS", 0)
    time.sleep(0.02)
    first = store.identify(images).ids
    monkeypatch.setattr(identify, "_read", lambda path: pytest.fail(f"{path} was read again"))
    assert store.identify(images).ids == first


def test_an_edit_in_place_is_seen(store: Store, tmp_path: Path) -> None:
    """Bytes that change under the same size and modification time give another id (git's racy rule)."""
    path = tmp_path / "a.bmp"
    drawn.picture(1).save(path)
    before = path.stat()
    first = store.identify([Image(path, "a")]).ids
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert store.identify([Image(path, "a")]).ids[0] not in {first[0], None}


def test_a_file_younger_than_the_clock_can_tell_is_read_again(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that was hashed within two seconds of its change is read again, even if its stat is the same."""
    path = tmp_path / "a.png"
    drawn.picture(1).save(path)
    store.identify([Image(path, "a")])
    read: list[Path] = []
    real = identify._read

    def watched(path: Path) -> object:
        read.append(path)
        return real(path)

    monkeypatch.setattr(identify, "_read", watched)
    store.identify([Image(path, "a")])
    assert read == [path]


def test_an_edited_file_is_encoded_and_the_old_vector_stays(store: Store, tmp_path: Path) -> None:
    """A file edited under its path is another image: encoded anew, the old vector kept under the old id (B19)."""
    path = tmp_path / "a.png"
    space = store.space("fake")
    drawn.picture(1).save(path)
    old = space.ensure_images([Image(path, "a")]).ids[0]
    drawn.picture(2).save(path)
    done = space.ensure_images([Image(path, "a")])
    assert done.encoded == 1
    assert done.ids[0] != old
    assert space.gather_images(np.array([old, done.ids[0]], np.int64)).shape == (2, 64)


def test_a_corrupt_image_is_named_and_the_others_are_stored(store: Store, tmp_path: Path) -> None:
    """One bad file does not stop the rest; it is named with a reason and stands in the failure table."""
    drawn.draw(tmp_path / "images", 3)
    bad = tmp_path / "images" / "bad.png"
    bad.write_bytes(encoded(drawn.picture(9))[:40])
    images = [Image(path, path.name) for path in sorted((tmp_path / "images").iterdir())]
    space = store.space("fake")
    done = space.ensure_images(images)
    assert done.encoded == 3
    assert [one.name for one in done.failures] == ["bad.png"]
    assert done.failures[0].reason
    assert done.ids[0] is None
    assert None not in done.ids[1:]
    assert [Path(row.path) for row in store.failures()] == [bad]


def test_a_rerun_retries_only_what_failed_and_forgets_it_when_it_works(store: Store, tmp_path: Path) -> None:
    """The good ones are not encoded again; once the file is mended the failure table is empty."""
    drawn.draw(tmp_path / "images", 3)
    bad = tmp_path / "images" / "bad.png"
    bad.write_bytes(b"\x89PNG\r\n\x1a\n broken")
    images = [Image(path, path.name) for path in sorted((tmp_path / "images").iterdir())]
    encoder = drawn.Watched()
    space = store.custom_space(encoder, "mine")
    space.ensure_images(images)
    again = space.ensure_images(images)
    assert again.encoded == 0
    assert len(again.failures) == 1
    assert len(store.failures()) == 1
    bad.write_bytes(encoded(drawn.picture(9)))
    mended = space.ensure_images(images)
    assert mended.encoded == 1
    assert not mended.failures
    assert store.failures() == []
    assert encoder.images == 4


def test_a_missing_file_and_a_folder_are_named(store: Store, tmp_path: Path) -> None:
    """What can't be read at all is a failure with a reason in words."""
    (tmp_path / "folder.png").mkdir()
    images = [Image(tmp_path / "absent.png", "absent.png"), Image(tmp_path / "folder.png", "folder.png")]
    found = store.identify(images)
    assert found.ids == (None, None)
    assert {one.name: one.reason for one in found.failures} == {
        "absent.png": "no such file or directory",
        "folder.png": "is a folder",
    }


def test_links_are_known_by_their_own_path(store: Store, tmp_path: Path) -> None:
    """A link that is turned to another file is another image, though neither file changed."""
    drawn.draw(tmp_path / "images", 2)
    one, other = sorted((tmp_path / "images").iterdir())
    link = tmp_path / "link.png"
    link.symlink_to(one)
    first = store.identify([Image(link, "link"), Image(other, "other")]).ids
    link.unlink()
    link.symlink_to(other)
    assert store.identify([Image(link, "link")]).ids[0] == first[1]


def test_known_images_are_found_again_by_id(store: Store, tmp_path: Path) -> None:
    """Images that the store knows as files are encoded in another space without being named again."""
    drawn.draw(tmp_path / "images", 3)
    images = [Image(path, path.name) for path in sorted((tmp_path / "images").iterdir())]
    ids = [one for one in store.space("fake").ensure_images(images).ids if one is not None]
    done = store.space("fake:32").ensure_known_images(ids)
    assert done.encoded == 3
    assert done.ids == tuple(ids)


@pytest.mark.parametrize("gone", ["images", "copies"])
def test_a_known_image_is_found_at_any_path_that_still_holds_it(store: Store, tmp_path: Path, gone: str) -> None:
    """Of two folders that held the images one is gone, whichever was seen last: the other serves."""
    drawn.draw(tmp_path / "images", 3)
    shutil.copytree(tmp_path / "images", tmp_path / "copies")
    for folder in ("images", "copies"):
        images = [Image(path, path.name) for path in sorted((tmp_path / folder).iterdir())]
        ids = [one for one in store.space("fake").ensure_images(images).ids if one is not None]
    shutil.rmtree(tmp_path / gone)
    done = store.space("fake:32").ensure_known_images(ids)
    assert (done.encoded, done.failed, done.ids) == (3, 0, tuple(ids))


def test_a_known_image_without_a_file_says_what_to_do(store: Store) -> None:
    """An image that only ever was in memory can't be encoded anew; the message names it and the remedy."""
    ids = store.space("fake").ensure_images([Image(drawn.picture(1), "in memory")]).ids
    from clipstore.errors import NotStored

    with pytest.raises(NotStored, match=r"1 images are not encoded with fake:32.*with --images"):
        store.space("fake:32").ensure_known_images(list(ids))


def test_a_known_image_whose_file_changed_is_a_failure(store: Store, tmp_path: Path) -> None:
    """The file that the store knows now holds other bytes: the image is named as failed, not silently left out."""
    path = tmp_path / "a.png"
    drawn.picture(1).save(path)
    ids = store.space("fake").ensure_images([Image(path, "a.png")]).ids
    drawn.picture(2).save(path)
    done = store.space("fake:32").ensure_known_images(list(ids))
    assert done.ids == (None,)
    assert [Path(one.name).name for one in done.failures] == ["a.png"]


def test_a_corrupt_picture_in_memory_is_a_failure_like_a_file(store: Store, tmp_path: Path) -> None:
    """A picture opened lazily from a file that ends early is named with a reason; the others are encoded."""
    noise = np.random.default_rng(0).integers(0, 256, (40, 40, 3), np.uint8)
    data = encoded(PIL.Image.fromarray(noise))
    (tmp_path / "cut.png").write_bytes(data[: len(data) // 2])
    with PIL.Image.open(tmp_path / "cut.png") as cut:
        images = [Image(cut, "cut"), Image(drawn.picture(1), "whole")]
        found = store.identify(images)
        done = store.space("fake").ensure_images(images)
    assert [one.name for one in found.failures] == ["cut"]
    assert found.failures[0].reason.startswith("can't be decoded")
    assert (done.asked, done.encoded, done.failed, done.ids[0]) == (2, 1, 1, None)
    assert [one.name for one in done.failures] == ["cut"]


def turned(orientation: int) -> PIL.Image.Image:
    """Return a picture as a photograph's file gives it, to be turned as EXIF says."""
    exif = PIL.Image.Exif()
    exif[0x0112] = orientation
    out = io.BytesIO()
    drawn.picture(1).save(out, "PNG", exif=exif)
    return PIL.Image.open(out)


def test_pictures_that_differ_in_their_orientation_are_two_images(store: Store) -> None:
    """Equal pixels that ``exif=apply`` turns in two ways do not share a vector, in memory as in files."""
    images = [Image(turned(1), "upright"), Image(turned(6), "lying"), Image(turned(8), "lying the other way")]
    assert len(set(store.identify(images).ids)) == 3


def test_what_was_done_to_images_is_counted_when_they_are_encoded_and_when_they_are_cached(
    store: Store, tmp_path: Path
) -> None:
    """``first frame of several`` and the like are told with how many images they are of, of a cached call too."""
    frames = [drawn.picture(number) for number in range(3)]
    for name in ("one", "two"):
        frames[0].save(tmp_path / f"{name}.gif", save_all=True, append_images=frames[1:], comment=name.encode())
    drawn.picture(5).save(tmp_path / "plain.png")
    images = [Image(tmp_path / name, name) for name in ("one.gif", "two.gif", "plain.png")]
    space = store.space("fake")
    first, again = space.ensure_images(images), space.ensure_images(images)
    assert (first.encoded, again.encoded) == (3, 0)
    assert dict(first.flags) == dict(again.flags) == {"first frame of several": 2}
    assert dict(space.ensure_images(images[2:]).flags) == {}
    ids = [one for one in first.ids if one is not None]
    assert dict(space.ensure_known_images(ids).flags) == {"first frame of several": 2}
    assert dict(store.space("fake:32").ensure_known_images(ids).flags) == {"first frame of several": 2}


def test_a_flag_of_another_spaces_policy_is_not_told(store: Store) -> None:
    """An image that was turned for a space with ``exif=apply`` was not turned for one that ignores EXIF."""
    space = store.space("fake")
    (id_,) = space.ensure_images([Image(drawn.picture(1), "a")]).ids
    with store.catalogue.write() as tx:
        tx.exec_driver_sql("UPDATE images SET flags = '[\"rotated by EXIF\"]'")
    assert dict(space.ensure_images([Image(drawn.picture(1), "a")]).flags) == {}
    assert id_ is not None
