"""How large a difference is, apart from how sure: standardised difference, wins, ties and losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from clipstore.significance.streams import Matrix

# A spread below this times the mean difference is rounding: every difference is the same.
_NO_SPREAD = 1e-10


def standardised(differences: Matrix) -> float | None:
    """Return d_z: the mean difference over the standard deviation of the differences (Cohen 1988, section 2.3.5).

    Parameters
    ----------
    differences
        float64, shape (n,).

    Returns
    -------
    float | None
        0 where nothing differs; None below two items and where all differences are equal.
    """
    if not differences.any():
        return 0.0 if len(differences) else None
    mean = float(differences.mean())
    spread = float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    return None if spread <= _NO_SPREAD * abs(mean) else mean / spread


def win_tie_loss(differences: Matrix, epsilon: float, *, higher_is_better: bool = True) -> tuple[int, int, int]:
    """Return on how many items the first system is better, within ``epsilon``, and worse.

    Parameters
    ----------
    differences
        First less second system, float64, shape (n,).
    epsilon
        Differences up to this size are ties; above 0 for scores that carry rounding.
    higher_is_better
        Which sign is a win.
    """
    above = int(np.count_nonzero(differences > epsilon))
    below = int(np.count_nonzero(differences < -epsilon))
    ties = len(differences) - above - below
    return (above, ties, below) if higher_is_better else (below, ties, above)


def win_rate(wins: int, ties: int, losses: int) -> float | None:
    """Return (wins + ties / 2) / n, the probability of superiority with ties split; None without items."""
    n = wins + ties + losses
    return (wins + ties / 2) / n if n else None
