"""A system's own ids go out as they came in, where they follow from the set by one rule."""

from __future__ import annotations

from pathlib import Path

import drawn
import pytest

from clipstore import EvalSet, Store
from clipstore.evalset import ids_of, save
from clipstore.formats import read_captions

N = 4
FORMS = {
    "number": lambda i: i,
    "number as text": str,
    "digits": lambda i: f"{i:06d}",
    "stem": drawn.name,
    "name": lambda i: f"{drawn.name(i)}.png",
    "path": lambda i: f"sub/{drawn.name(i)}.png",
    "path from elsewhere": lambda i: f"/data/x/sub/{drawn.name(i)}.png",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("keys", ["stem", "name", "number"])
def test_ids_go_out_as_they_came_in(store: Store, tmp_path: Path, form: str, keys: str) -> None:
    """Whatever the set goes by, the system's file gets its ids back, types included."""
    drawn.draw(tmp_path / "images" / "sub", N)
    refs = [{"image_id": FORMS[keys](i), "caption": f"reference {i}"} for i in range(N)]
    evalset = EvalSet.read(images=tmp_path / "images", refs=refs)
    captions = read_captions([{"image_id": FORMS[form](i), "caption": f"caption {i}"} for i in range(N)])
    save(store, "mine", evalset, {"x": captions}, store.identify(evalset.images()).ids)
    loaded = EvalSet.load(store, "mine")
    own = ids_of(store, loaded, "x")
    assert [own.get(FORMS[keys](i), FORMS[keys](i)) for i in range(N)] == [FORMS[form](i) for i in range(N)]
    assert bool(own) == (form != keys)


def test_ids_of_an_annotation_file_go_out_as_they_came_in(store: Store, tmp_path: Path) -> None:
    """Other ids of the references, such as imgid, are a rule too."""
    drawn.draw(tmp_path / "images", N)
    images = [
        {"filename": f"{drawn.name(i)}.png", "imgid": N - i, "split": "test", "sentences": [{"raw": "x"}]}
        for i in range(N)
    ]
    evalset = EvalSet.read(images=tmp_path / "images", refs={"images": images})
    captions = read_captions([{"image_id": N - i, "caption": f"caption {i}"} for i in range(N)])
    save(store, "mine", evalset, {"x": captions}, store.identify(evalset.images()).ids)
    own = ids_of(store, EvalSet.load(store, "mine"), "x")
    assert [own[f"{drawn.name(i)}.png"] for i in range(N)] == [N - i for i in range(N)]


def test_ids_that_follow_no_rule_are_the_sets(store: Store, tmp_path: Path) -> None:
    """Where case differs here and there, the set's own ids stand for them."""
    drawn.draw(tmp_path / "images", N)
    evalset = EvalSet.read(images=tmp_path / "images", refs=drawn.references(N))
    odd = {name.upper() if row % 2 else name: "words" for row, name in enumerate(drawn.captions(N))}
    save(store, "mine", evalset, {"x": read_captions(odd)}, store.identify(evalset.images()).ids)
    assert ids_of(store, EvalSet.load(store, "mine"), "x") == {}
