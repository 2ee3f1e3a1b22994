"""The text tower at its true length, where a check at load shows that this is exact.

A causal tower that reads one feature at the end token can't be influenced by what follows,
so a batch may be cut to its longest text, what all its texts start with may be computed once,
and the last block is needed at the end token only. Whether a tower is such a one is measured,
never looked up: a few texts are embedded both ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import torch

from clipstore.encoders import text_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.encoders.protocol import Tokens

_TOLERANCE = 1e-6  # of the cosine, in float32; a wrong path is off by 1e-2 and more
_SHARED_BY = 4  # texts that a shared start must serve
_PARTS = ("token_embedding", "positional_embedding", "transformer", "ln_final", "text_projection", "attn_mask")


@final
class TextTower:
    """Token ids to features.

    Parameters
    ----------
    network
        One of open_clip's classes, in float32 while this is built.
    context_length
        Ids that the tower takes at full length.
    probes
        Texts of several lengths, for the check; the last four with a start of their own.
    """

    def __init__(self, network: torch.nn.Module, context_length: int, probes: Sequence[Tokens]) -> None:
        self._network: Any = network
        self._parts: Any = getattr(network, "text", network)
        self._context = context_length
        self._pool = getattr(self._parts, "pool_type", getattr(network, "text_pool_type", ""))
        self._end: Any = getattr(self._parts, "eos_id", getattr(network, "text_eos_id", None))
        self._own = text_blocks.supported(getattr(self._parts, "transformer", None))
        self._start: text_blocks.Start | None = None
        self.cuts = False
        self.cuts = self._can_be_cut() and self._agrees(probes)
        self._start = None  # the weights may be cast now

    def __call__(self, texts: Sequence[Tokens], device: torch.device) -> torch.Tensor:
        """Return features that are not normalised, of shape (len(texts), dim)."""
        if not self.cuts:
            return self._whole(self.padded(texts, self._context, device))
        return self._short(texts, device)

    def _whole(self, ids: torch.Tensor) -> torch.Tensor:
        features: torch.Tensor = self._network.encode_text(ids)
        return features

    def _short(self, texts: Sequence[Tokens], device: torch.device) -> torch.Tensor:
        """Embed texts at the length of the longest; the end token's row alone is normed and projected."""
        parts = self._parts
        ids = self.padded(texts, max(len(text.ids) for text in texts), device)
        read = ids.argmax(dim=-1) if self._pool == "argmax" else ids.eq(self._end).int().argmax(dim=-1)
        if self._own:
            shared = self._shared(texts, device)
            before = 0 if shared is None else len(shared.ids)
            x = self._embedded(ids[:, before:], before)
            row = text_blocks.read(parts.transformer.resblocks, x, read - before, shared)
        else:
            length = ids.shape[1]
            x = parts.transformer(self._embedded(ids, 0), attn_mask=parts.attn_mask[:length, :length])
            row = x[torch.arange(len(x), device=x.device), read]
        features: torch.Tensor = parts.ln_final(row)
        projection: torch.nn.Linear | torch.Tensor | None = parts.text_projection
        if isinstance(projection, torch.nn.Linear):
            features = projection(features)
        elif projection is not None:
            features = features @ projection
        return features

    def _embedded(self, ids: torch.Tensor, first: int) -> torch.Tensor:
        """Return embeddings of ids that stand from position ``first`` on, shape (batch, tokens, width)."""
        parts, dtype = self._parts, self._parts.transformer.get_cast_dtype()
        embedded: torch.Tensor = parts.token_embedding(ids).to(dtype)
        positions: torch.Tensor = parts.positional_embedding[first : first + ids.shape[1]].to(dtype)
        return embedded + positions

    def _shared(self, texts: Sequence[Tokens], device: torch.device) -> text_blocks.Start | None:
        """Return what all texts start with, computed once; None where that is nothing, or for too few texts."""
        if len(texts) < _SHARED_BY:
            return None
        least, most = min(text.ids for text in texts), max(text.ids for text in texts)
        room = min(len(text.ids) for text in texts) - 1  # each keeps its end
        same = next((at for at in range(room) if least[at] != most[at]), room)
        if not same:
            return None
        ids = least[:same]
        if self._start is None or self._start.ids != ids:
            x = self._embedded(torch.tensor([ids], device=device), 0)
            self._start = text_blocks.start(self._parts.transformer.resblocks, ids, x)
        return self._start

    def _can_be_cut(self) -> bool:
        """Say whether the tower has the parts that the short path needs."""
        has_parts = all(hasattr(self._parts, name) for name in _PARTS)
        causal = getattr(self._parts, "attn_mask", None) is not None
        no_class_token = getattr(self._parts, "cls_emb", None) is None
        return has_parts and causal and no_class_token and self._pool in {"argmax", "eos"}

    def _agrees(self, probes: Sequence[Tokens]) -> bool:
        """Embed a few texts both ways, together and the last ones apart, and compare their directions."""
        device = next(self._network.parameters()).device
        with torch.inference_mode():
            whole = self._whole(self.padded(probes, self._context, device))
            together = self._short(probes, device)
            apart = self._short(probes[-_SHARED_BY:], device)
        short, whole = torch.cat([together, apart]).double(), torch.cat([whole, whole[-_SHARED_BY:]]).double()
        gaps = 1 - torch.nn.functional.cosine_similarity(whole, short, dim=-1)
        return bool((gaps < _TOLERANCE).all())  # False where a feature is not finite

    @staticmethod
    def padded(texts: Sequence[Tokens], length: int, device: torch.device) -> torch.Tensor:
        """Return ids padded with 0 to a length, int64 of shape (len(texts), length)."""
        ids = torch.zeros(len(texts), length, dtype=torch.long)
        for row, text in enumerate(texts):
            ids[row, : len(text.ids)] = torch.tensor(text.ids)
        return ids.to(device, non_blocking=True)
