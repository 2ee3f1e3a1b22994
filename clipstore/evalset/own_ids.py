"""How a system's own ids follow from its eval set: a rule, kept beside the system, so that they go out as they came in.

A set goes by the ids of its references; a system may name the same images by number, file name or
stem. Each id follows from its item by one rule, or the ids of the set stand for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clipstore.formats.keytable import base_name, stem, tidy
from clipstore.formats.numbers import split_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from clipstore.evalset.evalset import EvalSet
    from clipstore.items import ItemKey

Rule = dict[str, str]
"""``kind``: what of the item; ``as``: ``int`` or ``str``; ``prefix``: what stands before it."""

_TEXTS: dict[str, Callable[[str], str]] = {"path": tidy, "name": base_name, "stem": stem}


def rule_of(own: Mapping[ItemKey, ItemKey], evalset: EvalSet) -> Rule | None:
    """Return the rule that gives a system's own ids; None where they are the set's, or follow none.

    Parameters
    ----------
    own
        Own id -> key of the item.
    evalset
        The set.
    """
    if not own or all(key is id_ or (key == id_ and type(key) is type(id_)) for id_, key in own.items()):
        return None
    wanted = {key: id_ for id_, key in own.items()}
    values = _values(evalset)
    for rule in _candidates(next(iter(wanted.items())), values):
        made = _made(rule, values)
        if all(made.get(key) == id_ and type(made.get(key)) is type(id_) for key, id_ in wanted.items()):
            return rule
    return None


def _candidates(first: tuple[ItemKey, ItemKey], values: Mapping[str, dict[ItemKey, ItemKey]]) -> Iterator[Rule]:
    """Yield the rules that give the first id, the plainest first."""
    key, wanted = first
    kind = type(wanted).__name__
    for name, found in values.items():
        value = found.get(key)
        if value is None:
            continue
        if kind == "str" and str(wanted).endswith(str(value)):
            yield {"kind": name, "as": kind, "prefix": str(wanted).removesuffix(str(value))}
        elif kind == "int" and str(value).lstrip("0") == str(wanted).lstrip("0"):
            yield {"kind": name, "as": kind, "prefix": ""}


def apply(rule: Mapping[str, Any], evalset: EvalSet) -> dict[ItemKey, ItemKey]:
    """Return key -> own id of every item that the rule gives one."""
    return _made(rule, _values(evalset))


def _made(rule: Mapping[str, Any], values: Mapping[str, dict[ItemKey, ItemKey]]) -> dict[ItemKey, ItemKey]:
    prefix, found = str(rule.get("prefix", "")), values.get(str(rule.get("kind")), {})
    if rule.get("as") == "int":
        return {key: int(value) for key, value in found.items() if str(value).isascii() and str(value).isdigit()}
    return {key: f"{prefix}{value}" for key, value in found.items()}


def _values(evalset: EvalSet) -> dict[str, dict[ItemKey, ItemKey]]:
    """Return kind -> key -> what an item is called by that kind."""
    keys = evalset.keys
    paths = [path or str(key) for key, path in zip(keys, evalset.paths or [None] * len(keys), strict=True)]
    out: dict[str, dict[ItemKey, ItemKey]] = {"id": dict(zip(keys, keys, strict=True))}
    others = evalset.alternates.items()
    out |= {name: dict(zip(keys, values, strict=True)) for name, values in others if len(values) == len(keys)}
    out |= {name: dict(zip(keys, map(text, paths), strict=True)) for name, text in _TEXTS.items()}
    parts = [(key, stem(path), split_number(stem(path))) for key, path in zip(keys, paths, strict=True)]
    out["number"] = {key: part[1] for key, _, part in parts if part is not None}
    out["digits"] = {key: name[-part[2] :] for key, name, part in parts if part is not None}
    return out
