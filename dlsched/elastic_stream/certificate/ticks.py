"""Bound of prices by slot on the mean flow time of a stream with ticks, in exact arithmetic.

A job pays, in every slot, the price of a unit and second for the units it holds, and for each size s of a block the price
of one for every whole block of s units. At most C units, hence at most floor(C / s) such blocks, are held at a time: whole
blocks of jobs do not overlap. So for all prices >= 0 the flow times, each times its weight, add up to at least the sum of
what each job costs at least, alone, less what the cluster's units and blocks would bring if all were held.

What a job costs, and why it is never less, stands in ``slot_costs``. Counts no faster than a smaller one are left out:
holding the smaller costs no more, and pauses no more often. Everything else is exact.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from dlsched.certificates import exact_sum
from dlsched.certificates.slot_costs import Paid, Run, Speeds
from dlsched.elastic_stream.instance import Instance

_FEWEST, _MOST = 64, 4096  # cells, powers of two
_EFFORT = 2**24  # entries of all costs up to which cells are made finer, and slots are followed
_NEAR = 64  # slots
_MOST_COUNTS = 1024  # jobs with more run at their fastest without holding units


def ticks_value(
    instance: Instance,
    breakpoints: Sequence[float],
    prices: Sequence[float],
    blocks: Mapping[str, Sequence[float]] | None = None,
) -> Fraction:
    """Weighted mean of flow times that prices by slot prove, exactly; ``blocks``: K prices of a block and second by size >= 2.

    ValueError: the instance has no ticks; the K + 1 breakpoints are no ascending whole ticks; prices are not K numbers >= 0.
    """
    if instance.tick_s is None:
        raise ValueError("prices by slot are of instances with ticks")
    paid = Paid(Fraction(instance.tick_s), _whole(breakpoints), _by_size(len(breakpoints) - 1, prices, blocks or {}))
    waited: list[Fraction] = []
    runs = [Run(speeds, piece, paid) for speeds, firsts in _kinds(instance, waited).items() for piece in _near(firsts)]
    share = _EFFORT // (_FEWEST * max(1, len(runs)))
    least = [run.least_s(_FEWEST, share) for run in runs]
    size = sum(run.size for run in runs)
    cells = _FEWEST
    while cells < _MOST and 2 * cells * size <= _EFFORT:
        cells *= 2
    if cells > _FEWEST:
        least = [run.least_s(cells, share) for run in runs]
    total = exact_sum(waited) + exact_sum(least) - paid.supply_s(instance.units)
    return total / exact_sum(Fraction(job.weight) for job in instance.jobs)


def _kinds(instance: Instance, waited: list[Fraction]) -> dict[Speeds, list[int]]:
    """First slots of the jobs with work, ascending, by their speeds; ``waited`` receives weight x seconds to that slot."""
    kinds: dict[Speeds, list[int]] = {}
    assert instance.tick_s is not None
    for index, job in enumerate(instance.jobs):
        if job.work == 0:
            continue
        weight = Fraction(job.weight)
        waited.append(weight * instance.wait_s(index))
        allowed = job.useful_counts(instance.units)
        counts: dict[int, Fraction] = {}
        if len(allowed) > _MOST_COUNTS:
            counts[0] = Fraction(job.work) * job.speed.exact_epoch_time_s(job.fastest_count(instance.units))
            allowed = ()
        for count in allowed:
            seconds = Fraction(job.work) * job.speed.exact_epoch_time_s(count)
            if not counts or seconds < min(counts.values()):
                counts[count] = seconds
        pause_s = min(Fraction(job.restart_s), Fraction(instance.tick_s))
        speeds = Speeds(tuple(counts), tuple(counts.values()), pause_s, weight)
        kinds.setdefault(speeds, []).append(instance.first_slot(index))
    return {speeds: sorted(firsts) for speeds, firsts in kinds.items()}


def _near(firsts: Sequence[int]) -> Iterator[Sequence[int]]:
    """Pieces of ascending slots without large gaps."""
    begin = 0
    for index in range(1, len(firsts) + 1):
        if index == len(firsts) or firsts[index] - firsts[index - 1] > _NEAR:
            yield firsts[begin:index]
            begin = index


def _whole(breakpoints: Sequence[float]) -> tuple[int, ...]:
    for number in breakpoints:
        if not math.isfinite(number) or number != math.floor(number):
            raise ValueError(f"breakpoint {number!r} must be a whole number of ticks")
    slots = tuple(map(int, breakpoints))
    if len(slots) < 2 or any(begin >= end for begin, end in pairwise(slots)):
        raise ValueError("breakpoints must ascend, and be two at least")
    return slots


def _by_size(
    number: int, prices: Sequence[float], blocks: Mapping[str, Sequence[float]]
) -> dict[int, tuple[Fraction, ...]]:
    """Exact prices by block size, 1 for units; ValueError for others than K numbers >= 0 each."""
    exact = {}
    for name, given in (("1", prices), *blocks.items()):
        if not name.isdecimal() or str(int(name)) != name or int(name) < 1 or int(name) in exact:
            raise ValueError(f"{name!r} must be a size of blocks, a whole number >= 2")
        if len(given) != number:
            raise ValueError(f"blocks of {name}: there must be {number} prices, found {len(given)}")
        for price in given:
            if not (math.isfinite(price) and price >= 0):
                raise ValueError(f"price {price!r} must be a number >= 0")
        exact[int(name)] = tuple(map(Fraction, given))
    return exact
