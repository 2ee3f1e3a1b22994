"""``clipstore store`` and ``clipstore rm``, as a user runs them."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import drawn
import numpy as np
import pytest

from clipstore import Store
from clipstore.storage import compact
from clipstore.storage.catalogue import segments


@pytest.fixture
def filled(run, given, desk):
    """The desk's store, with an eval set and two systems."""
    assert run("add", "-t", "one", *given, "a.json", "b.json").code == 0
    return desk / ".clipstore"


def _flip(path: Path) -> bytes:
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    return whole


def test_verify_finds_a_sound_store_sound(run, filled):
    """Exit 0, nothing on stdout."""
    done = run("store", "verify")
    assert (done.code, done.out) == (0, "")
    assert "all is sound" in done.err


def test_verify_names_damage_with_its_remedy_and_mends_it(run, filled, given):
    """A flipped bit: exit 1 and a line that ends in the remedy; --repair sets it aside, add encodes again."""
    path = next((filled / "vectors").glob("*/text/*.faiss"))
    _flip(path)
    done = run("store", "verify")
    assert done.code == 1
    (row,) = done.rows[1:]
    assert row[:3] == ["damage", str(path.relative_to(filled)), "checksum"]
    assert "verify --repair" in row[4]
    assert run("store", "verify", "--json").json["findings"][0]["kind"] == "checksum"
    mended = run("store", "verify", "--repair")
    assert mended.code == 0
    assert [row[0] for row in mended.rows[1:]] == ["done"]
    assert run("store", "verify").code == 0
    assert run("score", "-t", "one").code == 0


def test_verify_rebuilds_a_lost_catalogue(run, filled, given):
    """Without its catalogue a store is refused with a remedy; the remedy brings every vector back."""
    (filled / "catalogue.sqlite").unlink()
    refused = run("ls")
    assert refused.code == 2
    assert "verify --repair" in refused.err
    assert run("store", "verify").code == 1
    assert run("store", "verify", "--repair").code == 0
    done = run("add", "-t", "one", *given, "a.json", "b.json")
    assert done.code == 0
    assert "all cached" in done.err
    assert "0 encoded" in done.err


def test_verify_makes_no_store(run, desk):
    """Where there is none: exit 2."""
    assert run("store", "verify").code == 2
    assert not (desk / ".clipstore").exists()


def test_images_are_compared_with_the_papers_checksums(run, filled, desk):
    """md5sum's format; an image with other bytes is exit 1, one that is not here a note."""
    lines = [
        f"{hashlib.md5(path.read_bytes()).hexdigest()}  images/{path.name}"
        for path in sorted((desk / "images").glob("*.png"))[:3]
    ]
    Path("list.md5").write_text("\n".join([*lines, f"{'0' * 32}  images/nowhere.png"]) + "\n")
    done = run("store", "verify", "--images-md5", "list.md5")
    assert done.code == 0
    assert "3 images are identical, 0 differ or can't be read, 1 are not here" in done.err
    assert [row[2] for row in done.rows[1:]] == ["image identical"] * 3 + ["image unknown"]
    assert [row[0] for row in done.rows[1:]] == ["same"] * 3 + ["note"]
    assert done.rows[1][1].endswith(f"images/{drawn.name(0)}.png")
    Path("list.md5").write_text(f"{'0' * 32}  images/{drawn.name(1)}.png\n")
    assert run("store", "verify", "--images-md5", "list.md5", "--images", ".").code == 1
    Path("list.md5").write_text("no list\n")
    assert run("store", "verify", "--images-md5", "list.md5").code == 2


def test_of_images_of_one_name_an_identical_one_counts(run, filled, given, desk):
    """A file that was saved again elsewhere under its name does not hide the paper's own."""
    name = f"{drawn.name(1)}.png"
    (desk / "again").mkdir()
    drawn.picture(77).save(desk / "again" / name)
    drawn.write_json(desk / "one.json", {drawn.name(1): "words"})
    assert run("score", "one.json", "--images", "again").code == 0
    digest = hashlib.md5((desk / "images" / name).read_bytes()).hexdigest()
    for folder in ("again", "elsewhere"):
        Path("list.md5").write_text(f"{digest}  {folder}/{name}\n")
        done = run("store", "verify", "--images-md5", "list.md5")
        assert done.code == 0
        assert done.rows[1][1].endswith(f"images/{name}")


def test_images_agree_with_a_real_list(run, filled, shared_data):
    """The paper's own lists are read; none of their images is at this desk."""
    listed = shared_data / "checksums" / "pascal_50s_checksum.txt"
    done = run("store", "verify", "--images-md5", listed)
    assert done.code == 0
    assert len(done.rows) - 1 == len(listed.read_text().splitlines())


def test_compact_makes_one_segment(run, filled):
    """Each space and modality is one segment afterwards, and a score is what it was."""
    before = run("score", "-t", "one", "--json").json["systems"]
    done = run("store", "compact")
    assert done.code == 0
    assert "segments are now 1" in done.err
    with Store.open(filled) as store, store.catalogue.read() as tx:
        assert sorted(row.modality for row in segments.all(tx)) == ["image", "text"]
    assert run("score", "-t", "one", "--json").json["systems"] == before
    assert "nothing to compact" in run("store", "compact").err


def test_gc_is_a_dry_run_unless_yes(run, filled):
    """It says how much, takes nothing; with --yes it takes what nothing names, and young things never."""
    assert run("rm", "b", "-t", "one").code == 0
    assert run("store", "gc", "--json").json["vectors"] == 0
    would = run("store", "gc", "--unused-for", "0", "--json").json
    assert (would["dry_run"], would["vectors"], would["texts"]) == (True, 5, 5)
    assert run("store", "gc", "--unused-for", "0", "--yes", "--dry-run", "--json").json == would
    done = run("store", "gc", "--unused-for", "0", "--yes")
    assert done.rows[1] == ["vectors", "5"]
    assert run("store", "gc", "--unused-for", "0", "--json").json["vectors"] == 0
    assert "0 encoded" in run("score", "-t", "one", "--no-encode").err


def test_gc_keeps_what_a_score_on_the_spot_used(run, filled, given):
    """A run's captions stay, though no set names them."""
    drawn.write_json(Path("c.json"), drawn.captions(5, "words on the spot about"))
    assert run("score", "c.json", *given).code == 0
    assert run("store", "gc", "--unused-for", "0", "--json").json["vectors"] == 0
    assert run("store", "gc", "--unused-for", "0", "--forget-runs", "0", "--json").json["vectors"] == 5


def test_gc_leaves_a_base_alone(run, filled):
    """Marked as a base: refused, until it no longer is one."""
    assert run("store", "init", "--as-base").code == 0
    refused = run("store", "gc", "--yes", "--unused-for", "0")
    assert refused.code == 2
    assert "base" in refused.err
    assert run("store", "init", "--no-as-base").code == 0
    assert run("store", "gc").code == 0


def test_rm_takes_a_system_or_a_set(run, filled, given):
    """By name; where a name is in several sets it asks for -t; what is not there is an error with a remedy."""
    run("add", "-t", "two", *given, "a.json")
    assert "give -t SET" in run("rm", "a").err
    assert run("rm", "a", "-t", "two").code == 0
    assert run("rm", "b").code == 0
    assert [row[:2] for row in run("ls", "systems").rows[1:]] == [["one", "a"]]
    assert run("rm", "one").code == 0
    assert [row[0] for row in run("ls").rows[1:]] == ["two"]
    missing = run("rm", "one")
    assert missing.code == 2
    assert "clipstore ls" in missing.err


def test_relink_follows_a_moved_folder(run, filled, desk, monkeypatch):
    """Moved images are found again under another model, after their folder is named anew."""
    shutil.move(desk / "images", desk / "pictures")
    lost = run("score", "-t", "one", "--model", "fake:32")
    assert lost.code != 0
    done = run("store", "relink", "images", "pictures")
    assert done.code == 0
    assert "image files are now looked for" in done.err
    assert run("score", "-t", "one", "--model", "fake:32").code == 0
    again = run("store", "relink", "images", "pictures")
    assert again.code == 2
    assert f"no image file is known there; the store knows {desk / 'pictures'}" in again.err
    assert "there is no such folder" in run("store", "relink", "pictures", "nowhere").err


@pytest.mark.parametrize("kind", ["parquet", "npy"])
def test_an_export_scores_elsewhere(run, filled, kind, given):
    """Vectors go out and into another store, where the same files are scored without encoding."""
    assert run("store", "export", "out", "--format", kind).code == 0
    assert run("store", "import", "out", "--store", "other").code == 0
    here, there = (run("score", "a.json", *given, "--store", one, "--json").json for one in (".clipstore", "other"))
    assert here["systems"] == there["systems"]
    assert "0 encoded" in run("score", "a.json", *given, "--store", "other", "--no-encode").err


def test_a_full_copy_scores_without_images(run, filled, desk):
    """The copy knows set, systems and model; no image, caption file or encoder is needed."""
    before = run("score", "-t", "one", "--json").json["systems"]
    done = run("store", "export", "--full", "copy")
    assert done.code == 0
    shutil.rmtree(filled)
    shutil.rmtree(desk / "images")
    assert run("score", "-t", "one", "--store", "copy", "--no-encode", "--json").json["systems"] == before


def test_an_overlay_is_searched_and_exported_with_its_base(run, filled):
    """What the base holds is found and goes out; a full copy says that it is not in it, and serves all the same."""
    assert run("store", "init", "--store", "mine", "--base", ".clipstore").code == 0
    query = ("search", "a caption of picture 1", "--in", "captions", "--json", "--model", "fake")
    assert run(*query, "--store", "mine").json["queries"] == run(*query).json["queries"] != []
    assert sorted(run("store", "export", "out", "--store", "mine").err.splitlines()[-2:]) == sorted(
        run("store", "export", "out").err.splitlines()[-2:]
    )
    done = run("store", "export", "--full", "copy", "--store", "mine")
    assert "it rests on the same base stores, which are not in it: 1" in done.err
    assert run(*query, "--store", "copy").json["queries"] == run(*query).json["queries"]


def test_merge_brings_sets_and_vectors(run, filled, given):
    """Another store's set is scored here without encoding; equal names with other content are refused."""
    drawn.write_json(Path("c.json"), drawn.captions(5, "other words about"))
    run("add", "-t", "two", *given, "c.json", "--store", "other")
    done = run("store", "merge", "other")
    assert done.code == 0
    assert "1 eval sets and 1 systems are new" in done.err
    assert run("score", "-t", "two", "--no-encode").code == 0
    drawn.write_json(Path("c.json"), drawn.captions(5, "changed words about"))
    run("add", "-t", "two", "c.json", "--store", "other", "--replace")
    assert run("store", "merge", "other").code == 2


def test_a_store_rests_on_a_base(run, filled):
    """Its set is scored in the new store, which encodes only what the base lacks."""
    assert run("store", "init", "--store", "mine", "--base", ".clipstore").code == 0
    assert run("score", "-t", "one", "--store", "mine", "--no-encode").code == 0
    drawn.write_json(Path("c.json"), drawn.captions(5, "new words about"))
    done = run("add", "-t", "one", "c.json", "--store", "mine")
    assert "5 distinct of 5 captions: 5 encoded" in done.err
    assert ", on 1 base store" in done.err
    below, mine = run("info", "--json").json["store"], run("info", "--store", "mine", "--json").json
    assert mine["bases"] == [{"store": ".clipstore", "images": below["images"], "texts": below["texts"]}]
    assert ["base", f".clipstore: 5 images, {below['texts']} texts", "store.toml"] in run(
        "info", "--store", "mine"
    ).rows
    (lower,), (upper,) = (run("ls", "models", *more, "--json").json["models"] for more in ([], ["--store", "mine"]))
    assert (upper["images"], upper["texts"]) == (lower["images"], lower["texts"] + 5)
    assert run("ls", "systems", "--json").json["systems"] == [
        row for row in run("ls", "systems", "--store", "mine", "--json").json["systems"] if row["system"] != "c"
    ]


def test_half_precision_is_chosen_and_its_error_told(run, given):
    """``init --dtype float16``; ``info`` says by how much CLIP-S moves, and scores differ by no more."""
    assert run("store", "init", "--dtype", "float16").code == 0
    run("add", "-t", "one", *given, "a.json")
    (row,) = [row for row in run("info").rows if row[0].startswith("float16")]
    error = float(row[1].rpartition(" ")[2])
    run("add", "-t", "one", *given, "a.json", "--store", "exact")
    half, exact = (
        run("score", "-t", "one", "--store", one, "--json").json["systems"][0]["metrics"]["clip_s"]["mean"]
        for one in (".clipstore", "exact")
    )
    assert 0 < error < 5e-3
    assert abs(half - exact) <= error
    assert run("store", "init", "--dtype", "float32").code == 2


def test_a_spooled_addition_is_adopted(run, filled):
    """``add --spool`` writes beside the store; the next command that opens it has the system."""
    drawn.write_json(Path("c.json"), drawn.captions(5, "spooled words about"))
    before = (filled / "catalogue.sqlite").read_bytes()
    assert run("add", "-t", "one", "c.json", "--spool").code == 0
    assert (filled / "catalogue.sqlite").read_bytes() == before
    assert len(list((filled / "incoming").iterdir())) == 1
    assert [row[1] for row in run("ls", "systems").rows[1:]] == ["a", "b", "c"]
    assert run("score", "-t", "one", "c", "--no-encode").code == 0


def test_init_refuses_a_password(run, desk):
    """A password does not belong into a file: refused, and no file with it stays."""
    done = run("store", "init", "--catalogue", "postgresql://me:secret@host/db")
    assert done.code == 2
    assert "secret" not in done.err
    assert not (desk / ".clipstore" / "store.toml").exists()


def test_many_small_adds_leave_few_segments(run, given, desk):
    """Thirty additions of one caption each leave a handful of segments."""
    run("add", "-t", "one", *given, "a.json")
    with Store.open(desk / ".clipstore") as store:
        space = store.space("fake")
        for number in range(30):
            space.ensure_texts([f"caption {number}"])
        assert len(space.shelf("text").names) < compact.FANOUT * 3
        gathered = space.gather_texts(space.text_keys([f"caption {number}" for number in range(30)]))
    assert np.isfinite(gathered).all()
    assert json.loads(run("store", "gc", "--json").out)["files_too_young"] > 0


@pytest.mark.parametrize(
    "words",
    [
        ["store", "verify"], ["store", "gc"], ["store", "audit", "--model", "fake"], ["info"], ["ls"], ["ls", "models"],
        ["models"], ["selftest", "--model", "tiny"], ["show", drawn.name(2), "-t", "one", "--model", "fake"], ["score", "-t", "one"],
        ["search", "a caption", "--model", "fake"],
    ],
)  # fmt: skip
def test_json_says_its_schema(run, filled, words):
    """Every command's JSON is an object that says which layout it has."""
    assert run(*words, "--json").json["schema"] == 1
