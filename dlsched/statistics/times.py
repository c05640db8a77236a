"""Shifted geometric mean and PAR10 of running times, which span magnitudes and which a limit cuts off."""

import math
from collections.abc import Sequence


def shifted_geometric_mean(times_s: Sequence[float], shift_s: float) -> float | None:
    """Return ``prod(time + shift)^(1/n) - shift`` in seconds; None without times.

    Long times weigh less than in a mean, and times far below the shift make no difference either.
    Achterberg, *Constraint Integer Programming* (2007), appendix A.3.

    Raises
    ------
    ValueError
        A time or the shift is negative, or both are 0.

    >>> round(shifted_geometric_mean([0.0, 3.0], shift_s=1.0), 12)
    1.0
    """
    if not times_s:
        return None
    least = min(times_s)
    if least < 0 or shift_s < 0 or least + shift_s <= 0:
        raise ValueError(f"times: found {least} with the shift {shift_s}, allowed: numbers >= 0 whose sum is > 0")
    return math.exp(math.fsum(math.log(time + shift_s) for time in times_s) / len(times_s)) - shift_s


def par10(times_s: Sequence[float | None], limit_s: float | None) -> float | None:
    """Mean seconds in which runs reached their goal; a run that did not (None) counts ten times the limit.

    The result is None without runs, or if a run did not reach its goal and there is no limit. Penalised
    average runtime: Hutter, Hoos, Leyton-Brown and Stützle, "ParamILS", Journal of Artificial Intelligence
    Research 36 (2009).

    >>> par10([1.0, None, 2.0], limit_s=60.0)
    201.0
    """
    if not times_s or (limit_s is None and None in times_s):
        return None
    penalty = 0.0 if limit_s is None else 10 * limit_s
    return math.fsum(penalty if time is None else time for time in times_s) / len(times_s)
