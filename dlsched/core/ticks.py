"""Arithmetic of times, on an absolute clock or in ticks: all callers compute the same floats at any time.

*Without ticks* times are the floats of an absolute clock. A period ends at the least float that is at least
the time that the job needs after its start, so rounding never shortens a job. The next job takes the units
at exactly that float. Start minus arrival, and end minus start, are each computed once, so flow times are as
exact as durations, and never below a proven bound. A job that needs less time than the clock resolves holds
its units for one unit in the last place.

*With ticks* the clock counts slots: slot t lasts from t D to (t + 1) D, and n slots last n D. Periods hold
seconds as multiples of D. Work that exceeds its slots by less than ``HAIR`` of the whole job counts as done
in them.
"""

import math

from dlsched.core.tolerance import rounding, tolerance

HAIR = 2.0**-40
"""Share of a job's whole time by which its work may exceed its slots."""

LEAST = 2.0**-52
"""Share of a job's remaining epochs that stays at least, as long as the job has not ended."""
_LARGEST_EXACT = 2**53


def left_after(left: float, ran_s: float, time_s: float) -> float:
    """Return how many of ``left`` epochs remain after ``ran_s`` seconds, which do not end the job: > 0."""
    return max(left - ran_s / time_s, left * LEAST)


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
    """Return the first slot after a job that begins in ``slot`` and needs ``needed_s - hair_s`` seconds.

    At times so late that neighbouring slots begin at the same float, this is the next slot that begins
    later.
    """
    end = slot + slots_for(needed_s, hair_s, tick_s)
    later_s = slot * tick_s
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
