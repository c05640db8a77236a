"""Largest useful counts for costs of the form hyperbolic / w + linear w + constant, w = 1, 2, ...

Such a cost is convex or increasing, so counts beyond the cheapest are of no use. A price limits the pairs
that many such jobs need to about C in all: let F be the jobs without a charge for changing their count, and
w_j(p) the count that minimises cost_j + p w. If the w_j(p) of F and the smallest counts of all other jobs
add up to more than C, some optimal answer gives no job more than w_j(p), except its current count. *Proof.*
If job j has more (and not its current count), some i in F has less than w_i(p). Move one unit from j to i: j
loses at most p (convexity), i gains at least p. The greedy methods too stay within w_j(p): they exhaust the
units on savings above p.
"""

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray

_HALVINGS = 60  # the price is then known to 2**-60 of its range


def useful_most(
    hyperbolic: FloatArray, linear: FloatArray, largest: FloatArray, free: BoolArray, spare: int
) -> list[int]:
    """Return w_j(p) of every job for a price p at which demand exceeds the capacity, rounded up generously.

    ``hyperbolic``, ``linear`` (coefficients), ``largest`` (counts) and ``free`` (whether in F) have shape (J,);
    ``spare`` is the capacity beyond the smallest counts of all jobs.
    """
    needed = spare + 3.0 * len(hyperbolic)  # for every job 1 for its smallest count, 2 for rounding
    low, high = 0.0, float(np.max(hyperbolic, initial=0.0))

    def exceeded(price: float) -> bool:
        return float(_demand(hyperbolic, linear, largest, price)[free].sum()) > needed

    # Bisection: ``low`` stays a price at which demand exceeds the capacity, so the theorem holds there.
    if exceeded(low):
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if exceeded(middle) else (low, middle)
    return [int(demand) + 2 for demand in _demand(hyperbolic, linear, largest, low).tolist()]


def _demand(hyperbolic: FloatArray, linear: FloatArray, largest: FloatArray, price: float) -> FloatArray:
    """Real count that minimises hyperbolic / w + (linear + price) w, from 1 to the largest; shape (J,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.sqrt(np.maximum(hyperbolic, 0.0) / (linear + price))
    best[np.maximum(hyperbolic, 0.0) == 0.0] = 1.0
    return np.clip(best, 1.0, largest)
