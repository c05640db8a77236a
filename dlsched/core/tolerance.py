"""How near two numbers must be to pass for one: every tolerance is relative to what was computed, none is absolute.

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
    """Return by how much a capacity, a duration or the like may be missed: ``FEASIBLE`` times the largest in size.

    >>> tolerance(-2.0, 1e-3)
    2e-09
    """
    return FEASIBLE * max(map(abs, values))


def rounding(*values: float) -> float:
    """Return what rounding may have done to a sum or difference of these numbers: 8 units in the last place of the largest.

    >>> rounding(1.7e9) < 1e-5
    True
    """
    return ROUNDING * max(map(abs, values))
