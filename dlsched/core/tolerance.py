"""Tolerances for comparing floats: each is relative to the numbers compared, none is absolute.

==============  ==========  ================================================================================================
name            value       why
==============  ==========  ================================================================================================
``MEETING``     1e-6        solvers prove to about this; objective and bound that are nearer meet
``CLOSED``      2e-9        what is added to bounds in floats, and as much for the programs that they come from: exact methods
                            that can go on, go on to this; a larger gap is said beside ``optimal``
``FEASIBLE``    1e-9        of a capacity, bandwidth, budget or duration: sums of thousands of floats stay below it
``ROUNDING``    8 ulp       numbers that are read off an absolute clock, or sums with a large constant, hold no more digits
==============  ==========  ================================================================================================
"""

MEETING = 1e-6
CLOSED = 2e-9
FEASIBLE = 1e-9
ROUNDING = 8 * 2.0**-52


def tolerance(*values: float) -> float:
    """Return by how much a solution may miss a capacity or duration: ``FEASIBLE`` times the largest value.

    >>> tolerance(-2.0, 1e-3)
    2e-09
    """
    return FEASIBLE * max(map(abs, values))


def rounding(*values: float) -> float:
    """Return the possible rounding error of a sum of these numbers: 8 ulp of the largest.

    >>> rounding(1.7e9) < 1e-5
    True
    """
    return ROUNDING * max(map(abs, values))
