"""The blocks of a causal text tower, run for what is read: shared start once, last block for one row.

The same sums as open_clip's own blocks, in another order; :mod:`clipstore.encoders.text_tower`
checks at load that they agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import torch
from open_clip.transformer import ResidualAttentionBlock
from torch.nn.functional import linear, scaled_dot_product_attention

if TYPE_CHECKING:
    from collections.abc import Sequence

Heads = tuple[torch.Tensor, torch.Tensor]
"""Keys and values of one block: (batch, heads, tokens, width of a head) each."""


@final
@dataclass(frozen=True, slots=True)
class Start:
    """What the later tokens of every text need of the tokens that all texts start with.

    Parameters
    ----------
    ids
        Those tokens.
    held
        Their keys and values in each block, for a batch of one.
    """

    ids: tuple[int, ...]
    held: tuple[Heads, ...]


def supported(transformer: Any) -> bool:
    """Say whether every block is open_clip's plain one: layer norm, attention, layer norm, two linear layers."""
    blocks = list(getattr(transformer, "resblocks", ()))
    return bool(blocks) and all(
        type(block) is ResidualAttentionBlock
        and not hasattr(block, "ln_1_kv")
        and type(block.attn) is torch.nn.MultiheadAttention
        and block.attn.in_proj_weight is not None
        and block.attn.bias_k is None
        and not block.attn.add_zero_attn
        for block in blocks
    )


def start(blocks: Sequence[Any], ids: tuple[int, ...], x: torch.Tensor) -> Start:
    """Return what is needed of a shared start.

    Parameters
    ----------
    blocks
        The tower's blocks.
    ids
        The shared tokens.
    x
        Their embeddings with positions, shape (1, tokens, width).
    """
    held = []
    for block in blocks:
        query, key, value = _heads(block, linear(block.ln_1(x), block.attn.in_proj_weight, block.attn.in_proj_bias))
        held.append((key, value))
        x = _rest(block, x, scaled_dot_product_attention(query, key, value, is_causal=True))
    return Start(ids, tuple(held))


def read(blocks: Sequence[Any], x: torch.Tensor, rows: torch.Tensor, shared: Start | None) -> torch.Tensor:
    """Return the last block's output at one position of each text.

    Parameters
    ----------
    blocks
        The tower's blocks.
    x
        Embeddings with positions of the tokens after the shared start, shape (batch, tokens, width).
    rows
        The position to read in each text, counted from the first token of ``x``; int64, shape (batch,).
    shared
        What all texts start with, or None.

    Returns
    -------
    torch.Tensor
        Shape (batch, width).
    """
    before = 0 if shared is None else len(shared.ids)
    mask = None
    if before:
        length = x.shape[1]
        mask = torch.ones(length, before + length, dtype=torch.bool, device=x.device).tril(diagonal=before)
    for number, block in enumerate(blocks[:-1]):
        made = linear(block.ln_1(x), block.attn.in_proj_weight, block.attn.in_proj_bias)
        query, key, value = _heads(block, made)
        if shared is not None:
            key, value = _after(shared.held[number], key, value)
        x = _rest(block, x, scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=mask is None))
    return _last(blocks[-1], x, rows, None if shared is None else shared.held[-1])


def _last(block: Any, x: torch.Tensor, rows: torch.Tensor, held: Heads | None) -> torch.Tensor:
    """Run a block for one row of each text: keys and values of all rows, the rest of that row only."""
    batch, width = len(x), x.shape[-1]
    weight, bias = block.attn.in_proj_weight, block.attn.in_proj_bias
    normed, row = block.ln_1(x), torch.arange(batch, device=x.device)
    key, value = _heads(block, linear(normed, weight[width:], bias[width:]))
    (query,) = _heads(block, linear(normed[row, rows], weight[:width], bias[:width])[:, None])
    before = 0
    if held is not None:
        before = held[0].shape[2]
        key, value = _after(held, key, value)
    seen = torch.arange(key.shape[2], device=x.device)[None] <= rows[:, None] + before
    mixed = scaled_dot_product_attention(query, key, value, attn_mask=seen[:, None, None])
    return _rest(block, x[row, rows][:, None], mixed)[:, 0]


def _heads(block: Any, made: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Split projections, shape (batch, tokens, n * width), into n tensors of (batch, heads, tokens, width / heads)."""
    heads, wide = block.attn.num_heads, block.attn.head_dim
    batch, tokens, _ = made.shape
    return made.view(batch, tokens, -1, heads, wide).permute(2, 0, 3, 1, 4).unbind(0)


def _after(held: Heads, key: torch.Tensor, value: torch.Tensor) -> Heads:
    """Put the shared keys and values before each text's own."""
    many = len(key)
    return torch.cat([held[0].expand(many, -1, -1, -1), key], 2), torch.cat(
        [held[1].expand(many, -1, -1, -1), value], 2
    )


def _rest(block: Any, x: torch.Tensor, mixed: torch.Tensor) -> torch.Tensor:
    """Finish a block: project what attention mixed, then the two linear layers."""
    batch, _, tokens, _ = mixed.shape
    joined = mixed.transpose(1, 2).reshape(batch, tokens, -1)
    x = x + block.ls_1(block.attn.out_proj(joined))
    whole: torch.Tensor = x + block.ls_2(block.mlp(block.ln_2(x)))
    return whole
