"""Whether JSON has the layout of the published schema: each fault named by its place."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

from clipstore.compare.record import SCHEMA, key_of
from clipstore.errors import BadFormat
from clipstore.evaluate.measuring import needs_images

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Json = dict[str, Any]

_KINDS: Final[dict[str, type | tuple[type, ...]]] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "null": type(None),
}
_SHOWN: Final = 40


def checked(report: object) -> Json:
    """Return a report that has the layout of a comparison.

    Raises
    ------
    BadFormat
        When it is something else, of another schema, or damaged; the message names the place.
    """
    if not isinstance(report, dict) or not {"schema", "eval_set", "systems", "pairs", "settings"} <= report.keys():
        msg = "this is no comparison: replay takes what `clipstore compare --json` wrote"
        raise BadFormat(msg)
    if report["schema"] != SCHEMA:
        msg = (
            f"the report has schema {report['schema']}, this clipstore knows {SCHEMA}: "
            "install the clipstore that wrote it"
        )
        raise BadFormat(msg)
    found = list(_faults(report, schema(), "")) or list(_contradictions(report))
    if found:
        more = f" (and {len(found) - 1:,} more faults)" if len(found) > 1 else ""
        msg = f"the report is damaged: {found[0]}{more}; take the file that `clipstore compare --json` wrote"
        raise BadFormat(msg)
    return report


@lru_cache(maxsize=1)
def schema() -> Json:
    """Return the published schema of a comparison."""
    text = resources.files("clipstore.compare").joinpath("schema.json").read_text(encoding="utf-8")
    made: Json = json.loads(text)
    return made


def _faults(value: object, rule: Mapping[str, Any], where: str) -> Iterator[str]:
    """Yield what breaks the part of JSON Schema that ours uses."""
    if "$ref" in rule:
        yield from _faults(value, schema()["$defs"][rule["$ref"].rpartition("/")[2]], where)
        return
    allowed = rule.get("enum", [rule["const"]] if "const" in rule else None)
    if allowed is not None and value not in allowed:
        yield f"{where} is {_said(value)}, not {' or '.join(map(str, allowed))}"
        return
    kinds = rule.get("type", list(_KINDS))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(_is(value, kind) for kind in kinds):
        yield f"{where} is {_said(value)}, not {' or '.join(kinds)}"
    elif isinstance(value, dict):
        yield from _of_object(value, rule, where)
    elif isinstance(value, list):
        if not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)):
            yield f"{where} has {len(value)} entries, not {rule['minItems']}"
        for place, inner in enumerate(value):
            yield from _faults(inner, rule.get("items", {}), f"{where}[{place}]")


def _of_object(value: Json, rule: Mapping[str, Any], where: str) -> Iterator[str]:
    """Yield keys that lack, keys too many, and what is wrong with the values."""
    before = f"{where}." if where else ""
    known, more = rule.get("properties", {}), rule.get("additionalProperties", True)
    yield from (f"{before}{name} is missing" for name in rule.get("required", []) if name not in value)
    for name, inner in value.items():
        if name not in known and more is False:
            yield f"{before}{name} is no part of the schema"
        else:
            yield from _faults(inner, known.get(name, more if isinstance(more, dict) else {}), f"{before}{name}")


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return isinstance(value, _KINDS[kind])


def _said(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _contradictions(report: Json) -> Iterator[str]:
    """Yield what no schema says: names twice, pairs of nobody, metrics without numbers or encoder."""
    for place, part in enumerate([report, *report["parts"]]):
        where = f"parts[{place - 1}]." if place else ""
        names = [system["name"] for system in part["systems"]]
        metrics = set(part["signature"])
        yield from (f"{where}systems has {name!r} twice" for name in dict.fromkeys(names) if names.count(name) > 1)
        for system in part["systems"]:
            odd = sorted(metrics ^ set(system["metrics"]))
            if odd:
                yield f"{where}systems: {system['name']!r} and the signatures differ in the metric {odd[0]!r}"
        seen: set[tuple[str, str, str]] = set()
        for pair in part["pairs"]:
            key = (pair["a"], pair["b"], pair["metric"])
            if key in seen or (pair["b"], pair["a"], pair["metric"]) in seen:
                yield f"{where}pairs has {key[0]!r} against {key[1]!r} under {key[2]} twice"
            if not {key[0], key[1]} <= set(names) or key[2] not in metrics:
                yield f"{where}pairs has {key[0]!r} against {key[1]!r} under {key[2]}, which the report lacks"
            seen.add(key)
    looking = [metric for metric in report["signature"] if needs_images([metric.replace("_", "-")])]
    if looking and not report["encoder"].get("fingerprint"):
        yield f"encoder.fingerprint is missing, and {key_of(looking[0])} was made by an encoder"
