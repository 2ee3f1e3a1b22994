"""From a comparison and its store to a report: pictures, cut captions, closest references, reranks, facts."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from clipstore.encoders import bpe
from clipstore.errors import NotStored
from clipstore.evalset.systems import one_each
from clipstore.evaluate.caption_metrics import retrieval_measures
from clipstore.metrics import clip_s, recipes
from clipstore.report.report import RANKED, Report, Rerank
from clipstore.report.thumbs import Pictures
from clipstore.storage import overlay
from clipstore.storage.catalogue import contents, runs, sets, settings
from clipstore.store import Space

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clipstore.compare import Comparison
    from clipstore.evaluate.measured import Measured
    from clipstore.report.report import Closest, Numbers
    from clipstore.storage.catalogue import Catalogue
    from clipstore.store import Store


def gather(comparison: Comparison, where: Space | Store, *, images: bool = True, seed: int = 12345) -> Report:
    """Return the report of a comparison; nothing is encoded.

    Parameters
    ----------
    comparison
        Of one eval set; slices may follow it.
    where
        The vectors that it was made from, or the store where no metric looks at images.
    images
        False leaves every picture out.
    seed
        Of the random images that a file shows.
    """
    measured = comparison.parts[0].measured
    catalogue = where.catalogue
    ids = sorted({id_ for id_ in measured.items.image_ids if id_ is not None})
    sizes: dict[int, tuple[int, int]] = {}
    for one in (*catalogue.bases, catalogue):
        with one.read() as tx:
            sizes |= {id_: (row.width, row.height) for id_, row in contents.images(tx, ids).items()}
    paths = overlay.paths(catalogue, ids) if images else {}
    space = where if isinstance(where, Space) and "clip-s" in measured.measures else None
    said = {} if space is None else _said(measured)
    return Report(
        comparison,
        Pictures(paths, sizes),
        _cuts(space, measured, said),
        _own_ranks(space, measured),
        _closest(space, measured, said),
        _reranks(catalogue, measured),
        _facts(comparison, catalogue, space),
        _context(space),
        seed,
        _length(space),
        said,
    )


def _said(measured: Measured) -> dict[str, str]:
    """Return what the recipe encoded for each caption and reference."""
    captions = (text for one in measured.systems for text in one.texts if text is not None)
    references = (text for held in measured.items.references for text in held)
    return recipes.spoken(recipes.recipe(measured.recipe), [*captions, *references])


def _cuts(space: Space | None, measured: Measured, said: Mapping[str, str]) -> np.ndarray:
    out = np.zeros((len(measured.systems), len(measured.items.keys)), np.int64)
    if space is None:
        return out
    for row, system in enumerate(measured.systems):
        written = [item for item, text in enumerate(system.texts) if text is not None]
        texts = [said[str(system.texts[item])] for item in written]
        keys = space.text_keys(texts, recipes.recipe(measured.recipe).prefix)
        found = space.cuts(keys)
        if found:
            out[row, written] = [found.get(key, 0) for key in keys.tolist()]
    return out


def _own_ranks(space: Space | None, measured: Measured) -> Numbers | None:
    """Return where each caption finds its own image among the set's; None where nobody can say, or it is large."""
    known = measured.measures.get("median-rank")
    if known is not None:
        return known.per_item.astype(np.float64)
    if space is None or len(measured.items.keys) > RANKED or not all(one.texts for one in measured.systems):
        return None
    systems = [one_each(one.name, measured.items.keys, one.texts) for one in measured.systems]
    signature = measured.measures["clip-s"].signature
    try:
        made = retrieval_measures(
            space, systems, measured.items.image_ids, recipes.recipe(measured.recipe), ["median-rank"], signature
        )
    except NotStored:
        return None
    return made["median-rank"].per_item.astype(np.float64)


def _closest(space: Space | None, measured: Measured, said: Mapping[str, str]) -> Closest:
    prefix = recipes.recipe(measured.recipe).prefix

    def closest(row: int) -> Mapping[str, tuple[int, float]]:
        texts = {one.name: text for one in measured.systems if one.texts and (text := one.texts[row])}
        held = measured.items.references[row] if measured.items.references else ()
        if space is None or not held or not texts:
            return {}
        try:
            references = space.gather_texts(space.text_keys([said[text] for text in held], prefix))
            captions = space.gather_texts(space.text_keys([said[text] for text in texts.values()], prefix))
        except NotStored:
            return {}
        own = np.arange(len(references))
        out = {}
        for place, name in enumerate(texts):
            cosines = clip_s.similarities(captions, np.full(len(own), place), references, own)
            out[name] = (int(cosines.argmax()) + 1, float(cosines.max()))
        return out

    return closest


def _reranks(catalogue: Catalogue, measured: Measured) -> tuple[Rerank, ...]:
    """Return the systems that reranking made, each with the gain of the run that made it."""
    if measured.set_name is None:
        return ()
    with catalogue.read() as tx:
        try:
            rows = sets.systems(tx, measured.set_name)
        except NotStored:
            return ()
    made = {row.name: row.origin for row in rows if _is_rerank(row.origin) and row.name in measured.names}
    found = []
    for one in (*catalogue.bases, catalogue) if made else ():
        with one.read() as tx:
            found += [run for run in runs.all(tx) if run.verb == "rerank"]
    return tuple(_rerank(name, origin, [run.result for run in found]) for name, origin in made.items())


def _is_rerank(origin: Mapping[str, Any]) -> bool:
    return "method" in origin and origin.get("verb") != "retrieve"


def _rerank(name: str, origin: Mapping[str, Any], results: list[dict[str, Any]]) -> Rerank:
    mine = [one for one in results if _same(one.get("origin", {}), origin)]
    with_gain = [one for one in mine if one.get("gain")]
    best = (with_gain or mine or [{}])[-1]
    signature = "|".join(f"{field}:{value}" for field, value in best.get("signature", {}).items())
    return Rerank(name, origin, best.get("gain"), signature)


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(one) and all(other.get(name) == value for name, value in one.items())


def _context(space: Space | None) -> int | None:
    if space is None:
        return None
    found = space.fingerprint.fields.get("context_length")
    return int(found) if isinstance(found, int | float) else None


def _length(space: Space | None) -> Callable[[str], int] | None:
    """Return how many tokens a word is, for OpenAI's tokenizer; other tokenizers are not known here."""
    fields = {} if space is None else space.fingerprint.fields
    tokenizer = fields.get("tokenizer")
    known = isinstance(tokenizer, dict) and tokenizer.get("name") == "openai-bpe"
    return bpe.length if known else None


def _facts(comparison: Comparison, catalogue: Catalogue, space: Space | None) -> tuple[tuple[str, str], ...]:
    measured, settings_ = comparison.parts[0].measured, comparison.settings
    facts = [
        ("eval set", f"{measured.set_name or '(from files)'}, hash {measured.set_digest[:8]}"),
        ("images", f"{len(measured.items.keys):,} of {measured.of:,}"),
        ("systems", f"{len(measured.systems):,}"),
        ("clipstore", metadata.version("clipstore")),
        ("test", f"{settings_.test}, correction {settings_.correction}, alpha {settings_.alpha:g}"),
        ("resamples", f"{settings_.resamples:,}, seed {settings_.seed}"),
    ]
    if space is not None:
        named = dict(measured.measures["clip-s"].signature.fields).get("model", "")
        facts.append(("model", f"{named}, fingerprint {space.fingerprint.digest}"))
        facts += [(f"model: {name}", _flat(value)) for name, value in space.fingerprint.fields.items()]
    made = dict[str, None]()
    for one in (*catalogue.bases, catalogue):
        with one.read() as tx:
            held = settings.environments(tx).values()
        made |= dict.fromkeys(", ".join(f"{name} {value}" for name, value in fields.items()) for fields in held)
    facts += [(f"vectors made with ({number})", fields) for number, fields in enumerate(made, 1)]
    return tuple(facts)


def _flat(value: object) -> str:
    """Return a value of a fingerprint on one line."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_flat(own)}" for name, own in value.items())
    return "x".join(map(str, value)) if isinstance(value, list) else str(value)
