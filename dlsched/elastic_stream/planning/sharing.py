"""Greedy division of the units at one moment, by weight x gain in speed per unit."""

from collections.abc import Iterable, Sequence

Offer = tuple[float, int, int, int]
"""A step of a job that is present: minus weight x gain per unit, the job, its units before, its units after."""


def share(offers: Sequence[Offer], units: int, speed: Sequence[dict[int, float]]) -> dict[int, int]:
    """Return units by job, of those that get any.

    Parameters
    ----------
    offers
        Ascending; those of one job in order of its units.
    units
        Of the cluster.
    speed
        Of each job, by count.

    Steps are taken from the first on; one that does not fit is passed over, and with it those of the job that follow it.
    What is left then goes, in the same order, to whoever gains by any count that fits.

    >>> share([(-9.0, 0, 0, 2), (-5.0, 1, 0, 1), (-4.0, 0, 2, 8)], 6, [{2: 1.0, 3: 1.1, 8: 2.0}, {1: 1.0}])
    {0: 3, 1: 1}
    """
    held: dict[int, int] = {}
    get = held.get
    for _, job, before, after in offers:
        if after - before <= units and get(job, 0) == before:
            held[job] = after
            units -= after - before
            if not units:
                return held
    for _, job, before, _ in offers:
        if get(job, 0) == before:
            most = _largest(speed[job], before, units)
            if most > before:
                held[job] = most
                units -= most - before
                if not units:
                    break
    return held


def _largest(speeds: dict[int, float], count: int, units: int) -> int:
    """The largest useful count, faster than the present one, of at most so many units more."""
    return max((more for more in speeds if count < more <= count + units), default=count)


def worth_it(pause: float, left: float, new: float, old: float, pausing: float) -> bool:
    """Whether a job that gets more units ends earlier by them: with a new pause, against what is left of the old one."""
    return pause + left / new < max(0.0, pausing) + left / old


def offers_of(job: int, weight: float, steps: Iterable[tuple[float, int, int]]) -> list[Offer]:
    """A job's steps as it offers them."""
    return [(-weight * gain, job, before, after) for gain, before, after in steps]
