"""Figures for a paper: the plots as files, SVG as drawn, PNG and PDF through CairoSVG where it is installed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from clipstore.errors import CannotWrite, InputError
from clipstore.formats.writing import save
from clipstore.report.plots_page import figures

if TYPE_CHECKING:
    from pathlib import Path

    from clipstore.report.report import Report


def write_figures(report: Report, folder: Path, form: Literal["svg", "png", "pdf"] = "svg") -> list[str]:
    """Write every plot into a folder, and return the files' names; each SVG's description ends with the signatures.

    Parameters
    ----------
    report
        The report.
    folder
        Made if absent.
    form
        ``svg``, ``png`` (at 300 dots an inch) or ``pdf``.

    Raises
    ------
    InputError
        When PNG or PDF is asked for without CairoSVG.
    CannotWrite
        When a file can't be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"can't make {folder}: {(error.strerror or str(error)).lower()}"
        raise CannotWrite(msg) from error
    names = []
    signed = " ".join(report.comparison.signed)
    for drawn in figures(report):
        one = replace(drawn, description=f"{drawn.description} {signed}")
        name = f"{one.name}.{form}"
        save(folder / name, one.standalone.encode() if form == "svg" else converted(one.standalone, form))
        names.append(name)
    return names


def converted(markup: str, form: Literal["png", "pdf"]) -> bytes:
    """Return an SVG drawing as PNG (at 300 dots an inch) or PDF.

    Raises
    ------
    InputError
        When CairoSVG or the Cairo library is missing.
    """
    try:
        import cairosvg
    except (ImportError, OSError) as error:  # OSError: the package is there, the Cairo library is not
        msg = f"{form} needs CairoSVG and the Cairo library: pip install 'clipstore[plots]', or draw SVG"
        raise InputError(msg) from error
    if form == "png":
        return bytes(cairosvg.svg2png(bytestring=markup.encode(), scale=300 / 96))
    return bytes(cairosvg.svg2pdf(bytestring=markup.encode()))
