r"""A table in LaTeX, with the rules of ``booktabs``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clipstore.tables.table import Table

_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "|": r"\textbar{}",  # the usual fonts of text have other signs at these three places
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        **{mark: "\\" + mark for mark in "_&%#${}"},
        "\n": " ",
        "\r": " ",
        "\t": " ",
        "\N{GREEK CAPITAL LETTER DELTA}": r"$\Delta$",
        "\N{GREEK SMALL LETTER ALPHA}": r"$\alpha$",
        "\N{GREEK SMALL LETTER TAU}": r"$\tau$",
        "\N{BLACK UP-POINTING TRIANGLE}": r"$\uparrow$",
        "\N{BLACK DOWN-POINTING TRIANGLE}": r"$\downarrow$",
        "\N{ALMOST EQUAL TO}": r"$\approx$",
        "\N{PLUS-MINUS SIGN}": r"$\pm$",
        "\N{MULTIPLICATION SIGN}": r"$\times$",
        "\N{MINUS SIGN}": "$-$",
        "\N{LESS-THAN OR EQUAL TO}": r"$\leq$",
        "\N{GREATER-THAN OR EQUAL TO}": r"$\geq$",
    }
)
_SIGNED = re.compile(r"^([+-])(?=\d|\.\d)")


def escaped(text: str) -> str:
    """Return text that LaTeX sets as it is, on one line; two hyphens stay two."""
    return text.translate(_ESCAPES).replace("--", "-{}-").replace("--", "-{}-")


def _cell(text: str, *, bold: bool = False) -> str:
    """Return a cell: escaped, the sign of a number as a sign, bold where asked."""
    signed = _SIGNED.match(text)
    body = f"${signed.group(1)}$" + escaped(text[1:]) if signed else escaped(text)
    return rf"\textbf{{{body}}}" if bold and body.strip() else body


def _row(cells: list[str]) -> str:
    r"""Return a row; one that begins with ``[`` or ``*`` is kept apart from the ``\\`` above it."""
    guard = "{}" if cells and cells[0].startswith(("[", "*")) else ""
    return f"{guard}{' & '.join(cells)} \\\\"


def latex(table: Table, *, caption: str = "", label: str = "") -> str:
    r"""Return the table as a ``tabular`` of ``booktabs``, bold cells set bold, notes as small print below.

    Everything in headers, cells, notes and the caption is escaped.

    Parameters
    ----------
    table
        The table.
    caption
        Puts the whole in a floating ``table`` with this caption.
    label
        For ``\ref``; only with a caption, and not escaped.
    """
    lines = [r"% needs \usepackage{booktabs}"]
    lines += [r"\begin{table}[t]", r"\centering", rf"\caption{{{escaped(caption)}}}"] if caption else []
    lines += [rf"\label{{{label}}}"] if caption and label else []
    sides = "".join("r" if column.align == "right" else "l" for column in table.columns)
    lines += [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", *_groups(table)]
    lines += [_row([_cell(column.header) for column in table.columns]), r"\midrule"]
    lines += [
        _row([_cell(cell, bold=(at, i) in table.bold) for i, cell in enumerate(row)])
        for at, row in enumerate(table.rows)
    ]
    lines += [r"\bottomrule", r"\end{tabular}", *_notes(table)]
    lines += [r"\end{table}"] if caption else []
    return "\n".join(lines) + "\n"


def _groups(table: Table) -> list[str]:
    """Return the row of groups and the rules under it; none where no column has a group."""
    if not any(column.group for column in table.columns):
        return []
    cells, rules, start = [], [], 1
    for group, columns in table.groups():
        if group:
            cells.append(rf"\multicolumn{{{columns}}}{{c}}{{{_cell(group)}}}")
            rules.append(rf"\cmidrule(lr){{{start}-{start + columns - 1}}}")
        else:
            cells += [""] * columns
        start += columns
    return [_row(cells), "".join(rules)]


def _notes(table: Table) -> list[str]:
    r"""Return the notes as small print, a line each; long signatures may break after a bar."""
    if not table.notes:
        return []
    lines = [escaped(note).replace(r"\textbar{}", r"\textbar{}\allowbreak{}") for note in table.notes]
    return ["", r"\smallskip", *(rf"{{\footnotesize\noindent {line}\par}}" for line in lines)]
