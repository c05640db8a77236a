"""Figures of a sample of instances or jobs: location, mean times, fairness, performance and data profiles.

Location of values (finite numbers, one an instance, in any order): without values the functions return None.

======= ======================================================================
symbol  here
======= ======================================================================
tau     `performance_profile(...)[0]`, a factor of the best known objective
rho     `performance_profile(...)[1]`, the fraction of instances within tau
alpha   `data_profile(...)[0]`, a budget in units of an instance's size
d       `data_profile(...)[1]`, the fraction of instances solved within alpha
======= ======================================================================

Dolan and Moré, "Benchmarking optimization software with performance profiles", Mathematical Programming 91 (2002); Moré and
Wild, "Benchmarking derivative-free optimization algorithms", SIAM Journal on Optimization 20 (2009).
"""

import math
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np


def mean(values: Sequence[float]) -> float | None:
    """Arithmetic mean; None without values.

    >>> mean([1.0, 2.0, 6.0])
    3.0
    """
    return float(np.mean(values)) if len(values) else None


def median(values: Sequence[float]) -> float | None:
    """Middle value, or the mean of the two in the middle; None without values.

    >>> median([1.0, 6.0, 2.0]), median([1.0, 2.0])
    (2.0, 1.5)
    """
    return percentile(values, 50)


def percentile(values: Sequence[float], share: float) -> float | None:
    """Value that ``share`` per cent of the values do not exceed, interpolated linearly; None without values.

    Of n sorted values it is the one at index ``(n - 1) share / 100``, counted from 0: type 7 of Hyndman and Fan, "Sample
    quantiles in statistical packages", The American Statistician 50 (1996).

    >>> percentile([10.0, 20.0, 30.0], 75)
    25.0
    """
    return float(np.percentile(values, share)) if len(values) else None


def worst(values: Sequence[float]) -> tuple[int, float] | None:
    """Index and value of the largest, the first of equal ones; None without values.

    >>> worst([1.0, 3.0, 3.0])
    (1, 3.0)
    """
    if not len(values):
        return None
    index = int(np.argmax(values))
    return index, float(values[index])


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


def fairness(ratios: Sequence[float]) -> dict[str, float]:
    """Finish-time fairness: jobs' times over those on a fair share, rho = T_shared / T_independent > 0.

    ``max_rho``, ``mean_rho``: the largest, and the mean; ``jain_index``: Jain's index of rho, from 1 / J (one job has it all) to
    1 (all fare alike). All are 1 without jobs; the result is empty if some ratio is beyond all floats.

    Source: Mahajan et al., Themis, NSDI 2020; Jain, Chiu, Hawe, DEC-TR-301, 1984.

    >>> fairness([1.0, 4.0])
    {'max_rho': 4.0, 'mean_rho': 2.5, 'jain_index': 0.7352941176470589}
    """
    if not ratios:
        return {"max_rho": 1.0, "mean_rho": 1.0, "jain_index": 1.0}
    largest = max(ratios)
    if math.isinf(largest):
        return {}
    parts = [ratio / largest for ratio in ratios]  # whose squares neither overflow nor vanish
    total, squares = math.fsum(parts), math.fsum(part * part for part in parts)
    return {
        "max_rho": largest,
        "mean_rho": total / len(parts) * largest,
        "jain_index": min(1.0, total * total / (len(parts) * squares)),
    }


Steps = tuple[tuple[float, ...], tuple[float, ...]]


def performance_profile(ratios: Sequence[float | None]) -> Steps:
    """Return the steps of one method's profile: factors tau, and the fraction of instances within each.

    `ratios` has one entry an instance, None if the method has no answer. The first tau is always 1.
    ValueError: no entry.

    >>> performance_profile([1.0, 1.5, None, 1.5])
    ((1.0, 1.5), (0.25, 0.75))
    """
    return steps(ratios, "ratios", 1.0)


def data_profile(costs: Sequence[float | None], sizes: Sequence[int]) -> Steps:
    """Return the steps of one method's data profile: budgets alpha, and the fraction of instances solved within each.

    `costs` has one entry an instance, what solving it took (evaluations, nodes, seconds), None if it was not
    solved; `sizes` has its number of variables n. A budget alpha allows alpha (n + 1). The first alpha is
    always 0.

    Raises
    ------
    ValueError
        There is no entry, not as many sizes as costs, or a size or cost below 0.

    >>> data_profile([6.0, None, 4.0, 9.0], [2, 2, 1, 2])
    ((0.0, 2.0, 3.0), (0.0, 0.5, 0.75))
    """
    if len(costs) != len(sizes):
        raise ValueError(f"sizes: found {len(sizes)}, allowed: as many as costs, {len(costs)}")
    if any(size < 0 for size in sizes) or any(cost is not None and cost < 0 for cost in costs):
        raise ValueError("costs and sizes: found a number below 0, allowed: numbers >= 0")
    pairs = zip(costs, sizes, strict=True)
    return steps([None if cost is None else cost / (size + 1) for cost, size in pairs], "costs", 0.0)


def steps(values: Sequence[float | None], name: str, start: float) -> Steps:
    """Return the values from ``start`` on, and the share of all that are known and at most each; ValueError: no entry."""
    if not values:
        raise ValueError(f"{name}: found none, allowed: one entry an instance, at least one")
    reached = sorted(max(value, start) for value in values if value is not None)
    ends = tuple(sorted({start, *reached}))
    return ends, tuple(bisect_right(reached, end) / len(values) for end in ends)
