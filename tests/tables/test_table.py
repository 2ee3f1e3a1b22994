from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clipstore.tables import Column, Table, text, tsv
from clipstore.tables.table import one_line, width

ODD = ["[red]bold[/red]", "</b>", "\"quoted\" 'twice'", "\U0001f600 emoji", "two\nlines", "a\ttab", "word " * 300]
COLUMNS = (Column("system", "left"), Column("n"))


def table(*names: str) -> Table:
    """Return a table with a row a name and a signature below."""
    return Table(COLUMNS, tuple((name, str(i)) for i, name in enumerate(names)), ("CLIP-S|model:fake",))


def test_tsv_puts_tabs_between_cells_and_notes_last() -> None:
    """Header, rows, notes; one line each; a final line end."""
    assert tsv(table("a", "b")) == "system\tn\na\t0\nb\t1\nCLIP-S|model:fake\n"


@pytest.mark.parametrize("cell", ODD)
def test_a_cell_is_neither_cut_nor_interpreted(cell: str) -> None:
    """Markup, quotes, emoji and 300 words come through; tabs and line ends are escaped, so a row stays a line."""
    lines = tsv(table(cell)).splitlines()
    assert len(lines) == 3
    assert lines[1] == cell.replace("\t", "\\t").replace("\n", "\\n") + "\t0"
    assert cell.replace("\t", "\\t").replace("\n", "\\n") in text(table(cell))


@settings(max_examples=50)
@given(st.text(alphabet="ab\t\n\r\\ \u2028", max_size=12))
def test_a_cell_stays_on_its_line(cell: str) -> None:
    """Whatever a cell holds, tabs and line ends are escaped; without them it stays as it is."""
    shown = one_line(cell)
    assert not set("\t\n\r") & set(shown)
    if not set("\t\n\r") & set(cell):
        assert shown == cell


def test_text_aligns_columns_by_terminal_cells() -> None:
    """Wide letters take two cells, combining marks none: the second column stands at one place."""
    lines = text(table("ab", "\u6f22\u5b57", "e\u0301e\u0301")).splitlines()[:4]
    ends = {width(line) for line in lines}
    assert len(ends) == 1
    assert width("\u6f22\u5b57") == 4
    assert width("e\u0301") == 1


def test_numbers_stand_right_names_left() -> None:
    """A left column pads after the cell, a right column before it."""
    shown = text(Table(COLUMNS, (("a", "12345"), ("abcdefgh", "7")))).splitlines()
    assert shown == ["system        n", "a         12345", "abcdefgh      7"]
