"""Clocks: methods count from the first release, files and results from zero.

Neighbouring floats at today's Unix times are 0.24 microseconds apart, so a difference of two such times is
no more exact than that. Methods therefore never subtract times of the file: ``from_the_first`` subtracts the
first release once, and ``put_back`` adds it to the starts once.
"""

import math
from collections.abc import Sequence

from dlsched.core.gap import rounding, tolerance


def from_the_first(releases_s: Sequence[float]) -> list[float]:
    """Return releases on a clock of their own, whose zero is the first of them."""
    first_s = min(releases_s)
    return [release_s - first_s for release_s in releases_s]


def put_back(releases_s: Sequence[float], own_s: Sequence[float], starts_s: Sequence[float]) -> list[float]:
    """Return starts on the clock of the file; a job that starts at its release does so there too.

    ``releases_s``, ``own_s``: releases on the clock of the file, and on the clock of ``from_the_first``. ``starts_s``:
    starts on the clock of ``own_s``.

    >>> put_back([7.0, 5.0], [2.0, 0.0], [2.0, 1.5])
    [7.0, 6.5]
    """
    first_s = min(releases_s)
    return [
        release_s if start_s <= mine_s else max(release_s, first_s + start_s)
        for release_s, mine_s, start_s in zip(releases_s, own_s, starts_s, strict=True)
    ]


HAIR = 2.0**-40
"""Share of a job's whole time by which its work may exceed its slots."""

LEAST = 2.0**-52
"""Share of a job's remaining epochs that stays at least, as long as the job has not ended."""
_LARGEST_EXACT = 2**53


def left_after(epochs: float, ran_s: float, time_s: float) -> float:
    """Return how many of ``left`` epochs remain after ``ran_s`` seconds, which do not end the job: > 0."""
    return max(epochs - ran_s / time_s, epochs * LEAST)


def end_after(start_s: float, needed_s: float) -> float:
    """Return the least time of the clock that is at least ``needed_s`` after ``start_s``."""
    end_s = start_s + needed_s
    return end_s if end_s - start_s >= needed_s else math.nextafter(end_s, math.inf)


def slots_for(needed_s: float, hair_s: float, tick_s: float) -> int:
    """Return the slots, at least one, that a job takes; its work may exceed them by ``hair_s``."""
    needed_s -= hair_s
    slots = max(1, math.ceil(needed_s / tick_s))
    if slots > _LARGEST_EXACT:
        return slots
    if slots * tick_s < needed_s:
        return slots + 1
    return slots - 1 if slots > 1 and (slots - 1) * tick_s >= needed_s else slots


def end_slot(slot: float, needed_s: float, hair_s: float, tick_s: float) -> float:
    """Return the first slot after a job that begins in ``slot`` and needs ``needed_s - hair_s`` seconds."""
    end = slot + slots_for(needed_s, hair_s, tick_s)
    later_s = slot * tick_s
    # Late slots may begin at the same float: go on to the first that begins later.
    while end * tick_s <= slot * tick_s:
        later_s = math.nextafter(later_s, math.inf)
        end = math.ceil(later_s / tick_s)
    return end


def end_in_slots(slot: int, slots: int, needed_s: float, tick_s: float) -> float:
    """Return the time at which a job ends that needs ``needed_s`` seconds within these slots."""
    return min(end_after(slot * tick_s, needed_s), (slot + slots) * tick_s)


def tick_at(time_s: float, tick_s: float) -> int | None:
    """Return the number of the tick at that time; None: the time lies between ticks."""
    number = round(time_s / tick_s)
    return number if abs(time_s - number * tick_s) <= tolerance(tick_s) + rounding(time_s) else None


def first_tick(time_s: float, tick_s: float) -> int:
    """Return the number of the first tick at or after a time, up to rounding."""
    nearest = round(time_s / tick_s)
    return nearest if time_s <= nearest * tick_s + rounding(time_s) else nearest + 1


def ticks_between(start_s: float, end_s: float, tick_s: float) -> int | None:
    """Return the number of ticks from one time to another; None: one of them lies between ticks."""
    first, end = tick_at(start_s, tick_s), tick_at(end_s, tick_s)
    return None if first is None or end is None else end - first
