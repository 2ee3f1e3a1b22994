"""``score`` with several ``--model``: the ranking under each, in one table whose columns mix nothing."""

import json

import pytest

from clipstore import EvalSet, Store, score
from clipstore.encoders import fetching, names
from clipstore.evaluate import Rankings
from clipstore.evaluate.own_recipe import own_name

MODELS = ("--model", "fake", "--model", "fake:32")


def test_each_model_has_its_columns_ranks_and_signatures(run, given):
    """The numbers are those of each model alone; ranks follow RefCLIP-S; a line says how many pairs turn round."""
    done = run("score", "a.json", "b.json", *given, *MODELS)
    assert done.code == 0, done.err
    header, first, second = done.rows[:3]
    assert header[3:7] == ["fake CLIP-S", "fake RefCLIP-S", "fake rank", "fake cut"]
    assert header[7:] == ["fake:32 CLIP-S", "fake:32 RefCLIP-S", "fake:32 rank", "fake:32 cut"]
    for place, model in ((3, "fake"), (7, "fake:32")):
        alone = run("score", "a.json", "b.json", *given, "--model", model)
        assert [row[2:4] for row in alone.rows[1:3]] == [row[place : place + 2] for row in (first, second)]
        better = float(first[place + 1]) > float(second[place + 1])
        assert (first[place + 2], second[place + 2]) == (("1", "2") if better else ("2", "1"))
    turned = int(first[5] != first[9])
    assert done.rows[3] == [
        f"fake:32: {turned} of 1 pairs of systems stand the other way round than under fake (by RefCLIP-S)"
    ]
    assert sum("|model:fake|" in line for line in done.out.splitlines()) == 2
    assert sum("|model:fake:32|" in line for line in done.out.splitlines()) == 2


def test_recipes_are_each_model_s_own(run, given):
    """A recipe that is asked for holds for all; the header names it under each."""
    done = run("score", "a.json", *given, *MODELS, "--recipe", "pac-s")
    assert done.rows[0][3:5] == ["fake PAC-S", "fake RefPAC-S"]


def test_json_holds_the_json_of_each(run, given):
    """``models`` is a list, each the JSON of one with its name and ranks."""
    done = run("score", "a.json", "b.json", *given, *MODELS, "--json")
    alone = run("score", "a.json", "b.json", *given, "--model", "fake", "--json").json
    assert done.json["schema"] == 1
    first, second = done.json["models"]
    assert (first["model"], second["model"], first["ranked_by"]) == ("fake", "fake:32", "ref_clip_s")
    assert sorted(first["ranks"].values()) == [1, 2]
    assert first["systems"] == alone["systems"]
    assert second["systems"] != alone["systems"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--model", "fake", "--model", "fake"), "--model fake is given twice"),
        (("--model", "fake", "--model", "fake:64"), "--model fake and --model fake:64 are one model"),
        ((*MODELS, "--weights", "w.pt"), "--weights goes with one --model, and there are 2"),
        ((*MODELS, "--per-image", "o.json"), "--per-image goes with one --model"),
    ],
)
def test_what_can_t_be_ranked_is_refused(run, given, words, says):
    """One model under two names, and what belongs to one model."""
    done = run("score", "a.json", *given, *words)
    assert (done.code, done.out) == (2, "")
    assert says in done.err


def test_another_command_takes_one(run, given):
    """The message says where several may stand."""
    done = run("compare", "a.json", "b.json", *given, *MODELS)
    assert done.code == 2
    assert "--model fake --model fake:32: one model here; only score ranks under several" in done.err


def test_equal_means_share_a_rank(desk):
    """Two systems with the same captions are both first, the third is third; no pair is turned."""
    items = EvalSet.read(images=desk / "images", refs=desk / "refs.json")
    with Store.open(desk / "s") as store:
        systems = {"a": desk / "a.json", "same": desk / "a.json", "b": desk / "b.json"}
        scores = tuple(score(store.space(model), systems, items) for model in ("fake", "fake:32"))
    rankings = Rankings(("fake", "fake:32"), scores)
    for ranks in rankings.ranks():
        assert sorted(rank for rank in ranks if rank is not None) in ([1, 1, 3], [1, 2, 2])
        assert ranks[0] == ranks[1]
    assert rankings.turned()[0][1] == 3


def test_the_note_names_what_each_model_ranks_by(desk):
    """Models whose recipes differ rank by metrics of their own names."""
    items = EvalSet.read(images=desk / "images", refs=desk / "refs.json")
    with Store.open(desk / "s") as store:
        systems = {"a": desk / "a.json", "b": desk / "b.json"}
        clip = score(store.space("fake"), systems, items)
        pac = score(store.space("fake:32"), systems, items, recipe="pac-s")
    (note,) = [note for note in Rankings(("fake", "fake:32"), (clip, pac)).table().notes if "pairs of systems" in note]
    assert note.endswith("than under fake (by RefPAC-S under fake:32, by RefCLIP-S under fake)")


def test_ranks_compare_the_images_that_all_have(run, given, desk):
    """A system without some captions is ranked on the others' same images; a line says on how many."""
    whole = json.loads((desk / "a.json").read_text())
    (desk / "short.json").write_text(json.dumps(dict(list(whole.items())[:3])))
    done = run("score", "a.json", "short.json", *given, *MODELS, "--missing", "skip")
    assert done.code == 0, done.err
    assert [(row[0], row[5], row[9]) for row in done.rows[1:3]] == [("a", "1", "1"), ("short", "1", "1")]
    assert "fake: ranked over the 3 of 5 images that all systems have" in done.out
    alone = run("score", "a.json", *given, *MODELS)
    assert "stand the other way round" not in alone.out


def test_each_kind_of_model_has_its_recipe():
    """What ``clipstore models`` says is what ``score`` does."""
    listed = {one.name: one.recipe for one in fetching.known(every=True)}
    for name, recipe in listed.items():
        if recipe:
            assert own_name(names.parse(name).shown) == recipe
    assert listed["siglip"] == own_name("ViT-B-16-SigLIP/webli") == "raw"
    assert listed["ViT-L-14/openai"] == "hessel2021"
