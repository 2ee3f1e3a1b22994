"""From a command's options to the store's space, the eval set and the systems' captions."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Literal

from clipstore import EvalSet
from clipstore.encoders.names import is_pair
from clipstore.errors import InputError, UnknownModel
from clipstore.formats import COLUMNAR, Captions, Hints, read_captions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from clipstore.encoders.protocol import PairScorer
    from clipstore.store import Failure, Space, Store
    from clipstore_cli.notes import Notes
    from clipstore_cli.options import ModelOptions, Reading, SetOptions
    from clipstore_cli.settings import Settings


_MANY_LANGUAGES = ("xlm", "multilingual", "siglip2", "i18n", "worldwide", "nllb", "mt5", "hf-hub:", "local-dir:")


def hints_of(reading: Reading, settings: Settings) -> Hints:
    """Return how files are to be read: flags, then what the project's files say."""
    return Hints(
        input_format=reading.input_format,
        id_key=settings.value("id_key", reading.id_key),
        split=settings.value("split", reading.split),
        questions=reading.questions,
        order=reading.order,
        image_col=reading.image_col,
        caption_col=reading.caption_col,
        score_col=reading.score_col,
        num_candidates=reading.num_candidates,
        shared=True,
    )


def space_of(model: ModelOptions, store: Store, settings: Settings) -> Space:
    """Return the space of the model in force.

    Raises
    ------
    UnknownModel
        When its weights can't be had; where no model was named, with those that the store has vectors of.
    """
    name = settings.value("model", model.model)
    given = [] if name is None else [name]
    try:
        return _space(model, store, *given, pretrained=model.pretrained, weights=model.weights)
    except UnknownModel as error:
        held = held_models(store)
        if given or not held:
            raise
        msg = f"{error}. No --model was given; this store has vectors of {', '.join(held)}: --model {held[0]}"
        raise UnknownModel(msg) from error


def held_models(store: Store) -> list[str]:
    """Return the names of the models that a store has vectors of."""
    return list(dict.fromkeys(one.model for one in store.models() if one.images or one.texts))


def named_space(name: str, model: ModelOptions, store: Store) -> Space:
    """Return the space of another model than the one in force, that runs as the options say."""
    return _space(model, store, name)


def named_scorer(name: str, model: ModelOptions, store: Store) -> Space | PairScorer:
    """Return what scores in a stage of a cascade: the space of a model, or a pair scorer."""
    if is_pair(name):
        return store.pair_scorer(name, device=model.device)
    return named_space(name, model, store)


def _space(
    model: ModelOptions, store: Store, *name: str, pretrained: str | None = None, weights: Path | None = None
) -> Space:
    return store.space(
        *name,
        pretrained=pretrained,
        weights=weights,
        device=model.device,
        precision=model.precision,
        preprocess=model.preprocess,
        exif=model.exif,
        batch_size=batch_size(model.batch_size),
        trust_weights=model.trust_weights,
        max_pixels=model.max_pixels,
    )


def spaces_of(models: Sequence[ModelOptions], store: Store, settings: Settings) -> list[Space]:
    """Return the space of each model.

    Raises
    ------
    InputError
        When two names stand for one model.
    """
    spaces = [space_of(one, store, settings) for one in models]
    for number, space in enumerate(spaces):
        for other, earlier in zip(models, spaces[:number], strict=False):
            if earlier.fingerprint.digest == space.fingerprint.digest:
                msg = f"--model {other.model} and --model {models[number].model} are one model"
                raise InputError(msg)
    return spaces


def batch_size(given: str | None) -> int | Literal["auto"] | None:
    """Read ``--batch-size``: a number, or ``auto``."""
    if given is None:
        return None
    if given == "auto":
        return "auto"
    if not given.isdecimal() or not int(given):
        msg = f"--batch-size {given}: give a number of images from 1 on, or auto"
        raise InputError(msg)
    return int(given)


def read_set_if_given(chosen: SetOptions, settings: Settings, hints: Hints) -> EvalSet | None:
    """Read the eval set if the command line itself gives one."""
    given = chosen.images is not None or chosen.refs is not None or chosen.annotations is not None
    return read_set(chosen, settings, hints) if given else None


def one_set(names: Sequence[str] | None, command: str, instead: str) -> str | None:
    """Return the one eval set that a command shows, None where none is named.

    Raises
    ------
    InputError
        When several are named: the last would be shown in place of the others.
    """
    if names and len(names) > 1:
        msg = f"{command} shows one eval set, here are {len(names)}: {', '.join(names)}; {instead}, or compare them: "
        msg += f"clipstore compare {' '.join(f'-t {name}' for name in names)}"
        raise InputError(msg)
    return names[0] if names else None


def refuse_files(chosen: SetOptions, name: str) -> None:
    """Refuse options that a saved eval set would leave alone in silence.

    Raises
    ------
    InputError
        When --images, --refs or --annotations is given.
    """
    flags = {"--images": chosen.images, "--refs": chosen.refs, "--annotations": chosen.annotations}
    given = [flag for flag, value in flags.items() if value is not None]
    if given:
        msg = f"{given[0]} does not go with -t {name}: the saved set has its own; leave one of them out"
        raise InputError(msg)


def refuse_reading(reading: Reading, name: str) -> None:
    """Refuse options that say how files are read where none is.

    Raises
    ------
    InputError
        When one is given; ``--take`` and ``--strict`` go with saved systems too.
    """
    plain = type(reading)()
    given = [
        f"--{one.name.replace('_', '-')}"
        for one in fields(reading)
        if one.name not in {"take", "strict"} and getattr(reading, one.name) != getattr(plain, one.name)
    ]
    if given:
        msg = f"{given[0]} says how a file is read, and with -t {name} none is: give a file, or leave {given[0]} out"
        raise InputError(msg)


def refuse_unheard(reading: Reading, hints: Hints, read: Mapping[str, Captions], evalset: EvalSet) -> None:
    """Refuse options that none of the files that were read has use for.

    Raises
    ------
    InputError
        For questions without LLaVA answers, an order without plain lines or rows, columns where there are none.
    """
    titles = {one.format for one in read.values()}
    titles |= {title for title in COLUMNAR if any(f": {title}, " in line for line in evalset.described)}
    columns = bool(titles & COLUMNAR) or evalset.sources is not None  # images of Parquet rows have columns
    heard = {
        "--questions": (reading.questions, "LLaVA answers" in titles, "LLaVA answers"),
        "--order": (reading.order, "plain lines" in titles or hints.id_key == "row", "plain lines, or --id-key row"),
        "--image-col": (reading.image_col, columns, "rows with columns"),
        "--caption-col": (reading.caption_col, columns, "rows with columns"),
        "--score-col": (reading.score_col, columns, "rows with columns"),
    }
    unheard = [(flag, what) for flag, (given, use, what) in heard.items() if given is not None and not use]
    if unheard and read:
        flag, what = unheard[0]
        msg = f"{flag} is for {what}, and here is {', '.join(sorted(titles))}: leave {flag} out"
        raise InputError(msg)


def read_set(chosen: SetOptions, settings: Settings, hints: Hints) -> EvalSet:
    """Read the eval set of a command.

    Raises
    ------
    InputError
        When there is no image folder.
    """
    folder = settings.value("images", None if chosen.images is None else str(chosen.images))
    references = settings.value("refs", None if chosen.refs is None else str(chosen.refs))
    if folder is None:
        msg = "no images: pass --images DIR, or -t SET for a saved eval set"
        raise InputError(msg)
    return EvalSet.read(
        images=folder, refs=references, annotations=chosen.annotations, hints=hints, missing=chosen.missing
    )


def say_set(evalset: EvalSet, notes: Notes) -> None:
    """Say what was recognised of an eval set, and name on one line the files that it does not use."""
    for line in evalset.described:
        notes.say(line)
    if evalset.others and evalset.folder is not None:
        notes.say(f"{evalset.folder.path}: {evalset.others:,} other image files are not in the eval set, left alone")


def read_systems(paths: dict[str, str], hints: Hints, reading: Reading) -> dict[str, Captions]:
    """Read each system's captions; ``--take first`` reduces n-best files."""
    read = {name: read_captions(path, hints) for name, path in paths.items()}
    return {name: one.first() for name, one in read.items()} if reading.take else read


def reads_english(model: ModelOptions, settings: Settings) -> bool:
    """Say whether the model in force was trained on English alone; by its name, and no for fake."""
    name = (settings.value("model", model.model) or "").lower()
    return not name.startswith("fake") and not any(word in name for word in _MANY_LANGUAGES)


def refuse_submission(layout: str, k: int) -> None:
    """Refuse several captions an image in a submission file.

    Raises
    ------
    InputError
        When the layout is ``coco`` or ``clipscore`` and ``k`` is above 1.
    """
    if k > 1 and layout in {"coco", "clipscore"}:
        msg = f"--format {layout} is a submission, one caption an image: with -k {k} choose --format jsonl or parquet"
        raise InputError(msg)


def refuse_many(names: Sequence[str], layout: str) -> None:
    """Refuse several systems in a layout that names none.

    Raises
    ------
    InputError
        When there are several and the layout is ``coco`` or ``clipscore``.
    """
    if len(names) > 1 and layout in {"coco", "clipscore"}:
        msg = f"{layout} holds one system, here are {len(names):,}: name one, or choose --format jsonl, csv or parquet"
        raise InputError(msg)


def say_warnings(lines: Iterable[str], notes: Notes) -> None:
    """Write each warning once."""
    for line in dict.fromkeys(lines):
        notes.warn(line)


def unreadable(failures: Sequence[Failure], notes: Notes) -> int:
    """Name the images that could not be read; return the exit code."""
    for failure in failures:
        notes.error(f"{failure.name}: {failure.reason}")
    if not failures:
        return 0
    count = "1 image" if len(failures) == 1 else f"{len(failures):,} images"
    notes.error(f"{count} could not be read or encoded; run again to retry only what failed")
    return 1
