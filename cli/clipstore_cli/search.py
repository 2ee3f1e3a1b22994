"""``clipstore search`` and ``clipstore retrieve``: nearest captions and images, and a baseline made of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, final

import typer

from clipstore import EvalSet
from clipstore import formats as files
from clipstore.errors import InputError
from clipstore.evalset import save
from clipstore.evaluate.own_recipe import recipe_of
from clipstore.formats import read_captions
from clipstore.formats.images import EXTENSIONS
from clipstore.search import Approximate, ImagePool, Retrieved, TextPool
from clipstore.search import retrieve as find_captions
from clipstore.search import search as find
from clipstore_cli import inputs, opening, options, output
from clipstore_cli.grouped import grouped
from clipstore_cli.notes import Notes
from clipstore_cli.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.formats import Hints
    from clipstore.search.verb import Query
    from clipstore.store import Space, Store

Where = Literal["captions", "images"]

_FORMATS = {"coco": "coco-results", "clipscore": "official", "jsonl": "canonical", "parquet": "parquet"}

Queries = Annotated[list[str], typer.Argument(metavar="QUERY...", help="An image file, or a text in quotes.")]
Inside = Annotated[
    Where | None, typer.Option("--in", help="What to find; else captions for an image, images for a text.")
]
HowMany = Annotated[int, typer.Option("-k", min=1, help="Hits of each query.")]
Captions = Annotated[int, typer.Option("-k", min=1, help="Captions of each image.")]


@final
@dataclass(frozen=True, slots=True)
class PoolOptions:
    """Among what is searched, and by which index."""

    pool: Annotated[
        list[str] | None, typer.Option("--pool", help="Files of captions; else the set of -t, else the whole store.")
    ] = None
    system: Annotated[
        list[str] | None, typer.Option("--system", help="Only this system's captions of the set.", metavar="NAME")
    ] = None
    index: Annotated[
        str | None, typer.Option("--index", help="A trained FAISS index, such as IVF4096,PQ64; else exact.")
    ] = None
    nprobe: Annotated[int | None, typer.Option("--nprobe", min=1, help="Inverted lists that the index looks into.")] = (
        None
    )

    @property
    def approximate(self) -> Approximate | None:
        """The index asked for."""
        return None if self.index is None else Approximate(self.index, self.nprobe)


@grouped
def search(
    queries: Queries,
    pool: PoolOptions,
    model: options.ModelOptions,
    reading: options.Reading,
    common: options.Common,
    evalset_name: options.EvalSetName = None,
    inside: Inside = None,
    k: HowMany = 10,
    json: options.Json = False,
    out: options.Out = None,
) -> int:
    """Find the nearest captions of an image or a caption, or the nearest images of a text.

    The pool is the whole store, a saved set (-t SET, with --system one system of it), or files (--pool).
    """
    settings = Settings.read()
    hints = inputs.hints_of(reading, settings)
    notes = Notes(quiet=common.quiet)
    _refuse_idle(pool, evalset_name, "-t")
    output.check(out)
    asked = [_query(one) for one in queries]
    wanted = inside or _usual(asked)
    with opening.open_store(common.store, settings, notes, create=pool.pool is not None) as opened, notes:
        space = inputs.space_of(model, opened, settings)
        encode = not model.no_encode
        chosen: TextPool | ImagePool
        if wanted == "captions":
            chosen = _texts(opened, space, pool, evalset_name, hints, notes, flag="-t", encode=encode)
        else:
            chosen = _images(opened, pool, evalset_name)
        found = find(space, asked, chosen, k, index=pool.approximate, encode=encode, progress=notes.progress)
    if found.recall is not None:
        notes.say(f"recall@10 of {pool.index} against exact, on the queries: {found.recall:.3f}")
    if json:
        output.emit(output.dumps(found.to_dict()), out)
    else:
        output.emit_table(found.table(), out)
    return 0


def _query(one: str) -> Query:
    """Return an image for the path of a file, else a text.

    Raises
    ------
    InputError
        When it is empty, or looks like the path of an image that is not there.
    """
    if opening.exists(one) and not Path(one).is_dir():
        return Path(one)
    if not one.strip():
        msg = "a query is empty: give words in quotes, or an image file"
        raise InputError(msg)
    if opening.exists(one):
        msg = f"{one}: is a folder: name an image in it, or give words in quotes"
        raise InputError(msg)
    path = Path(one)
    named = path.suffix.lower() in EXTENSIONS or one.startswith(("/", "./", "../", "~"))
    inside = "/" in one and not any(map(str.isspace, one)) and opening.exists(str(path.parent))
    if named or inside:
        msg = f"{one}: looks like an image file, and there is none; to look for it as words, end it with a full stop"
        raise InputError(msg)
    return one


def _refuse_idle(pool: PoolOptions, set_name: str | None, flag: str) -> None:
    """Refuse options that would be left alone in silence.

    Raises
    ------
    InputError
        Naming both.
    """
    for idle, fault in (
        (pool.pool and set_name is not None, f"--pool and {flag} both say where to search: leave one of them out"),
        (pool.pool and pool.system, "--system is of a saved set, --pool of files: leave one of them out"),
        (pool.nprobe and pool.index is None, "--nprobe is for --index: name the index, or leave --nprobe out"),
    ):
        if idle:
            raise InputError(fault)


def _usual(asked: Sequence[Query]) -> Where:
    """Return what is looked for when the user does not say: captions for images, images for texts."""
    kinds = {isinstance(one, str) for one in asked}
    if len(kinds) > 1:
        msg = "the queries are images and texts: say what to find with --in captions or --in images"
        raise InputError(msg)
    return "images" if True in kinds else "captions"


def _texts(
    store: Store,
    space: Space,
    pool: PoolOptions,
    set_name: str | None,
    hints: Hints,
    notes: Notes,
    *,
    flag: str,
    encode: bool,
) -> TextPool:
    """Return the captions to search among."""
    prefix = recipe_of(space).prefix
    if pool.system and set_name is None:
        msg = f"--system names a system of a saved set: name the set with {flag} SET"
        raise InputError(msg)
    if pool.pool:
        read = [read_captions(one, hints) for one in pool.pool]
        return TextPool.of_captions(space, prefix, read, encode=encode, progress=notes.progress)
    if set_name is not None:
        evalset = EvalSet.load(store, set_name)
        return TextPool.of_set(space, prefix, evalset, pool.system, encode=encode, progress=notes.progress)
    return TextPool.of_store(space, prefix)


def _images(store: Store, pool: PoolOptions, set_name: str | None) -> ImagePool:
    """Return the images to search among."""
    if pool.pool or pool.system:
        msg = "--pool and --system hold captions: leave them out, or look for captions with --in captions"
        raise InputError(msg)
    if set_name is None:
        return ImagePool.of_store()
    evalset = EvalSet.load(store, set_name)
    return ImagePool.of_set(evalset, [item.image_id for item in evalset.items])


PoolSet = Annotated[
    str | None, typer.Option("--pool-set", help="Captions of this saved set; else of the whole store.", metavar="SET")
]
ExcludeOwn = Annotated[
    bool, typer.Option("--exclude-own", help="Leave out an image's own references and captions in the pool.")
]
SaveAs = Annotated[
    str | None, typer.Option("--save-as", help="Keep the captions as a system of the set (-t).", metavar="NAME")
]
Format = Annotated[Literal["coco", "clipscore", "jsonl", "parquet"], typer.Option("--format", help="Of -o FILE.")]


@grouped
def retrieve(
    pool: PoolOptions,
    evalset: options.SetOptions,
    model: options.ModelOptions,
    reading: options.Reading,
    common: options.Common,
    evalset_name: options.EvalSetName = None,
    pool_set: PoolSet = None,
    exclude_own: ExcludeOwn = False,
    k: Captions = 1,
    save_as: SaveAs = None,
    replace: options.Replace = False,
    format_: Format = "coco",
    out: options.Out = None,
) -> int:
    """Give every image of a set its nearest caption of a pool: a retrieval baseline to score and compare.

    The set is a saved one (-t SET), the images that --refs name, or all images of --images.
    """
    settings = Settings.read()
    hints = inputs.hints_of(reading, settings)
    notes = Notes(quiet=common.quiet)
    _refuse(save_as, evalset_name, format_, out, replace=replace)
    _refuse_idle(pool, pool_set, "--pool-set")
    if out is not None or save_as is None:
        inputs.refuse_submission(format_, k)
    output.check(out)
    if evalset_name is None:
        items = inputs.read_set(evalset, settings, hints).of_all_images()
    else:
        inputs.refuse_files(evalset, evalset_name)
    with opening.open_store(common.store, settings, notes) as opened, notes:
        if evalset_name is not None:
            items = EvalSet.load(opened, evalset_name)
        inputs.say_set(items, notes)
        space = inputs.space_of(model, opened, settings)
        chosen = _texts(opened, space, pool, pool_set, hints, notes, flag="--pool-set", encode=not model.no_encode)
        found = find_captions(
            space,
            items,
            chosen,
            k=k,
            exclude_own=exclude_own,
            index=pool.approximate,
            encode=not model.no_encode,
            progress=notes.progress,
        )
        if save_as is not None:
            kept = {save_as: found.as_system()}
            did = save(
                opened,
                evalset_name or "",
                items,
                kept,
                replace=replace,
                missing="skip",
                origins={save_as: found.origin},
            )
            notes.say(f"{save_as}: {did[save_as]} in {evalset_name}")
    return _finish(found, notes, pool, format_, out, printed=save_as is None)


def _refuse(save_as: str | None, set_name: str | None, format_: str, out: Path | None, *, replace: bool) -> None:
    if replace and save_as is None:
        msg = "--replace is for --save-as NAME: name the system, or leave --replace out"
        raise InputError(msg)
    if save_as is not None and set_name is None:
        msg = f"--save-as {save_as} keeps the captions as a system of a saved eval set: name it with -t SET"
        raise InputError(msg)
    if format_ == "parquet" and out is None:
        msg = "--format parquet needs -o FILE: it is no text"
        raise InputError(msg)


def _finish(found: Retrieved, notes: Notes, pool: PoolOptions, format_: str, out: Path | None, *, printed: bool) -> int:
    notes.say(f"{len(found.captions):,} images got a caption of {found.pool}")
    if found.recall is not None:
        notes.say(f"recall@10 of {pool.index} against exact, on a sample: {found.recall:.3f}")
    if found.empty:
        first = ", ".join(map(str, found.empty[:5]))
        notes.warn(f"{len(found.empty):,} images got none: the pool holds only their own captions (first: {first})")
    rows = found.to_rows(plain=format_ in {"coco", "clipscore"})
    if out is not None:
        files.write(out, rows, _FORMATS[format_])
    elif printed:
        output.emit(files.dumps(rows, _FORMATS[format_]).decode(), None)
    return inputs.unreadable(found.failures, notes)
