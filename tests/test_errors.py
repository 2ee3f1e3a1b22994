from __future__ import annotations

import re

import pytest

from clipstore import errors
from clipstore.errors import ClipstoreError

LINE = re.compile(r"^ {4}(?P<branch>[│├└─ ]*)(?P<name>[A-Z]\w+) +(?P<code>\d)(?: {3}.*)?$", re.MULTILINE)


def drawn_tree() -> dict[str, tuple[str | None, int]]:
    """Return name -> (parent, exit code) as the docstring of ``errors`` draws it."""
    tree: dict[str, tuple[str | None, int]] = {}
    path: list[str] = []
    for found in LINE.finditer(errors.__doc__):
        depth = len(found["branch"]) // 4
        path = [*path[:depth], found["name"]]
        tree[found["name"]] = (path[depth - 1] if depth else None, int(found["code"]))
    return tree


def real_tree() -> dict[str, tuple[str | None, int]]:
    """Return name -> (base, exit code) of the classes."""
    classes = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, ClipstoreError)]
    return {one.__name__: (None if one is ClipstoreError else one.__base__.__name__, one.exit_code) for one in classes}


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes() -> None:
    """The drawing in ``errors`` names every class, its base and its exit code, and nothing else."""
    assert drawn_tree() == real_tree()


def test_every_error_says_what_it_is_and_exits_with_1_or_2() -> None:
    """Each class has a docstring of its own and one of the two exit codes that the command promises."""
    for name in real_tree():
        one = getattr(errors, name)
        assert one.__doc__ != Exception.__doc__
        assert one.exit_code in {1, 2}


def test_one_except_catches_all() -> None:
    """ClipstoreError catches whatever clipstore raises on purpose."""
    for name in real_tree():
        one = getattr(errors, name)("what happened")
        with pytest.raises(ClipstoreError, match="what happened"):
            raise one
