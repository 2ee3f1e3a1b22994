"""Format 11: vLLM and OpenAI batch output, ``custom_id`` and ``response.body.choices``.

A line that failed is a missing caption, not an empty one. Several choices are n-best. Lines may
come in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clipstore.errors import BadFormat
from clipstore.formats.columns import field_of
from clipstore.formats.format import Format
from clipstore.formats.source import kind_of
from clipstore.formats.values import Hints, Table

if TYPE_CHECKING:
    from clipstore.formats.source import Content
    from clipstore.items import ItemKey

_OK = 200


def recognise(content: Content, hints: Hints) -> bool:  # noqa: ARG001  every format has these arguments
    """Return whether the first row has ``custom_id`` and ``response``."""
    row = content.first_row()
    return "custom_id" in row and "response" in row


def read(content: Content, hints: Hints) -> Table:  # noqa: ARG001
    """Read the lines that succeeded; the others are counted.

    Raises
    ------
    BadFormat
        When a line that claims success holds no caption that can be read.
    """
    keys = field_of(content.rows, "custom_id", content.name, content.where)
    ids: list[ItemKey] = []
    texts: list[str] = []
    scores: list[float | None] = []
    rows: list[int] = []
    for row, (key, line) in enumerate(zip(keys, content.rows, strict=True)):
        if type(key) not in {str, int}:
            msg = f"{content.name}: {content.where(row)}: 'custom_id' is {kind_of(key)}, not a string or a whole number"
            raise BadFormat(msg)
        choices = _choices(line)
        for choice in choices:
            rows.append(row)
            ids.append(key)
            texts.append(_text(choice, content, row))
            scores.append(_logprob(choice))
    failed = len(set(keys).difference(ids))
    note = f"{failed:,} failed {'line is a missing caption' if failed == 1 else 'lines are missing captions'}"
    scored = any(score is not None for score in scores)
    return Table(
        ids,
        texts,
        scores=scores if scored else None,
        score_kind="sum" if scored else None,
        where=content.where.pick(rows),
        notes=(note,) if failed else (),
        images=list(dict.fromkeys(keys)),
    )


def _choices(line: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the choices of a line in their own order; none for a line that failed."""
    response = line.get("response")
    if line.get("error") or not isinstance(response, dict) or response.get("status_code", _OK) != _OK:
        return []
    body = response.get("body")
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        return []
    return sorted(choices, key=lambda choice: choice["index"] if isinstance(choice.get("index"), int) else 0)


def _text(choice: dict[str, Any], content: Content, row: int) -> str:
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else choice.get("text")
    if isinstance(text, list):
        text = "".join(part["text"] for part in text if isinstance(part, dict) and isinstance(part.get("text"), str))
    if not isinstance(text, str):
        msg = f"{content.name}: {content.where(row)}: a choice holds no text"
        raise BadFormat(msg)
    return text


def _logprob(choice: dict[str, Any]) -> float | None:
    """Return the log-probability of a choice's tokens, summed, where the line holds them."""
    found = choice.get("logprobs")
    tokens = found.get("content") if isinstance(found, dict) else None
    if not isinstance(tokens, list) or not tokens:
        return None
    values = [token.get("logprob") if isinstance(token, dict) else None for token in tokens]
    numbers = [float(value) for value in values if isinstance(value, (int, float))]
    return sum(numbers) if len(numbers) == len(values) else None


FORMAT = Format("batch", "vLLM/OpenAI batch output", ("rows",), recognise, read)
