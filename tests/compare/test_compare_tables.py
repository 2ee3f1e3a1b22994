"""The leaderboard, the grid and the lines below, as text, in a pipe and in the forms of papers."""

import csv
import io
import re

import numpy as np
import pytest
from made import drawn, measured

from clipstore.compare import Style, compare
from clipstore.errors import InputError
from clipstore.significance import Settings
from clipstore.tables import text
from clipstore.tables.table import width

QUICK = Settings(resamples=300)
ODD = "blip_2 & 100%"
BASE = np.random.default_rng(0).normal(0.7, 0.05, 150)
NOISE = np.random.default_rng(1).normal(0, 0.05, 150)


def quick(scores, **more):
    """Compare made-up scores with few resamples."""
    return compare(measured(scores), settings=more.pop("settings", QUICK), **more)


def header(done):
    """Return the headers of the leaderboard."""
    return done.to_pipe().splitlines()[0].split("\t")


def test_without_a_baseline_ranks_and_groups_stand_there():
    """No baseline: rank intervals and groups, no difference, no p in the leaderboard."""
    done = quick(drawn(4, 150))
    assert header(done)[:7] == ["#", "system", "n", "CLIP-S", "95% CI", "ranks", "group"]
    assert not {"Δ", "p(Holm)", "W/T/L"} & set(header(done))


def test_with_a_baseline_difference_p_and_wins_stand_there():
    """With a baseline: difference, corrected p, wins, ties, losses; the family is S - 1."""
    done = quick(drawn(4, 150), baseline="s1")
    assert header(done)[3:8] == ["CLIP-S", "95% CI", "Δ", "p(Holm)", "W/T/L"]
    assert "|holm:3|" in str(done.signature)
    rows = {row.split("\t")[1]: row.split("\t") for row in done.to_pipe().splitlines()[1:5]}
    assert rows["s1"][5:8] == ["baseline", "", ""]
    assert rows["s0"][5].startswith("+")
    assert sum(map(int, rows["s0"][7].split("/"))) == 150


def test_the_best_comes_first_and_the_order_is_said():
    """Default sort: the first metric, descending, and the table says so."""
    done = quick(dict(reversed(drawn(4, 150, step=0.1).items())))
    assert [row[1] for row in done.main()[0][0].rows] == ["s0", "s1", "s2", "s3"]
    assert "sorted by CLIP-S, descending" in done.notes


def test_sorting_by_name():
    """``sort="system"`` sorts by name; an unknown column is named with those there are."""
    done = quick({"b": np.full(20, 0.9), "a": np.full(20, 0.1)}, sort="system")
    assert [row[1] for row in done.main()[0][0].rows] == ["a", "b"]
    with pytest.raises(InputError, match="can't sort by 'size'; there is: clip-s, rank"):
        quick(drawn(2, 20), sort="size")


def test_columns_are_chosen_by_name():
    """``columns`` picks and orders; an unknown one is an error when comparing, not when printing."""
    done = quick(drawn(2, 120), baseline="s0", style=Style(("system", "clip-s", "dz", "win", "delta", "dci")))
    assert header(done) == ["system", "CLIP-S", "d_z", "win", "Δ", "Δ CI"]
    with pytest.raises(InputError, match="no column is called 'cidr'"):
        quick(drawn(2, 120), style=Style(("cidr",)))


def test_digits_and_times_100():
    """``digits`` are those of the raw value; times 100 shows the same number with two fewer."""
    scores = {"a": np.full(30, 0.71234), "b": np.full(30, 0.5)}
    assert quick(scores, style=Style(("clip-s",), 3)).main()[0][0].rows[0] == ("0.712",)
    assert quick(scores, style=Style(("clip-s",), 4, hundred=True)).main()[0][0].rows[0] == ("71.23",)


def test_the_grid_is_numbered_and_turns_round():
    """A cell holds mark, difference and p; its mirror image has the opposite sign; no letters."""
    done = quick(drawn(3, 200, step=0.1), settings=Settings(resamples=2000))
    (grid,) = done.grid()
    assert [column.header for column in grid.columns] == ["#", "system", "1", "2", "3"]
    assert grid.rows[0][2] == grid.rows[1][3] == "."
    assert grid.rows[0][3].startswith("▲+")
    assert grid.rows[1][2] == grid.rows[0][3].replace("▲+", "▼-")


def test_no_difference_is_never_called_equal():
    """Wording: no difference detected at alpha with n, and never the word equal."""
    done = quick({"a": BASE, "b": BASE + NOISE})
    assert "no difference detected at α = 0.05 (n = 150)" in str(done)
    assert "equal" not in str(done).lower().replace("≈", "")
    assert done.pairs[0]["verdict"] == "no difference detected at α = 0.05 (n = 150)"


def test_training_seeds_are_named_once():
    """One note says what the test does not cover."""
    assert str(quick(drawn(3, 150))).count("not training seeds") == 1


def test_groups_are_numbers():
    """Systems that can't be told apart share a group number; others do not."""
    base = np.random.default_rng(1).normal(0.5, 0.05, 300)
    noise = np.random.default_rng(2).normal(0, 0.05, 300)
    done = quick({"a": base, "b": base + noise * 0.1, "c": base - 0.3})
    groups = {row[1]: row[6] for row in done.main()[0][0].rows}
    assert groups["c"] == "2"
    assert groups["a"] == groups["b"] == "1"


def numbers(cell):
    """Return the group numbers that a cell such as ``1-3,5`` names."""
    ends = [part.partition("-") for part in cell.split(",")]
    return {number for low, _, high in ends for number in range(int(low), int(high or low) + 1)}


def test_groups_agree_with_the_grid():
    """Two systems share a group exactly where the grid marks no difference, ranks between them or not; it is said."""
    rng = np.random.default_rng(5)
    shared = rng.normal(0, 0.1, 300)
    noise = {name: rng.normal(0, 1, 300) if name in "cf" else shared + rng.normal(0, 0.01, 300) for name in "abcdef"}
    means = {name: 0.5 - 0.03 * place for place, name in enumerate(noise)}
    done = quick({name: means[name] + values - values.mean() for name, values in noise.items()})
    board, grid = done.main()[0][0], done.grid()[0]
    column = [one.header for one in board.columns].index("group")
    held = [numbers(row[column]) for row in board.rows]
    alike = {(i, j) for i in range(6) for j in range(6) if grid.rows[i][2 + j].startswith("\N{ALMOST EQUAL TO}")}
    assert {(i, j) for i in range(6) for j in range(6) if i != j and held[i] & held[j]} == alike
    assert any((i, j) in alike and (i, i + 1) not in alike for i in range(6) for j in range(i + 2, 6))
    assert "two systems share one exactly where no difference was detected" in str(done)


def test_eighty_columns():
    """On a terminal of 80 columns no line of a table is longer; what was left out is named."""
    done = quick({name * 8: values for name, values in drawn(14, 120).items()})
    tables = [*done.main(80)[0], *done.grid(80)]
    assert all(width(line) <= 80 for table in tables for line in text(table).splitlines())
    assert "left out to fit 80 columns" in done.to_text(80)
    assert "left out to fit" not in str(done)


def test_forty_systems_in_eighty_columns():
    """The grid of 40 systems comes in blocks of columns, each row present in each."""
    done = quick(drawn(40, 20), settings=Settings(resamples=100, cap=100))
    blocks = done.grid(80)
    assert len(blocks) > 1
    assert all(len(block.rows) == 40 for block in blocks)
    assert [column.header for block in blocks for column in block.columns[2:]] == [str(one) for one in range(1, 41)]


def test_a_pipe_gets_tabs_and_nothing_is_wrapped():
    """A name of 300 letters stays on its line; cells are parted by tabs."""
    long = "x" * 300
    lines = quick({long: np.full(120, 0.5), "b": np.full(120, 0.4)}).to_pipe().splitlines()
    assert lines[1].split("\t")[1] == long
    assert "\x1b" not in "".join(lines)


def test_odd_names_survive_every_form():
    """``blip_2 & 100%``: escaped in LaTeX and HTML, as it is elsewhere, a pipe escaped in Markdown."""
    done = quick({ODD: np.full(120, 0.5), "a|b<c>": np.full(120, 0.4)})
    assert r"blip\_2 \& 100\%" in done.to_latex()
    assert "a\\|b" in done.to_markdown()
    assert "a|b&lt;c&gt;" in done._repr_html_()
    rows = list(csv.reader(io.StringIO(done.to_csv())))
    assert [row[1] for row in rows[1:3]] == [ODD, "a|b<c>"]


def test_latex_sets_the_inseparable_best_bold():
    """Bold: the best and whatever Holm does not tell apart from it, no other; booktabs rules, one signature below."""
    base = np.random.default_rng(1).normal(0.5, 0.05, 300)
    done = quick({"a": base, "b": base + 1e-3 * np.tile([1, -1], 150), "c": base - 0.3})
    latex = done.to_latex(caption="Systems", label="tab:s")
    assert latex.count(r"\textbf{") == 2
    assert all(rule in latex for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\caption{Systems}"))
    assert latex.count("signflip") == 1
    assert latex.count("{") == latex.count("}")
    rows = latex[latex.index(r"\toprule") : latex.index(r"\bottomrule")].splitlines()
    cells = [len(re.findall(r"(?<!\\)&", row)) for row in rows if row.endswith(r"\\")]
    assert len(cells) == 4
    assert set(cells) == {len(done.main()[0][0].columns) - 1}


def test_checkpoints_of_one_run_are_noticed():
    """Three names that differ in one number: the best of them is biased upward."""
    names = ["step-1000", "step-2000", "step-3000"]
    done = quick(dict(zip(names, drawn(3, 120).values(), strict=True)))
    assert any("best of 3 is biased upward" in line for line in done.notes)
    assert not any("biased" in line for line in quick({"blip": np.ones(9), "ofa": np.ones(9)}).notes)


def test_the_correction_and_test_are_said():
    """``none`` is said too; the t-test carries its name."""
    done = quick(drawn(3, 150), settings=Settings(resamples=200, test="ttest", correction="none"), baseline="s0")
    assert "p" in header(done)
    assert "p(Holm)" not in header(done)
    assert "paired t-test, no correction" in str(done)
    assert "|test:ttest|uncorrected:2|" in str(done.signature)


def test_the_html_table_has_real_headers():
    """In a notebook: th with scope, everything escaped."""
    html = quick({"<script>": np.ones(5), "b": np.ones(5)})._repr_html_()
    assert "<script>" not in html
    assert 'scope="col"' in html
    assert 'scope="row"' in html
