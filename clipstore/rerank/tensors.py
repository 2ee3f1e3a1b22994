"""Arrays as the caller's tensors: the one place of the verbs that may name torch, when asked for a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clipstore.arrays import Scores


def as_tensor(values: Scores, device: object) -> Any:
    """Return a float32 tensor on a torch device, such as ``cuda:0``, ``cpu`` or a ``torch.device``."""
    import torch  # the caller trains with it: it is loaded already

    return torch.from_numpy(values).to(torch.device(str(device)))
