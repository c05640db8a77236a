"""How far an objective is from a bound or an optimum.

``gap = |objective - bound| / max(|objective|, |bound|)``; ``ratio = objective / optimum`` (minimising) or
``optimum / objective`` (maximising). Unknown is None, never 0 or infinity.
"""

from dlsched.core.status import Sense

MEETING = 1e-6
"""Objective and bound meet when they differ by at most this times max(1, |objective|, |bound|)."""


def gap(objective: float | None, bound: float | None) -> float | None:
    """Relative gap, 0 when equal, None when either is unknown.

    >>> gap(110.0, 100.0)
    0.09090909090909091
    """
    if objective is None or bound is None:
        return None
    if objective == bound:
        return 0.0
    return abs(objective - bound) / max(abs(objective), abs(bound))


def meets(objective: float, bound: float) -> bool:
    """Whether the bound proves the objective, within ``MEETING``."""
    return abs(objective - bound) <= MEETING * max(1.0, abs(objective), abs(bound))


def ratio(objective: float | None, reference: float | None, sense: Sense = Sense.MINIMIZE) -> float | None:
    """Ratio to an optimum (or, as "at most", to a bound): >= 1, 1 when both are 0, None when only the denominator is.

    >>> ratio(3.0, 2.0), ratio(0.0, 0.0), ratio(3.0, 0.0)
    (1.5, 1.0, None)
    """
    if objective is None or reference is None:
        return None
    above, below = (objective, reference) if sense is Sense.MINIMIZE else (reference, objective)
    if below == 0:
        return 1.0 if above == 0 else None
    return above / below
