"""Every real file at hand is recognised, read whole, and matched. Skipped where the material is absent."""

from __future__ import annotations

from pathlib import Path

from clipstore.formats import describe, image_files, match, match_keys, read_captions, read_references


def test_coco200_systems_meet_their_photographs(shared_data: Path) -> None:
    """All 14 systems of 200 photographs match by the number in the file name; two miss one image."""
    files = image_files(shared_data / "coco200" / "images")
    references = read_references(shared_data / "coco200" / "references.json")
    assert (len(files), len(references.ids)) == (200, 200)
    assert match(references.ids, files).kind == "number in file name"
    counts = {}
    for path in sorted((shared_data / "coco200" / "systems").iterdir()):
        captions = read_captions(path)
        matched = match(captions.ids, files)
        counts[path.stem] = len(captions.ids)
        assert describe(captions, matched) == (
            f"{path.name}: COCO results, {counts[path.stem]} captions, ids = number in file name, "
            f"{counts[path.stem]}/{counts[path.stem]} matched"
        )
        assert not match_keys(captions.ids, references.ids).unmatched
    assert sorted(counts.values()) == [199, 199] + [200] * 12


def test_karpathy_systems_meet_the_annotations(shared_data: Path) -> None:
    """13 systems meet 5,000 images with 25,010 references; two cover 4,982."""
    references = read_references(shared_data / "karpathy" / "annotations.json")
    assert references.format == "COCO annotations"
    assert (len(references.ids), sum(map(len, references.texts))) == (5000, 25010)
    assert references.file_names is not None
    assert references.file_names[391895] == "COCO_val2014_000000391895.jpg"
    counts = []
    for path in sorted((shared_data / "karpathy" / "systems").iterdir()):
        captions = read_captions(path)
        counts.append(len(match_keys(captions.ids, references.ids).by_id()))
    assert sorted(counts) == [4982, 4982] + [5000] * 11


def test_flickr30k_systems_meet_stems(shared_data: Path) -> None:
    """16 systems by file stem; the eleven with log-probabilities keep them, of unknown kind."""
    references = read_references(shared_data / "flickr30k" / "references.json")
    files = [f"{key}.jpg" for key in references.ids]
    scored = 0
    for path in sorted((shared_data / "flickr30k" / "systems").iterdir()):
        captions = read_captions(path)
        assert match(captions.ids, files).kind == "stem of file name"
        scored += captions.score_kind == "unknown"
    assert scored == 11


def test_nbest_files_keep_every_candidate(shared_data: Path) -> None:
    """Ten samples of 5,000 images, and NeuralTalk's two best."""
    samples = read_captions(shared_data / "nbest" / "coco_10_samples.json")
    assert describe(samples) == "coco_10_samples.json: n-best rows, 50,000 captions of 5,000 images (n-best)"
    assert samples.ranks is not None
    assert samples.ranks[:12] == [*range(10), 0, 1]
    two = read_captions(shared_data / "nbest" / "coco_2_best.json")
    assert (two.format, len(two.texts), len(set(two.ids))) == ("NeuralTalk blobs", 10000, 5000)


def test_flickr_token_file_is_whole(shared_data: Path) -> None:
    """40,460 captions of 8,092 images, one of which has two dots and an inner ``.jpg.1``."""
    references = read_references(shared_data / "flickr8k" / "Flickr8k.token.txt")
    assert (references.format, len(references.ids), sum(map(len, references.texts))) == (
        "Flickr token file",
        8092,
        40460,
    )
    assert [key for key in references.ids if not str(key).endswith(".jpg")] == ["2258277193_586949ec62.jpg.1"]


def test_odd_images_are_all_listed(shared_data: Path) -> None:
    """All 46 odd files are listed, and the table beside them is not."""
    found = image_files(shared_data / "odd_images")
    assert len(found) == 46
    assert "TABLE.tsv" not in found


def test_official_example_is_read(shared_data: Path) -> None:
    """The example of the official code: two images, references, good candidates."""
    folder = shared_data / "clipscore_example"
    files = image_files(folder / "images")
    captions = read_captions(folder / "good_captions.json")
    assert match(captions.ids, files).paths == ["image1.jpg", "image2.jpg"]
    assert [len(texts) for texts in read_references(folder / "refs.json").texts] == [3, 3]
