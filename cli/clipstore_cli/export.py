"""``clipstore export``: saved candidates, and their scores, back to the files that people exchange."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast, final

import typer

from clipstore import EvalSet
from clipstore.errors import InputError
from clipstore.evalset import candidates_of, ids_of, saved_names
from clipstore.evalset.systems import one_each
from clipstore.evaluate import score_systems
from clipstore.evaluate.own_recipe import recipe_of
from clipstore.formats import Row, write
from clipstore_cli import inputs, opening, options, output
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clipstore.evaluate import SystemScore
    from clipstore.items import ItemKey, ScoreKind
    from clipstore.storage.catalogue.sets import CandidateRow
    from clipstore.store import Failure, Space
    from clipstore.store.progress import Progress

WRITERS = {"coco": "coco-results", "clipscore": "official", "jsonl": "canonical"}

Systems = Annotated[list[str] | None, typer.Argument(metavar="[SYSTEM]...", help="Saved systems; all without a name.")]
SetName = Annotated[str, typer.Option("-t", "--set", help="The eval set.", metavar="SET")]
Where = Annotated[Path, typer.Option("-o", "--out", help="Write the result to a file.", metavar="FILE")]
Layout = Annotated[
    Literal["coco", "clipscore", "jsonl", "csv", "tsv", "parquet"],
    typer.Option("--format", help="Layout; coco and clipscore hold one system."),
]
WithScores = Annotated[bool, typer.Option("--scores", help="Add CLIP-S and RefCLIP-S to each caption (not clipscore).")]


@grouped
def export(
    model: options.ModelOptions,
    common: options.Common,
    evalset_name: SetName,
    out: Where,
    systems: Systems = None,
    layout: Layout = "coco",
    scores: WithScores = False,
) -> int:
    """Write the candidates of saved systems, as they came in, to a file; with --scores their scores too."""
    output.check(out)
    settings = Settings.read()
    notes = Notes(quiet=common.quiet)
    if scores and layout == "clipscore":
        msg = "--scores: clipscore candidates hold no scores; choose --format coco, jsonl, csv, tsv or parquet"
        raise InputError(msg)
    with opening.open_store(common.store, settings, notes, create=False) as opened, notes:
        evalset = EvalSet.load(opened, evalset_name)
        names = saved_names(opened, evalset, systems or [])
        inputs.refuse_many(names, layout)
        found = {name: candidates_of(opened, evalset, name) for name in names}
        scored = _Scored()
        if scores:
            space = inputs.space_of(model, opened, settings)
            scored = _score(space, evalset, found, encode=not model.no_encode, progress=notes.progress)
        rows = [
            Row(
                own.get(one.key, one.key), one.text, name, one.rank, one.score, _kind(one.score_kind),
                scored.of(name, place, one.key),
            )
            for name in names
            for own in [ids_of(opened, evalset, name)]
            for place, one in _placed(found[name])
        ]  # fmt: skip
    write(out, rows, WRITERS.get(layout, layout))
    notes.say(f"{out}: {_counted(len(rows), 'caption')} of {_counted(len(names), 'system')}")
    return inputs.unreadable(scored.failures, notes)


@final
@dataclass(frozen=True, slots=True)
class _Scored:
    """The scores of all candidates: of each system those that stand first of their image, second, and so on."""

    by_place: Mapping[tuple[str, int], SystemScore] = field(default_factory=dict)
    failures: Sequence[Failure] = ()

    def of(self, name: str, place: int, key: ItemKey) -> dict[str, float | None]:
        """Return the scores of one candidate by metric; none where nothing was scored."""
        system = self.by_place.get((name, place))
        return {} if system is None else {metric.replace("-", "_"): one[key] for metric, one in system.metrics.items()}


def _score(
    space: Space, evalset: EvalSet, found: Mapping[str, Sequence[CandidateRow]], *, encode: bool, progress: Progress
) -> _Scored:
    texts: dict[tuple[str, int], dict[ItemKey, str]] = {}
    for name, rows in found.items():
        for place, one in _placed(rows):
            texts.setdefault((name, place), {})[one.key] = one.text
    systems = [
        one_each(name if not place else f"{name} {place}", evalset.keys, [own.get(key) for key in evalset.keys])
        for (name, place), own in texts.items()
    ]
    recipe = recipe_of(space)
    scores = score_systems(space, systems, evalset, recipe, encode=encode, progress=progress)
    return _Scored(dict(zip(texts, scores.systems, strict=True)), scores.failures)


def _placed(rows: Sequence[CandidateRow]) -> Iterator[tuple[int, CandidateRow]]:
    """Yield each candidate with its place among those of its image."""
    seen: Counter[ItemKey] = Counter()
    for one in rows:
        yield seen[one.key], one
        seen[one.key] += 1


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _kind(stored: str | None) -> ScoreKind | None:
    return cast("ScoreKind | None", stored)  # written from a ScoreKind
