"""Options in groups: a command takes one frozen value a group, the command line shows its fields."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from typing import TYPE_CHECKING, Any, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable


def grouped(command: Callable[..., int]) -> Callable[..., int]:
    """Return a command whose dataclass parameters are spread into one option a field.

    Typer reads a function's signature. A parameter whose type is a dataclass stands in it as
    the dataclass's fields, with their ``Annotated`` options and defaults; the command itself
    gets the dataclass, built from what was given.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if dataclasses.is_dataclass(kind) and isinstance(kind, type)}
    parameters: list[inspect.Parameter] = []
    owner: dict[str, str] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        if name not in groups:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        for field, spread in _fields(groups[name]):
            owner[field] = name
            parameters.append(spread)

    @functools.wraps(command)
    def run(**given: Any) -> int:
        built: dict[str, dict[str, Any]] = {name: {} for name in groups}
        own = {}
        for name, value in given.items():
            if name in owner:
                built[owner[name]][name] = value
            else:
                own[name] = value
        return command(**own, **{name: groups[name](**fields) for name, fields in built.items()})

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del run.__wrapped__
    return run


def _fields(kind: type) -> list[tuple[str, inspect.Parameter]]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        (
            field.name,
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
            ),
        )
        for field in dataclasses.fields(kind)
    ]
