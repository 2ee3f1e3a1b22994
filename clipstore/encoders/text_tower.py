"""The text tower at its true length, where a check at load shows that this is exact.

A causal tower that reads one feature at the end token can't be influenced by what follows,
so a batch may be cut to its longest text. Whether a tower is such a one is measured, never
looked up: a few texts are embedded both ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clipstore.encoders.protocol import Tokens

_TOLERANCE = 1e-6  # of the cosine, in float32; a wrong path is off by 1e-2 and more
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
        Texts of several lengths, for the check.
    """

    def __init__(self, network: torch.nn.Module, context_length: int, probes: Sequence[Tokens]) -> None:
        self._network: Any = network
        self._parts: Any = getattr(network, "text", network)
        self._context = context_length
        self._pool = getattr(self._parts, "pool_type", getattr(network, "text_pool_type", ""))
        self._end: Any = getattr(self._parts, "eos_id", getattr(network, "text_eos_id", None))
        self.cuts = False
        self.cuts = self._can_be_cut() and self._agrees(probes)

    def __call__(self, texts: Sequence[Tokens], device: torch.device) -> torch.Tensor:
        """Return features that are not normalised, of shape (len(texts), dim)."""
        if not self.cuts:
            return self._whole(self._padded(texts, self._context, device))
        return self._short(self._padded(texts, max(len(text.ids) for text in texts), device))

    def _whole(self, ids: torch.Tensor) -> torch.Tensor:
        features: torch.Tensor = self._network.encode_text(ids)
        return features

    def _short(self, ids: torch.Tensor) -> torch.Tensor:
        """Embed ids of any length up to the context; the end token's row alone is normed and projected."""
        parts, length = self._parts, ids.shape[1]
        dtype = parts.transformer.get_cast_dtype()
        x = parts.token_embedding(ids).to(dtype) + parts.positional_embedding[:length].to(dtype)
        x = parts.transformer(x, attn_mask=parts.attn_mask[:length, :length])
        read = ids.argmax(dim=-1) if self._pool == "argmax" else ids.eq(self._end).int().argmax(dim=-1)
        features: torch.Tensor = parts.ln_final(x[torch.arange(len(x), device=x.device), read])
        projection: torch.nn.Linear | torch.Tensor | None = parts.text_projection
        if isinstance(projection, torch.nn.Linear):
            features = projection(features)
        elif projection is not None:
            features = features @ projection
        return features

    def _can_be_cut(self) -> bool:
        """Say whether the tower has the parts that the short path needs."""
        has_parts = all(hasattr(self._parts, name) for name in _PARTS)
        causal = getattr(self._parts, "attn_mask", None) is not None
        no_class_token = getattr(self._parts, "cls_emb", None) is None
        return has_parts and causal and no_class_token and self._pool in {"argmax", "eos"}

    def _agrees(self, probes: Sequence[Tokens]) -> bool:
        """Embed a few texts both ways, and compare their directions."""
        device = next(self._network.parameters()).device
        with torch.inference_mode():
            whole = self._whole(self._padded(probes, self._context, device)).double()
            short = self._short(self._padded(probes, max(len(text.ids) for text in probes), device)).double()
        apart = 1 - torch.nn.functional.cosine_similarity(whole, short, dim=-1)
        return bool((apart < _TOLERANCE).all())  # False where a feature is not finite

    @staticmethod
    def _padded(texts: Sequence[Tokens], length: int, device: torch.device) -> torch.Tensor:
        ids = torch.zeros(len(texts), length, dtype=torch.long)
        for row, text in enumerate(texts):
            ids[row, : len(text.ids)] = torch.tensor(text.ids)
        return ids.to(device, non_blocking=True)
