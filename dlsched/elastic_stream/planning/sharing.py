"""Greedy division of the units at one moment, by weight x gain in speed per unit."""

from collections.abc import Iterable, Sequence

Offer = tuple[float, int, int, int]
"""A step of a present job: minus weight x gain per unit, the job, its units before, its units after."""


def share(offers: Sequence[Offer], units: int, speed: Sequence[dict[int, float]]) -> dict[int, int]:
    """Units of the jobs that get any, from steps in ascending order, each job's in order of its units.

    Steps are taken from the first on; one that does not fit is skipped, with the job's later steps. Idle units then go, in
    the same order, to jobs that gain by any count that fits. ``speed``: of each job by count.

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
    """Largest useful count that is faster than the present one and takes at most ``units`` more."""
    return max((more for more in speeds if count < more <= count + units), default=count)


def worth_it(pause: float, left: float, new: float, old: float, pausing: float) -> bool:
    """Whether more units end a job earlier, with a new pause instead of the rest ``pausing`` of the old one."""
    return pause + left / new < max(0.0, pausing) + left / old


def offers_of(job: int, weight: float, steps: Iterable[tuple[float, int, int]]) -> list[Offer]:
    """The steps of a job as offers."""
    return [(-weight * gain, job, before, after) for gain, before, after in steps]
