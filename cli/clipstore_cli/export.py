"""``clipstore export``: saved candidates, and their scores, back to the files that people exchange."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from clipstore import EvalSet
from clipstore.evalset import candidates_of, load_systems, saved_names
from clipstore.evaluate import Scores, score_systems
from clipstore.formats import Row, write
from clipstore.metrics import recipes
from clipstore_cli import inputs, opening, options, output
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings

if TYPE_CHECKING:
    from clipstore.items import ScoreKind

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
    with opening.open_store(common.store, settings, notes, create=False) as opened, notes:
        evalset = EvalSet.load(opened, evalset_name)
        names = saved_names(opened, evalset, systems or [])
        inputs.refuse_many(names, layout)
        found: Scores | None = None
        if scores:
            chosen = load_systems(opened, evalset, names, missing="skip", empty="zero")
            space = inputs.space_of(model, opened, settings)
            found = score_systems(
                space, chosen, evalset, recipes.HESSEL2021, encode=not model.no_encode, progress=notes.progress
            )
        rows = [
            Row(one.key, one.text, name, one.rank, one.score, _kind(one.score_kind), _values(found, name, one.key))
            for name in names
            for one in candidates_of(opened, evalset, name)
        ]
    write(out, rows, WRITERS.get(layout, layout))
    notes.say(f"{out}: {len(rows):,} captions of {len(names):,} systems")
    return 0


def _kind(stored: str | None) -> ScoreKind | None:
    return cast("ScoreKind | None", stored)  # written from a ScoreKind


def _values(scores: Scores | None, name: str, key: str | int) -> dict[str, float | None]:
    if scores is None:
        return {}
    return {metric.replace("-", "_"): one[key] for metric, one in scores[name].metrics.items()}
