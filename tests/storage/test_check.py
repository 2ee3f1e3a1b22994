"""Checking: each way in which files and rows can disagree is found, named, and told from mere litter."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from small_stores import DIGEST, commit, row_of, unit_vectors

from clipstore import keys
from clipstore.storage import layout
from clipstore.storage import segments as segment_files
from clipstore.storage.catalogue import Catalogue, contents, segments, sets, spaces
from clipstore.storage.catalogue.contents import ImageRow
from clipstore.storage.catalogue.sets import CandidateRow, ItemRow
from clipstore.storage.check import check

DIM = 16


@pytest.fixture
def stored(catalogue):
    """Return a catalogue with an image and a text segment, an eval set and a system."""
    digests = [keys.sha256(bytes([number])) for number in range(6)]
    images = [ImageRow(keys.from_sha256(digest), digest, 1, "RGB", 8, 8) for digest in digests]
    commit(catalogue, np.array([image.id for image in images]), unit_vectors(6), "image")
    commit(catalogue, np.arange(10), unit_vectors(10), dtype="float32")
    with catalogue.write() as tx:
        contents.add_images(tx, images)
        sets.add(tx, "s", [ItemRow("a", images[0].id, ("a dog", "a cat"), {})], "d", {})
        sets.add_system(tx, "s", "blip", "c", [CandidateRow("a", 0, "a cow")], {})
    return catalogue


def _kinds(catalogue, **options):
    return [(finding.kind, finding.severity) for finding in check(catalogue.folder, catalogue, **options)]


def _text_segment(catalogue):
    with catalogue.read() as tx:
        row = segments.all(tx, modality="text")[0]
    return row, row.path(catalogue.folder)


def test_sound_store_has_no_findings(stored):
    """A store that nobody harmed gives an empty list, with and without checksums."""
    assert _kinds(stored) == []
    assert _kinds(stored, checksums=False) == []


def test_empty_store_has_no_findings(catalogue):
    """A new store is sound."""
    assert _kinds(catalogue) == []


def test_missing_file_is_found(stored):
    """A row whose file is gone is damage, with the count of vectors and the remedy."""
    row, path = _text_segment(stored)
    path.unlink()
    (finding,) = check(stored.folder, stored)
    assert (finding.kind, finding.severity, finding.segment) == ("missing file", "damage", row.name)
    assert "10 text vectors" in finding.detail
    assert "verify --repair" in str(finding)
    assert finding.where == f"vectors/{DIGEST}/text/{row.name}.faiss"


def _flip(path, place, mask=1):
    content = bytearray(path.read_bytes())
    content[place] ^= mask
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("harm", "kind"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "truncated"),
        (lambda path: path.write_bytes(path.read_bytes() + b"x"), "truncated"),
        (lambda path: _flip(path, 0), "header"),
        (lambda path: _flip(path, 82), "checksum"),
        (lambda path: _flip(path, 81 + 4 * DIM * 10 + 8 + 2), "checksum"),
    ],
)
def test_harmed_file_is_found(stored, harm, kind):
    """Truncation, a longer file, a wrong header and single flipped bits in vectors and ids are each found."""
    _, path = _text_segment(stored)
    harm(path)
    assert (kind, "damage") in _kinds(stored)


def test_flipped_bit_that_changes_no_norm_is_found_by_checksum_only(stored):
    """A lowest bit of a vector is below every other check; only checksums see it."""
    _, path = _text_segment(stored)
    _flip(path, 82)
    assert _kinds(stored) == [("checksum", "damage")]
    assert _kinds(stored, checksums=False) == []


def _commit_raw(catalogue, ids, vectors):
    """Commit a segment as a faulty writer would: whatever it holds, with a right checksum."""
    rows, dim = vectors.shape
    folder = catalogue.folder / "vectors" / DIGEST / "text"
    content = layout.header(rows, dim, "float32") + vectors.tobytes() + rows.to_bytes(8, "little") + ids.tobytes()
    path = folder / "raw.faiss"
    path.write_bytes(content)
    digest = segment_files.checksum(path)
    path.rename(folder / f"{segment_files.name_of(digest)}.faiss")
    file = segment_files.SegmentFile(
        segment_files.name_of(digest),
        rows,
        dim,
        "float32",
        82,
        layout.ids_offset(rows, dim, "float32"),
        len(content),
        digest,
    )
    path = next(path for path in folder.glob("*.faiss") if segment_files.is_named(path.stem, digest))
    row = dataclasses.replace(row_of(file), name=path.stem)
    with catalogue.write() as tx:
        segments.add(tx, row)


@pytest.mark.parametrize(
    ("ids", "scale", "kind"),
    [
        ([1, 2, 3], np.nan, "not finite"),
        ([1, 2, 3], np.inf, "not finite"),
        ([1, 2, 3], 1.01, "not unit norm"),
        ([1, 2, 3], 0.0, "not unit norm"),
        ([2, 1, 3], 1.0, "order of ids"),
        ([1, 1, 3], 1.0, "order of ids"),
        ([-1, 1, 3], 1.0, "order of ids"),
    ],
)
def test_wrong_content_with_a_right_checksum_is_found(stored, ids, scale, kind):
    """NaN, infinity, other norms and unsorted, repeated or negative ids are found even where the checksum fits."""
    vectors = unit_vectors(3, DIM)
    vectors[1] *= np.float32(scale)
    _commit_raw(stored, np.array(ids, dtype=np.int64), vectors)
    assert _kinds(stored) == [(kind, "damage")]


def test_vectors_of_another_length_than_their_space_are_found(stored):
    """A sound segment whose vectors are shorter than those of its encoder is damage."""
    row = commit(stored, np.arange(20, 23), unit_vectors(3, 8))
    (finding,) = check(stored.folder, stored)
    assert (finding.kind, finding.severity, finding.segment) == ("dimension", "damage", row.name)
    assert finding.detail == "its vectors have 8 numbers, those of its encoder 16"


@pytest.mark.parametrize(("rows", "dim", "kind"), [(20, 8, "dimension"), (40, 4, "dimension")])
def test_file_of_another_shape_is_found(stored, rows, dim, kind):
    """A valid segment of another shape in place of the right one is found by its shape or size."""
    _, path = _text_segment(stored)
    file = segment_files.write(stored.folder / "elsewhere", np.arange(rows), unit_vectors(rows, dim))
    (stored.folder / "elsewhere" / f"{file.name}.faiss").replace(path)
    assert _kinds(stored)[0][0] in (kind, "truncated")


def test_litter_is_a_note_not_damage(stored):
    """Files that no row names, and unfinished ones, are notes; files that are not ours are not mentioned."""
    folder = stored.folder / "vectors" / DIGEST / "text"
    (folder / "x.tmp").touch()
    (folder / ".DS_Store").touch()
    segment_files.write(folder, np.arange(3), unit_vectors(3))
    assert sorted(_kinds(stored)) == [("unfinished file", "note"), ("unreferenced file", "note")]


def test_image_vectors_without_image_rows_are_noted(stored):
    """Ids of an image segment that the catalogue does not know are noted with the first of them."""
    commit(stored, np.array([5, 6]), unit_vectors(2), "image")
    (finding,) = check(stored.folder, stored)
    assert (finding.kind, finding.severity) == ("ids without content", "note")
    assert "2 of its ids" in finding.detail
    assert keys.to_hex(5) in finding.detail


def test_lost_and_changed_texts_are_found(stored):
    """References and captions without text, and texts that are not what their id says, are damage."""
    with stored.write() as tx:
        tx.exec_driver_sql(f"DELETE FROM texts WHERE id = {keys.text_id('a cat')}")
        tx.exec_driver_sql(f"DELETE FROM texts WHERE id = {keys.text_id('a cow')}")
        tx.exec_driver_sql(f"UPDATE texts SET text = 'a god' WHERE id = {keys.text_id('a dog')}")
    assert _kinds(stored) == [("text missing", "damage"), ("text missing", "damage"), ("text changed", "damage")]


def test_malformed_catalogue_is_a_finding_not_an_exception(tmp_path):
    """A SQLite file with an overwritten page gives a finding about the catalogue."""
    catalogue = Catalogue.open(tmp_path / "s")
    with catalogue.write() as tx:
        spaces.register(tx, DIGEST, {}, DIM)
        contents.add_texts(tx, list(range(3000)), ["x" * 200] * 3000)
    catalogue.close()
    path = tmp_path / "s" / "catalogue.sqlite"
    content = bytearray(path.read_bytes())
    content[-40 * 4096 :] = b"\xa5" * (40 * 4096)
    path.write_bytes(content)
    found = check(tmp_path / "s", catalogue)
    catalogue.close()
    assert {(finding.kind, finding.severity) for finding in found} >= {("catalogue", "damage")}


def test_segment_compacted_away_during_a_check_is_no_finding(stored, monkeypatch):
    """A file that goes with its row while the check runs is not reported."""
    row, path = _text_segment(stored)
    real = segment_files.checksum

    def vanish(checked):
        if checked == path and path.exists():
            with stored.write() as tx:
                segments.remove(tx, [row.name])
            path.unlink()
        return real(checked)

    monkeypatch.setattr(segment_files, "checksum", vanish)
    assert _kinds(stored) == []
