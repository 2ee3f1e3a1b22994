"""Looks at captions before anything is scored, and says on stderr what looks wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clipstore.errors import InputError
from clipstore.formats import Captions, lint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clipstore import EvalSet
    from clipstore.evalset import System
    from clipstore.formats import Hints, LintWarning
    from clipstore_cli.notes import Notes
    from clipstore_cli.options import Reading


def lint_systems(
    read: dict[str, Captions],
    evalset: EvalSet,
    reading: Reading,
    hints: Hints,
    notes: Notes,
    *,
    english_only: bool = False,
    saved: Iterable[System] = (),
) -> None:
    """Warn of captions that look wrong, against the references of their images.

    Saved systems were looked at when they were added: with ``--strict`` they are looked at again.

    Raises
    ------
    InputError
        With ``--strict``, when there is anything to warn of.
    """
    references = {item.key: item.references for item in evalset.items if item.references}
    found = 0
    for name, captions in read.items():
        for warning in lint(captions, _by_caption_id(captions, references, evalset, hints), english_only=english_only):
            notes.warn(_said(warning) if name == captions.source else f"{name}: {_said(warning)}")
            found += 1
    for captions in _as_captions(saved, evalset) if reading.strict else ():
        for warning in lint(captions, references, english_only=english_only):
            notes.warn(_said(warning))
            found += 1
    if found and reading.strict:
        count = "1 warning" if found == 1 else f"{found:,} warnings"
        msg = f"{count} about the captions, and --strict was given: mend the captions, or leave --strict out"
        raise InputError(msg)


def _as_captions(saved: Iterable[System], evalset: EvalSet) -> Iterator[Captions]:
    for system in saved:
        rows = [(key, text) for key, text in zip(evalset.keys, system.texts, strict=True) if text is not None]
        yield Captions(system.name, "saved system", [key for key, _ in rows], [text for _, text in rows])


def _said(warning: LintWarning) -> str:
    shown = "; ".join(f"{key!r}: {text[:60]!r}" for key, text in warning.examples[:2])
    return f"{warning.message} (such as {shown})" if shown else warning.message


def _by_caption_id(
    captions: Captions, references: dict[str | int, tuple[str, ...]], evalset: EvalSet, hints: Hints
) -> dict[str | int, tuple[str, ...]]:
    """Return the references under the captions' own ids."""
    if not references:
        return {}
    met = evalset.rows_of(captions.distinct_ids(), captions.source, hints, missing="skip")
    return {id_: references[key] for id_, key in met.by_id().items() if key in references}
