"""``clipstore rerank``: one caption out of several for each image, and what choosing bought."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, final

import typer

from clipstore import EvalSet
from clipstore.errors import InputError
from clipstore.formats import read_captions
from clipstore.rerank import Reranked, Stage, save_as, saved_nbest, write
from clipstore.rerank import rerank as choose
from clipstore.rerank.saving import dumps
from clipstore.tables import text
from clipstore_cli import inputs, linting, opening, options, output
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings

if TYPE_CHECKING:
    from clipstore.formats import Captions, Hints
    from clipstore.store import Space, Store

PickFormat = Literal["coco", "clipscore", "jsonl", "parquet"]

_MODEL_FREE = frozenset({"logp", "vote", "rrf"})

NBest = Annotated[
    list[str], typer.Argument(metavar="NBEST...", help="n-best file; several are pooled; with -t also a saved system.")
]


@final
@dataclass(frozen=True, slots=True)
class Choosing:
    """How to choose."""

    by: Annotated[
        Literal["clip", "logp", "mix", "mbr", "consensus", "vote", "rrf"] | None,
        typer.Option("--by", help="The selector; else clip."),
    ] = None
    clip_weight: Annotated[
        float | None, typer.Option("--clip-weight", min=0, max=1, help="Weight of CLIP-S in mix; else 0.5 or tuned.")
    ] = None
    fuse: Annotated[str | None, typer.Option("--fuse", help="What rrf joins, such as clip,logp,mbr.")] = None
    k: Annotated[
        int | None, typer.Option("-k", min=1, help="Captions to keep of each image: 1, or as a cascade's last model.")
    ] = None
    mmr: Annotated[
        float | None, typer.Option("--mmr", min=0, max=1, help="With -k: diverse ones, lambda 1 = best only.")
    ] = None
    cascade: Annotated[
        str | None,
        typer.Option("--cascade", help="Models in a row, each with how many it keeps: M1:5,M2:1; image-reward:DIR:1."),
    ] = None
    candidates_are: Annotated[
        Literal["auto", "beams", "samples"],
        typer.Option("--candidates-are", help="Ordered beams or samples, for the gain curve."),
    ] = "auto"

    @property
    def kept(self) -> int:
        """How many captions of an image are kept."""
        last = (self.cascade or "").rpartition(":")[2].strip()
        return self.k or (int(last) if last.isdecimal() else 1)

    @property
    def method(self) -> str:
        """The selector in force."""
        return self.by or "clip"


@final
@dataclass(frozen=True, slots=True)
class Tuning:
    """How the weight of mix is found, and who judges."""

    tune_on: Annotated[
        list[str] | None, typer.Option("--tune-on", help="Development n-best file for the weight.", metavar="DEV")
    ] = None
    tune_refs: Annotated[
        Path | None, typer.Option("--tune-refs", help="References of the development images.", metavar="FILE")
    ] = None
    tune_images: Annotated[
        Path | None,
        typer.Option("--tune-images", help="Folder of the development images; else --images.", metavar="DIR"),
    ] = None
    target: Annotated[
        str | None, typer.Option("--target", help="What tuning raises: cider by default; meteor, spice...; clip-s.")
    ] = None
    allow_circular: Annotated[
        bool, typer.Option("--allow-circular", help="Tune on the selector's own model all the same.")
    ] = False
    report_model: Annotated[
        str | None, typer.Option("--report-model", help="Another model to judge the picks with.", metavar="MODEL")
    ] = None


SaveAs = Annotated[
    str | None, typer.Option("--save-as", help="Keep the picks as a system of the set (-t).", metavar="NAME")
]
Format = Annotated[
    PickFormat | None,
    typer.Option("--format", help="coco and clipscore: submission files; jsonl, parquet: with scores."),
]


@grouped
def rerank(
    nbest: NBest,
    choosing: Choosing,
    tuning: Tuning,
    evalset: options.SetOptions,
    model: options.ModelOptions,
    reading: options.Reading,
    common: options.Common,
    evalset_name: options.EvalSetName = None,
    format_: Format = None,
    save: SaveAs = None,
    replace: options.Replace = False,
    json: options.Json = False,
    out: options.Out = None,
) -> int:
    """Choose one caption of several for each image, and say what that bought.

    The picks go to -o FILE (else to stdout), the table of the gain to stdout (else to stderr).
    """
    settings = Settings.read()
    hints = inputs.hints_of(reading, settings)
    notes = Notes(quiet=common.quiet)
    if reading.take is not None:
        msg = "--take first leaves nothing to choose from: it is for score and compare; leave it out"
        raise InputError(msg)
    _refuse_idle(choosing, tuning, model, save, replace=replace)
    if save is not None and evalset_name is None:
        msg = f"--save-as {save} keeps the picks as a system of a saved eval set: name it with -t SET"
        raise InputError(msg)
    if _format(format_, out) == "parquet" and out is None:
        msg = "--format parquet needs -o FILE: it is no text"
        raise InputError(msg)
    if out is not None or save is None:
        inputs.refuse_submission(_format(format_, out), choosing.kept)
    output.check(out)
    if evalset_name is None:
        given = tuple(read_captions(one, hints) for one in nbest)
        items = _set(evalset, settings, hints, choosing).covering(given, hints, evalset.missing)
    else:
        inputs.refuse_files(evalset, evalset_name)
    with opening.open_store(common.store, settings, notes, create=evalset_name is None) as opened, notes:
        if evalset_name is not None:
            items = EvalSet.load(opened, evalset_name)
            if not any(map(_is_file, nbest)) and tuning.tune_on is None:
                inputs.refuse_reading(reading, evalset_name)
            given = tuple(_read(opened, evalset_name, one, hints) for one in nbest)
        inputs.say_set(items, notes)
        english = inputs.reads_english(model, settings)
        read = {one.source: one for one, name in zip(given, nbest, strict=True) if _is_file(name)}
        linting.lint_systems(read, items, reading, hints, notes, english_only=english)
        where = _where(choosing, model, opened, settings)
        report = None if tuning.report_model is None else inputs.named_space(tuning.report_model, model, opened)
        found = choose(
            where,
            given,
            items,
            by=choosing.by,
            clip_weight=choosing.clip_weight,
            tune_on=None if tuning.tune_on is None else tuple(tuning.tune_on),
            tune_refs=_development(tuning, hints),
            target=tuning.target,
            allow_circular=tuning.allow_circular,
            k=choosing.k,
            mmr=choosing.mmr,
            cascade=_stages(choosing, model, opened),
            fuse=None if choosing.fuse is None else choosing.fuse.split(","),
            report_space=report,
            ordered={"auto": None, "beams": True, "samples": False}[choosing.candidates_are],
            missing=evalset.missing,
            hints=hints,
            encode=not model.no_encode,
            progress=notes.progress,
        )
        if save is not None:
            notes.say(f"{save}: {save_as(opened, items, save, found, replace=replace)} in {evalset_name}")
    return finish(found, notes, format_=_format(format_, out), json=json, out=out, printed=save is None)


def _refuse_idle(
    choosing: Choosing,
    tuning: Tuning,
    model: options.ModelOptions,
    save: str | None,
    *,
    replace: bool,
) -> None:
    """Refuse options of the command line that would be left alone in silence; ``rerank`` refuses the others."""
    named = model.model is not None or model.pretrained is not None or model.weights is not None
    lone = {"--tune-refs": tuning.tune_refs, "--tune-images": tuning.tune_images}
    for idle, fault in (
        (named and choosing.cascade is not None, "--cascade names its own models: leave --model and its weights out"),
        (replace and save is None, "--replace is for --save-as NAME: name the system, or leave --replace out"),
        *(
            (
                given is not None and tuning.tune_on is None,
                f"{flag} belongs to --tune-on: name the development file with --tune-on, or leave {flag} out",
            )
            for flag, given in lone.items()
        ),
    ):
        if idle:
            raise InputError(fault)


def _format(given: PickFormat | None, out: Path | None) -> PickFormat:
    """Return the format asked for, else the one that the file's name says."""
    if given is not None:
        return given
    by_suffix: dict[str, PickFormat] = {".json": "coco", ".parquet": "parquet"}
    return by_suffix.get("" if out is None else out.suffix, "jsonl")


def _read(store: Store, set_name: str, one: str, hints: Hints) -> Captions:
    """Return a file's captions, or those of a saved system where no file has that name."""
    if _is_file(one):
        return read_captions(one, hints)
    return saved_nbest(store, set_name, one)


def _is_file(one: str) -> bool:
    return one == "-" or opening.exists(one) or any(mark in one for mark in "*?[")


def _set(chosen: options.SetOptions, settings: Settings, hints: Hints, choosing: Choosing) -> EvalSet:
    """Return the eval set of the options; methods that look at texts alone need no images."""
    needs = choosing.cascade is not None or choosing.method in {"clip", "mix"}
    if needs or settings.value("images", None if chosen.images is None else str(chosen.images)) is not None:
        return inputs.read_set(chosen, settings, hints)
    refs = settings.value("refs", None if chosen.refs is None else str(chosen.refs))
    return EvalSet.read(refs=refs, annotations=chosen.annotations, hints=hints, missing=chosen.missing)


def _where(choosing: Choosing, model: options.ModelOptions, store: Store, settings: Settings) -> Space | Store:
    """Return the space of the model in force; the store alone where the method needs none and none was named."""
    free = choosing.method in _MODEL_FREE and choosing.mmr is None
    if choosing.cascade is not None or (free and settings.value("model", model.model) is None):
        return store
    return inputs.space_of(model, store, settings)


def _development(tuning: Tuning, hints: Hints) -> EvalSet | Path | None:
    """Return the development images' own set where they have a folder; else their references, or nothing."""
    if tuning.tune_on is None or tuning.tune_images is None:
        return tuning.tune_refs
    return EvalSet.read(images=tuning.tune_images, refs=tuning.tune_refs, hints=hints, missing="skip")


def _stages(choosing: Choosing, model: options.ModelOptions, store: Store) -> list[Stage] | None:
    """Return the stages of ``M1:5,M2:1``.

    Raises
    ------
    InputError
        When a part names no model or no number.
    """
    if choosing.cascade is None:
        return None
    stages = []
    for part in choosing.cascade.split(","):
        name, _, keep = part.strip().rpartition(":")
        if not name or not keep.isdecimal():
            msg = f"--cascade {choosing.cascade}: {part!r} is not MODEL:NUMBER, such as ViT-L-14/openai:5"
            raise InputError(msg)
        stages.append(Stage(inputs.named_scorer(name, model, store), int(keep)))
    return stages


def finish(found: Reranked, notes: Notes, *, format_: PickFormat, json: bool, out: Path | None, printed: bool) -> int:
    """Say what was done, write the picks and the gain, and return the exit code."""
    for line in found.described:
        notes.say(line)
    notes.say(str(found.work))
    inputs.say_warnings([*found.warnings, *found.guards.warnings()], notes)
    if (changes := found.changes()).rows:
        notes.say("what changed most, the ten largest gains and losses:")
        notes.say(text(changes).rstrip())
    if out is not None:
        write(out, found, format_)
    if json:
        picks = {"picks": [pick.to_dict() for pick in found]} if out is None else {}
        output.emit(output.dumps({**found.to_dict(), **picks}), None)
    elif out is not None or not printed:
        output.emit_table(found.table(), None)
    else:
        notes.say(text(found.table()).rstrip())
        output.emit(dumps(found, format_).decode(), None)
    return inputs.unreadable(found.failures, notes)
