"""What ``score`` gives back: one :class:`SystemScore` a system, and the work it took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from clipstore.tables import Column, Table, text

if TYPE_CHECKING:
    from clipstore.items import ItemKey
    from clipstore.metrics.score import Score, Signature
    from clipstore.store import Ensured, Failure

SCHEMA = 1
"""Version of the JSON layout."""


@final
@dataclass(frozen=True, slots=True)
class Work:
    """What was asked of the store and what had to be encoded.

    Parameters
    ----------
    images, references, captions
        Distinct items of each kind: asked, cached, encoded.
    written
        How many captions were given, repeats included.
    """

    images: Ensured
    references: Ensured
    captions: Ensured
    written: int

    @property
    def encoded(self) -> int:
        """How many items were encoded in all."""
        return self.images.encoded + self.references.encoded + self.captions.encoded

    @property
    def seconds(self) -> float:
        """Wall time of the encoding, model loading included."""
        return self.images.seconds + self.references.seconds + self.captions.seconds


@final
@dataclass(frozen=True, eq=False)
class SystemScore:
    """The scores of one system.

    Parameters
    ----------
    name
        What tables call it.
    metrics
        Metric name (``clip-s``, ``ref-clip-s``) -> :class:`Score`.
    captions
        Hash of its captions, 64 hex digits.
    n, of
        Items scored, and items of the eval set.
    words
        Mean number of words of a caption.
    cut
        Captions that did not fit the model's context.
    stripped
        Captions that held a tokenizer's special strings, which were left out.
    warnings
        What a user should know.
    cut_items
        The items of those that were cut, by their place in the set.
    """

    name: str
    metrics: Mapping[str, Score]
    captions: str
    n: int
    of: int
    words: float | None
    cut: int
    cut_tokens: int
    stripped: int
    described: str = ""
    warnings: tuple[str, ...] = ()
    cut_items: tuple[int, ...] = ()

    @property
    def clip_s(self) -> Score:
        """CLIP-S of each image and in the mean."""
        return self.metrics["clip-s"]

    @property
    def ref_clip_s(self) -> Score:
        """RefCLIP-S of each image and in the mean; None where an image has no references."""
        return self.metrics["ref-clip-s"]

    def per_image(self) -> dict[ItemKey, dict[str, float | None]]:
        """Return the official script's per-instance layout: id -> ``CLIPScore`` and ``RefCLIPScore``."""
        clip = self.clip_s.to_dict()
        out: dict[ItemKey, dict[str, float | None]] = {
            key: {"CLIPScore": value} for key, value in clip.items() if value is not None
        }
        if "ref-clip-s" in self.metrics:
            for key, value in self.ref_clip_s.to_dict().items():
                if key in out:
                    out[key]["RefCLIPScore"] = value
        return out

    def to_dict(self) -> dict[str, object]:
        """Return the system's entry of the JSON."""
        return {
            "name": self.name,
            "n": self.n,
            "of": self.of,
            "captions": self.captions,
            "metrics": {
                metric.replace("-", "_"): {"mean": score.mean, "n": score.n} for metric, score in self.metrics.items()
            },
            "mean_words": self.words,
            "cut": self.cut,
            "cut_tokens": self.cut_tokens,
            "stripped": self.stripped,
            "warnings": list(self.warnings),
        }


@final
@dataclass(frozen=True, eq=False)
class Scores(Mapping[str, SystemScore]):
    """The scores of several systems on one eval set, by system name.

    ``str(scores)`` is the table; :meth:`to_dict` is the JSON.

    Parameters
    ----------
    systems
        In the order given.
    signatures
        One a metric; equal for every system.
    set_name, set_digest
        The eval set.
    missing
        Ids of the set that were left out.
    failures
        Images that could not be read or encoded.
    work
        What had to be encoded.
    described, warnings
        Lines for the user.
    """

    systems: tuple[SystemScore, ...]
    signatures: Mapping[str, Signature]
    set_name: str | None
    set_digest: str
    of: int
    missing: tuple[ItemKey, ...]
    failures: tuple[Failure, ...]
    work: Work
    described: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> SystemScore:
        for system in self.systems:
            if system.name == name:
                return system
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter([system.name for system in self.systems])

    def __len__(self) -> int:
        return len(self.systems)

    @property
    def complete(self) -> bool:
        """Whether every image could be read."""
        return not self.failures

    def table(self) -> Table:
        """Return one row a system: n, the metrics, mean words, captions cut."""
        metrics = list(self.signatures)
        columns = [Column("system", "left"), Column("n")]
        columns += [Column(self.signatures[metric].metric) for metric in metrics]
        columns += [Column("words"), Column("cut")]
        rows = []
        for system in self.systems:
            n = str(system.n) if system.n == system.of else f"{system.n}/{system.of}"
            shown = [system.metrics[metric].mean for metric in metrics]
            cells = ["-" if value is None else f"{value:.4f}" for value in shown]
            words = "-" if system.words is None else f"{system.words:.1f}"
            rows.append((system.name, n, *cells, words, str(system.cut)))
        return Table(tuple(columns), tuple(rows), tuple(str(signature) for signature in self.signatures.values()))

    def __str__(self) -> str:
        return text(self.table())

    def to_dict(self) -> dict[str, object]:
        """Return the JSON of SURFACE: plain floats, None where a number is not defined, no path, no timing."""
        return {
            "schema": SCHEMA,
            "signature": {
                metric.replace("-", "_"): signature.to_dict() for metric, signature in self.signatures.items()
            },
            "eval_set": {
                "name": self.set_name,
                "n": self.of,
                "hash": self.set_digest[:8],
                "missing": list(self.missing),
            },
            "systems": [system.to_dict() for system in self.systems],
        }
