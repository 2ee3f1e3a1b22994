"""Which activation a file of weights was trained with: known, or refused; never guessed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from open_clip.pretrained import get_pretrained_cfg, list_pretrained_tags_by_model

from clipstore.encoders.names import QUICKGELU, ModelName
from clipstore.errors import EncoderError

if TYPE_CHECKING:
    from clipstore.encoders.source import Source
    from clipstore.encoders.weights import Weights


def settle(name: ModelName, source: Source, weights: Weights) -> bool:
    """Return whether the network is to use QuickGELU.

    The tag or the config says it; else OpenAI's layout (always QuickGELU) or a file whose
    digest open_clip publishes. A wrong activation gives plausible, wrong scores, so a case
    that nothing settles is refused.

    Raises
    ------
    EncoderError
        When nothing says which activation it is, or the file contradicts the name.
    """
    if weights.openai:
        if source.quick_gelu is False:
            message = (
                f"{weights.path}: OpenAI's layout, whose networks use QuickGELU, but {name.shown} uses GELU; "
                f"name {_twin(name)} or {name.architecture}/openai"
            )
            raise EncoderError(message)
        return True
    if source.quick_gelu is not None:
        return source.quick_gelu
    known = _published(name.architecture, weights.sha256())
    if known is not None:
        return known
    plain = [tag for tag in list_pretrained_tags_by_model(name.architecture) if not _is_quick(name.architecture, tag)]
    example = f"a tag, such as {name.architecture}/{plain[0] if plain else 'openai'} (GELU)"
    message = (
        f"{weights.path}: nothing says whether these weights use QuickGELU or GELU, and {name.architecture} exists "
        f"both ways. Name {_twin(name)} (QuickGELU), {name.architecture}/openai (QuickGELU), or {example}"
    )
    raise EncoderError(message)


def _twin(name: ModelName) -> str:
    return name.architecture.removesuffix(QUICKGELU) + QUICKGELU


def _is_quick(architecture: str, tag: str) -> bool:
    return bool(get_pretrained_cfg(architecture, tag).get("quick_gelu"))


def _published(architecture: str, sha256: str) -> bool | None:
    """Return the activation of the tag whose published digest the file has; None where none has it."""
    for tag in list_pretrained_tags_by_model(architecture):
        url = str(get_pretrained_cfg(architecture, tag).get("url", ""))
        parts = url.split("/")
        digest = parts[-2] if "openaipublic" in url else parts[-1].rpartition(".")[0].rpartition("-")[2]
        if len(digest) >= 8 and sha256.startswith(digest):  # open_clip's file names hold 8 digits
            return _is_quick(architecture, tag)
    return None
