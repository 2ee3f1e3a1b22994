"""Indexing a folder of odd images: each failure is named with its reason, the rest is scored."""

from __future__ import annotations

import csv
import json
import shutil

import drawn
import numpy as np

from clipstore import Store
from clipstore.items import Image


def test_a_folder_of_odd_images_is_indexed_as_far_as_it_goes(run, desk, shared_data):
    """Of 46 real odd files those that Pillow can't read fail by name, exit 1; the vectors of the rest are unit."""
    source, odd = shared_data / "odd_images", desk / "odd"
    with (source / "TABLE.tsv").open(encoding="utf-8") as file:
        table = {row["file"]: row["result"] for row in csv.DictReader(file, delimiter="\t")}
    odd.mkdir()
    for name in table:
        shutil.copyfile(source / name, odd / name)
    (odd / "zero.jpg").touch()
    (odd / "folder.jpg").mkdir()
    shutil.copyfile(source / "pillow__hopper.jpg", odd / "UPPER.JPG")
    bad = {name for name, result in table.items() if result != "ok"} | {"zero.jpg", "folder.jpg"}
    every = sorted(table.keys() | {"zero.jpg", "folder.jpg", "UPPER.JPG"})
    (desk / "odd.json").write_text(json.dumps({name: f"thing {row}" for row, name in enumerate(every)}))
    done = run("score", "odd.json", "--images", "odd", "--model", "tiny")
    assert done.code == 1
    assert done.rows[1][:2] == ["odd", f"{len(every) - len(bad)}/{len(every)}"]
    listed = run("ls", "failures").rows[1:]
    assert {row[0].rpartition("/")[2] for row in listed} == bad
    assert all(row[1] for row in listed)
    assert all(f"error: {name}: " in done.err for name in bad)
    assert "scaled from 16 bit" in done.err
    again = run("score", "odd.json", "--images", "odd", "--model", "tiny")
    assert f" cached, {len(bad)} failed; " in again.err
    with Store.open(".clipstore") as store:
        space = store.space("tiny")
        found = space.ensure_images([Image(odd / name, name) for name in every if name not in bad])
        vectors = space.gather_images(np.array(found.ids, np.int64))
    assert found.encoded == 0
    assert np.isfinite(vectors).all()
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_set_leaves_out_what_can_not_be_read_when_asked(run, given, desk):
    """A folder called like an image has no content to save: refused with what to do, or left out and named."""
    victim = desk / "images" / f"{drawn.name(2)}.png"
    victim.unlink()
    victim.mkdir()
    refused = run("add", "-t", "mine", *given, "a.json", "--model", "fake")
    assert refused.code == 2
    assert "1 image can't be read, so the set can't be saved" in refused.err
    assert "--missing skip" in refused.err
    done = run("add", "-t", "mine", *given, "a.json", "--model", "fake", "--missing", "skip")
    assert done.code == 0
    assert f"left out: {victim.name}: is a folder" in done.err
    assert run("score", "-t", "mine", "--model", "fake").rows[1][:2] == ["a", "4"]
