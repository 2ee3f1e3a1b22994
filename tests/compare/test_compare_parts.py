"""Several eval sets and slices: groups of columns, one family a metric over all that is shown."""

import csv

import numpy as np
import pytest
from made import drawn, measured

from clipstore.compare import compare
from clipstore.compare.slices import source
from clipstore.errors import InputError
from clipstore.significance import Settings

QUICK = Settings(resamples=300)


def tagged(scores, count):
    """Systems on images with a domain each, and one or two references."""
    tags = tuple({"domain": ("in", "near", "out")[row % 3]} for row in range(count))
    return measured(scores, tags=tags, references=tuple(("one", "two")[: 1 + row % 2] for row in range(count)))


def test_sets_make_groups_of_columns():
    """Two sets: one table, a group of columns each, in the first set's order, one signature a column."""
    first, second = measured(drawn(3, 150), name="coco"), measured(drawn(3, 120, seed=9), name="private")
    done = compare([first, second], settings=QUICK)
    (table,), _ = done.main()
    assert [column.group for column in table.columns] == ["", "", "coco (n=150)", "private (n=120)"]
    assert len(done.signed) == 2
    assert done.signed[1].startswith("private: CLIP-S|")
    assert r"\multicolumn" in done.to_latex()


def test_the_family_spans_all_sets():
    """Holm counts the pairs of every set, and corrects them together."""
    first, second = measured(drawn(3, 150), name="a"), measured(drawn(3, 150, seed=5), name="b")
    together = compare([first, second], settings=Settings(resamples=2000))
    alone = compare(first, settings=Settings(resamples=2000))
    assert "|holm:6|" in str(together.signature)
    assert all(
        one["p_adj"] >= other["p_adj"] and one["p"] == other["p"]
        for one, other in zip(together.pairs, alone.pairs, strict=True)
    )


def test_a_system_may_be_in_one_set_only():
    """A system that a set lacks has a dash there."""
    first = measured(drawn(3, 150), name="a")
    second = measured({"s0": np.full(100, 0.5), "s9": np.full(100, 0.4)}, name="b")
    (table,), _ = compare([first, second], settings=QUICK).main()
    rows = {row[1]: row[2:] for row in table.rows}
    assert rows["s1"][1] == "-"
    assert rows["s9"][0] == "-"


def test_slices_hold_every_image_once():
    """A tag cuts the set: the slices' n add up, their means are those of their images."""
    scores = drawn(2, 120)
    done = compare(tagged(scores, 120), slice_by="domain", settings=QUICK)
    slices = done.parts[1:]
    assert [part.slice.value for part in slices] == ["in", "near", "out"]
    assert sum(len(part.measured.items.keys) for part in slices) == 120
    assert slices[0].statistics["clip-s"].systems[0].value == pytest.approx(scores["s0"][::3].mean(), abs=1e-6)
    assert "|slice:domain=in|" in str(slices[0].signature("clip-s"))
    assert "|holm:4|" in str(done.signature)
    assert done.to_dict()["parts"][0]["slice"] == {"field": "domain", "value": "in"}


def test_a_mark_is_explained_where_there_is_one():
    """Text says what a star is, LaTeX, Markdown and HTML what bold is; a pipe, CSV and JSON show no mark and say none."""
    done = compare(tagged(drawn(3, 120), 120), slice_by="domain", settings=QUICK)
    said = "the best of a column and those not to be told apart from it"
    assert f"\n*: {said}" in done.to_text()
    assert f"bold: {said}" in done.to_latex()
    assert f"bold: {said}" in done.to_markdown()
    assert f"bold: {said}" in done._repr_html_()
    assert said not in done.to_pipe() + done.to_csv() + done.to_json()
    plain = compare(tagged(drawn(3, 120), 120), settings=QUICK)
    assert said not in plain.to_text(), "the leaderboard's text has no stars"
    assert f"bold: {said}" in plain.to_latex()


def test_several_sets_say_how_they_were_tested():
    """Below the columns of several sets stand the test, the correction with its family, and the baseline."""
    sets = [measured(drawn(3, 150, seed=seed), name=name) for seed, name in enumerate(("coco", "private"))]
    assert (
        "CLIP-S: paired sign-flip test, Holm over 6 tests of all columns\n" in compare(sets, settings=QUICK).to_pipe()
    )
    said = "CLIP-S: paired sign-flip test, Holm over 4 tests of all columns against the baseline s1\n"
    assert said in compare(sets, baseline="s1", settings=QUICK).to_pipe()


def test_no_mark_is_explained_too():
    """With a baseline nothing is known of the other pairs: no bold, and the table of a paper says why."""
    sets = [measured(drawn(3, 150, seed=seed), name=name) for seed, name in enumerate(("coco", "private"))]
    done = compare(sets, baseline="s1", settings=QUICK)
    assert "no best is set bold: only pairs with the baseline were tested" in done.to_latex()
    assert "no best is marked *" in done.to_text()
    assert "no best" not in done.to_pipe()
    assert "no best" not in compare(sets, baseline="s1", all_pairs=True, settings=QUICK).to_latex()


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_slices_stand_in_csv(form):
    """CSV and TSV hold the slices too: a group of columns each, beside the leaderboard's, in the order of its rows."""
    done = compare(tagged(drawn(3, 120), 120), slice_by="domain", baseline="s1", settings=QUICK)
    header, *rows = list(csv.reader(done.form(form).splitlines(), delimiter="," if form == "csv" else "\t"))[:4]
    assert header[:3] == ["#", "system", "n"]
    assert header[-6:] == [f"{name} (n=40) {what}" for name in ("in", "near", "out") for what in ("CLIP-S", "p")]
    values = {row[1]: row[-2] for row in rows}
    held = done.parts[3].statistics["clip-s"].systems
    assert values == {name: f"{one.value:.4f}" for name, one in zip(done.parts[3].measured.names, held, strict=True)}
    assert {len(row) for row in rows} == {len(header)}


def test_slices_stand_in_latex():
    """LaTeX holds the table of slices after the leaderboard."""
    done = compare(tagged(drawn(3, 120), 120), slice_by="domain", settings=QUICK)
    assert done.to_latex().count(r"\toprule") == 2
    assert r"\multicolumn{1}{c}{near (n=40)}" in done.form("latex")


@pytest.mark.parametrize("field", ["references"])
def test_built_in_slices(field):
    """Number of references: no tag needed."""
    done = compare(tagged(drawn(2, 60), 60), slice_by=field, settings=QUICK)
    assert [part.slice.value for part in done.parts[1:]] == ["1", "2"]


def test_caption_length_is_one_class_for_all_systems():
    """Images are cut by the systems' mean length, so that tests stay paired."""
    given = measured(drawn(2, 4))
    texts = [("a b", "a b", " ".join("x" * 12), "a"), ("a b", "a b c d", " ".join("x" * 9), "a")]
    from dataclasses import replace

    systems = tuple(replace(one, texts=own) for one, own in zip(given.systems, texts, strict=True))
    done = compare(replace(given, systems=systems), slice_by="caption-length", settings=QUICK)
    assert [(part.slice.value, len(part.measured.items.keys)) for part in done.parts[1:]] == [
        ("0-7 words", 3),
        ("8-10 words", 1),
    ]


def test_an_unknown_tag_names_those_there_are():
    """The message lists tags and built-in fields; a field with one value is no slicing."""
    with pytest.raises(InputError, match="there is: domain, caption-length, references, source"):
        compare(tagged(drawn(2, 30), 30), slice_by="colour", settings=QUICK)
    with pytest.raises(InputError, match="every image has the value"):
        compare(measured(drawn(2, 30), tags=({"one": "x"},) * 30), slice_by="one", settings=QUICK)


def test_where_an_image_came_from():
    """Its folder, else its file name up to the number."""
    assert source("val2014/x.jpg") == "val2014"
    assert source("COCO_val2014_000000000974.jpg") == "COCO_val2014"
    assert source("") == "(none)"


def test_a_missing_baseline_is_named():
    """The message lists the systems there are."""
    with pytest.raises(InputError, match=r"no system of a is called 'x' to be the baseline; there is: s0, s1"):
        compare(measured(drawn(2, 30), name="a"), baseline="x", settings=QUICK)


def test_sets_without_a_name_are_told_apart():
    """Two sets read from files: their hashes name the groups."""
    from dataclasses import replace

    first, second = measured(drawn(2, 120)), replace(measured(drawn(2, 110)), set_digest="ab" * 32)
    (table,), _ = compare([first, second], settings=QUICK).main()
    assert [column.group for column in table.columns[2:]] == ["set 9f2c11ab (n=120)", "set abababab (n=110)"]


def test_different_numbers_of_references_are_a_warning():
    """RefCLIP-S of sets with other reference counts is not comparable, and the table says so."""
    from dataclasses import replace

    def with_counts(name, counts):
        one = measured(drawn(2, 120), "ref-clip-s", name=name)
        measure = one.measures["ref-clip-s"]
        fields = (("refs", counts), *measure.signature.fields)
        signed = replace(measure, signature=replace(measure.signature, fields=fields))
        return replace(one, measures={"ref-clip-s": signed})

    done = compare([with_counts("a", "5"), with_counts("b", "5-7")], settings=QUICK)
    assert any("not comparable between these columns: they have 5, 5-7 references" in line for line in done.notes)
    same = compare([with_counts("a", "5"), with_counts("b", "5")], settings=QUICK)
    assert not any("not comparable" in line for line in same.notes)


def test_a_slice_keeps_the_frequencies_of_the_full_set():
    """CIDEr on a slice is the mean of the full set's numbers, and a note says so."""
    tags = tuple({"half": str(row % 2)} for row in range(120))
    done = compare(measured(drawn(2, 120), "cider", tags=tags), slice_by="half", settings=QUICK)
    assert any("document frequencies of the full set" in line for line in done.notes)
