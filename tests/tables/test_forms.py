"""Markdown, LaTeX and CSV, and groups of columns: escaped, bold, and read back by a parser."""

import csv as standard
import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from clipstore.tables import FORMS, Column, Table, csv, latex, markdown, text, tsv

NAME = "blip_2 & 100%"
ODD = '\\a_b & 100% #1 $x$ {y} z~ ^w | <b> "q" *e* `c` [l](u) -- &amp;'


def table(*rows, bold=(), notes=(), groups=("", "COCO", "COCO", "nocaps_near")):
    """Return a table of a name and three numbers."""
    headers = ("system", "CLIP-S", "Δ", "CIDEr")
    columns = tuple(
        Column(header, "left" if i == 0 else "right", group)
        for i, (header, group) in enumerate(zip(headers, groups, strict=True))
    )
    return Table(columns, rows, notes, frozenset(bold))


def plain(*rows, **more):
    """Return the same without groups."""
    return table(*rows, groups=("",) * 4, **more)


def read_markdown(source):
    """Return the cells that a Markdown parser shows, one list a row, and the list items below."""
    tokens = MarkdownIt("commonmark").enable("table").parse(source)
    rows, items, kind = [], [], None
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        if token.type in {"th_open", "td_open", "list_item_open"}:
            kind = token.type
        if token.type == "inline":
            shown = "".join(
                "\n" if part.tag == "br" or part.content == "<br>" else part.content for part in token.children
            )
            (items if kind == "list_item_open" else rows[-1]).append(shown)
    return rows, items


def read_latex(source):
    """Return the cells of the rows between the middle and the bottom rule."""
    body = source.split("\\midrule\n")[1].split("\\bottomrule")[0]
    return [re.split(r"(?<!\\) & ", line.removesuffix(" \\\\")) for line in body.strip().splitlines()]


def test_markdown_by_hand():
    """Names with & and % stay readable; bold cells are starred; notes stand below."""
    made = markdown(plain((NAME, "0.7", "-0.1", "1"), bold={(0, 1)}, notes=("CLIP-S|n:1|prefix:A_photo",)))
    assert made == (
        "| system | CLIP-S | Δ | CIDEr |\n| :--- | ---: | ---: | ---: |\n"
        "| blip_2 & 100% | **0.7** | -0.1 | 1 |\n\n- CLIP-S|n:1|prefix:A_photo\n"
    )


@pytest.mark.parametrize("name", [NAME, ODD, "_lead_ and trail_", "a|b", "**x**", "\\|", "&lt;", "a\\", "~~s~~"])
def test_markdown_is_read_back(name):
    """A Markdown parser shows each name as it was."""
    rows, _ = read_markdown(markdown(plain((name, "1", "2", "3"), bold={(0, 1)})))
    assert rows == [["system", "CLIP-S", "Δ", "CIDEr"], [name, "1", "2", "3"]]


def test_markdown_line_ends():
    """A line end in a cell keeps the row whole; in a note it becomes a space."""
    rows, items = read_markdown(markdown(plain(("a\nb\r\nc", "1", "2", "3"), notes=("x\ny", "z | _w_"))))
    assert rows[1][0] == "a\nb\nc"
    assert items == ["x y", "z | _w_"]


@pytest.mark.parametrize("note", ["# a", "> a", "+ a", "- a", "1. a", "12) a", "-0.5 is less"])
def test_markdown_note_is_text(note):
    """A note that begins like a heading or a list is still a note."""
    assert read_markdown(markdown(plain(notes=(note,))))[1] == [note]


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=12))
def test_markdown_of_any_name(name):
    """Whatever signs a name is made of, its row has four cells and shows the name."""
    rows, _ = read_markdown(markdown(plain((name, "1", "2", "3"))))
    assert rows[1] == [name, "1", "2", "3"]


def test_latex_by_hand():
    """Rules of booktabs, groups over their columns, escaped names, bold cells, small print."""
    made = latex(table((NAME, "0.7", "-0.1", "1"), bold={(0, 1)}, notes=("CLIP-S|w:2.5",)))
    assert made.split("\n") == (
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{tabular}{lrrr}",
            r"\toprule",
            r" & \multicolumn{2}{c}{COCO} & \multicolumn{1}{c}{nocaps\_near} \\",
            r"\cmidrule(lr){2-3}\cmidrule(lr){4-4}",
            r"system & CLIP-S & $\Delta$ & CIDEr \\",
            r"\midrule",
            r"blip\_2 \& 100\% & \textbf{0.7} & $-$0.1 & 1 \\",
            r"\bottomrule",
            r"\end{tabular}",
            "",
            r"\smallskip",
            r"{\footnotesize\noindent CLIP-S\textbar{}\allowbreak{}w:2.5\par}",
            "",
        ]
    )


def test_latex_escapes_all():
    """No sign that LaTeX reads as an order is left bare, in cells, headers, groups, notes and caption."""
    signs = "\\_&%#${}~^|<>"
    made = latex(Table((Column(signs, "left", signs),), ((signs,),), (signs,)), caption=signs)
    escaped = r"\textbackslash{}\_\&\%\#\$\{\}\textasciitilde{}\textasciicircum{}\textbar{}\textless{}\textgreater{}"
    assert made.replace(r"\allowbreak{}", "").count(escaped) == 5
    left = made.replace(r"\allowbreak{}", "").replace(escaped, "").replace(r"\\", "")
    assert not set("_&#$~^|<>") & set(left)
    assert left.count("%") == 1


def test_latex_braces_balance():
    """Braces open and close in equal number whatever the names are."""
    made = re.sub(r"\\[{}]", "", latex(table((ODD, "}", "{", "{}"), notes=("}}",)), caption="{"))
    assert made.count("{") == made.count("}")


@pytest.mark.parametrize("first", ["[1-3]", "*", "* x"])
def test_latex_row_after_a_break(first):
    r"""A row that begins with [ or * is not taken for an argument of the \\ above."""
    (_, row) = read_latex(latex(plain(("a", "1", "2", "3"), (first, "1", "2", "3"))))
    assert row[0] == "{}" + first


def test_latex_signs():
    """Signs of numbers are minus and plus, not hyphens; words, ranges and dates keep theirs; dashes don't join."""
    (row,) = read_latex(latex(plain(("a--b", "-0.5", "+.1", "0.1-0.2"))))
    assert row == ["a-{}-b", "$-$0.5", "$+$.1", "0.1-0.2"]
    (row,) = read_latex(latex(plain(("-x", "---", "▲≈▼", "±1"))))
    assert row == ["-x", "-{}-{}-", r"$\uparrow$$\approx$$\downarrow$", r"$\pm$1"]


def test_latex_float():
    """A caption makes a float, with a label where one is given."""
    made = latex(plain(("a", "1", "2", "3")), caption="100% of it", label="tab:all")
    assert "\\begin{table}[t]\n\\centering\n\\caption{100\\% of it}\n\\label{tab:all}\n" in made
    assert made.endswith("\\end{table}\n")


def test_empty_cell_is_not_bold():
    """An empty cell is left empty, bold or not."""
    one = plain(("a", "", "2", "3"), bold={(0, 1)})
    assert "****" not in markdown(one)
    assert "textbf" not in latex(one)


def test_csv_is_read_back():
    """Quotes, commas and line ends come back through the csv module; groups go before their headers."""
    rows = [('say "hi", he', "1", "a\nb", "3"), (ODD, "", "-0.1", " ")]
    made = csv(table(*rows, notes=("CLIP-S|a,b", "x")))
    read = list(standard.reader(io.StringIO(made)))
    assert read[0] == ["system", "COCO CLIP-S", "COCO Δ", "nocaps_near CIDEr"]
    assert [tuple(row) for row in read[1:3]] == rows
    assert read[3:] == [["CLIP-S|a,b"], ["x"]]


def test_text_groups():
    """Groups stand above their columns, ruled to their width, and widen a column that is too narrow."""
    made = text(table(("a", "0.71", "+0.01", "1")))
    assert made.splitlines() == [
        "        --- COCO ----  nocaps_near",
        "system  CLIP-S      Δ        CIDEr",
        "a         0.71  +0.01            1",
    ]


def test_tsv_groups():
    """TSV has one line of headers, groups before them, and shows bold cells plain."""
    made = tsv(table(("a", "1", "2", "3"), bold={(0, 1)}))
    assert made == "system\tCOCO CLIP-S\tCOCO Δ\tnocaps_near CIDEr\na\t1\t2\t3\n"


@pytest.mark.parametrize("form", sorted(FORMS))
def test_every_form_shows_every_cell(form):
    """Each form of one table holds each number and each note, also without rows."""
    full = FORMS[form](plain(("name", "0.1234", "0.5", "7"), notes=("note",)))
    assert all(cell in full for cell in ("name", "0.1234", "0.5", "7", "note", "CIDEr"))
    assert "CIDEr" in FORMS[form](plain())


def test_row_of_forty_systems():
    """Forty rows stay forty rows in each form."""
    many = plain(*((f"s{i}", "1", "2", "3") for i in range(40)))
    assert len(read_markdown(markdown(many))[0]) == 41
    assert len(read_latex(latex(many))) == 40
