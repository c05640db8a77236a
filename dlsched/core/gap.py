"""What passes for equal, and the formulas of gaps and ratios. Each tolerance is relative to the numbers compared.

==============  ==========  ================================================================================================
name            value       why
==============  ==========  ================================================================================================
``MEETING``     1e-6        solvers prove to about this; objective and bound that are nearer meet
``CLOSED``      2e-9        what is added to bounds in floats, and as much for the programs that they come from: exact methods
                            that can go on, go on to this; a larger gap is said beside ``optimal``
``FEASIBLE``    1e-9        of a capacity, bandwidth, budget or duration: sums of thousands of floats stay below it
``ROUNDING``    8 ulp       numbers that are read off an absolute clock, or sums with a large constant, hold no more digits
==============  ==========  ================================================================================================

``gap = |objective - bound| / max(|objective|, |bound|)``; ``ratio = objective / optimum`` (minimising) or
``optimum / objective`` (maximising), and the other way round for losses (numbers < 0), so that a larger
ratio is always worse. Unknown is None, never 0 or infinity.

A family's ``constant`` is the part of an objective that all solutions share, such as the sum of the releases
in a sum of completion times. It says nothing about a decision, so it is subtracted from every number first.
"""

from dlsched.core.status import Sense

MEETING = 1e-6
CLOSED = 2e-9
FEASIBLE = 1e-9
ROUNDING = 8 * 2.0**-52


def tolerance(*values: float) -> float:
    """Return by how much a solution may miss a capacity or duration: ``FEASIBLE`` times the largest value."""
    return FEASIBLE * max(map(abs, values))


def rounding(*values: float) -> float:
    """Return the possible rounding error of a sum of these numbers: 8 ulp of the largest."""
    return ROUNDING * max(map(abs, values))


def gap(objective: float | None, bound: float | None, constant: float = 0.0) -> float | None:
    """Relative gap, 0 when equal, None when either is unknown.

    >>> gap(110.0, 100.0)
    0.09090909090909091
    >>> gap(1110.0, 1100.0, constant=1000.0)
    0.09090909090909091
    """
    if objective is None or bound is None:
        return None
    if objective == bound:
        return 0.0
    return abs(objective - bound) / max(abs(objective - constant), abs(bound - constant))


def meets(objective: float, bound: float, constant: float = 0.0, *, within: float = MEETING) -> bool:
    """Whether the bound proves the objective: they differ by ``within`` of the larger one, or by rounding.

    >>> meets(1e-7, 2e-7), meets(1.0, 1.0 + 1e-7), meets(1e9, 1e9 + 1, constant=1e9 - 1)
    (False, True, False)
    """
    larger = max(abs(objective - constant), abs(bound - constant))
    return abs(objective - bound) <= within * larger + rounding(objective, bound, constant)


def beats(objective: float, proven: float, sense: Sense, constant: float = 0.0) -> bool:
    """Whether an objective beats a proven value by more than rounding; then one of the two is wrong."""
    return sense.better(objective, proven) and not meets(objective, proven, constant)


def ratio(
    objective: float | None, reference: float | None, sense: Sense = Sense.MINIMIZE, constant: float = 0.0
) -> float | None:
    """Ratio to an optimum (or, as "at most", to a bound): >= 1, 1 when both are 0, None when only the denominator is.

    Works for two losses too; None if one number is above 0 and the other below.

    >>> ratio(3.0, 2.0), ratio(0.0, 0.0), ratio(3.0, 0.0)
    (1.5, 1.0, None)
    >>> ratio(-3.0, -2.0, Sense.MAXIMIZE), ratio(-3.0, 2.0, Sense.MAXIMIZE)
    (1.5, None)
    """
    if objective is None or reference is None:
        return None
    above, below = (objective, reference) if sense is Sense.MINIMIZE else (reference, objective)
    if above == below:
        return 1.0
    if below < constant:
        above, below = below, above
    if below == constant or (above < constant) != (below < constant):
        return None
    return (above - constant) / (below - constant)
