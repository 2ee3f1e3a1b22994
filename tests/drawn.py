"""Small sets to test with: drawn images, their references, captions, and an encoder that is watched."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import PIL.Image

from clipstore import Store
from clipstore.encoders.fake import FakeEncoder
from clipstore.encoders.protocol import Prepared, Tokens
from clipstore.storage.check import check
from clipstore.storage.finding import Finding


def picture(number: int, size: tuple[int, int] = (12, 10)) -> PIL.Image.Image:
    """Return a small picture; two numbers give two pictures."""
    image = PIL.Image.new("RGB", size, (number * 37 % 256, number * 91 % 256, 40))
    image.putpixel((0, 0), (number % 256, number // 256 % 256, 7))
    return image


def name(number: int) -> str:
    """Return the stem of a drawn image's file."""
    return f"scene_{number:06d}"


def draw(folder: Path, count: int, first: int = 0) -> Path:
    """Write ``count`` pictures into a folder, made if absent."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(first, first + count):
        picture(number).save(folder / f"{name(number)}.png")
    return folder


def references(count: int) -> dict[str, list[str]]:
    """Return two references of each drawn image."""
    return {name(i): [f"the first words on picture {i}", f"other words about picture {i}"] for i in range(count)}


def captions(count: int, words: str = "a caption of") -> dict[str, str]:
    """Return one caption of each drawn image, keyed by its stem."""
    return {name(i): f"{words} picture {i}" for i in range(count)}


def write_json(path: Path, value: object) -> Path:
    """Write a value as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def damage(store: Store) -> list[Finding]:
    """Return what a check finds damaged in a store."""
    return [one for one in check(store.folder, store.catalogue) if one.severity == "damage"]


def segment_bytes(folder: Path) -> dict[str, bytes]:
    """Return the content of every segment below a store's folder, by its relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.faiss"))}


class Watched(FakeEncoder):
    """The fake encoder, with a record of what it was asked to embed."""

    def __init__(self, dim: int = 64) -> None:
        super().__init__(dim)
        self.images = 0
        self.texts: list[str] = []

    def embed_images(self, images: Sequence[Prepared]) -> np.ndarray:
        """Count, then embed."""
        self.images += len(images)
        return super().embed_images(images)

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        """Remember the exact strings, then tokenise."""
        self.texts += texts
        return super().tokenize(texts)
