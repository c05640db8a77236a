"""How time is counted on a clock or in ticks: whoever uses this computes the very same floats, however late it is.

*Without ticks* times are the floats of an absolute clock, and every period is exact on it: it ends at the least float
whose distance from its start is what the job needs. So no job is given anything by rounding, units are handed on at the
very same float, and what is subtracted (a start and an arrival, an end and its start) is subtracted once: flow times are
as exact as durations are, and never below what a bound proves. A job that needs less than the clock resolves holds its
units for one unit in the last place.

*With ticks* the clock counts them: slot t lasts from t D to (t + 1) D, and n slots last n D. Seconds are written into
periods, and read from them, as multiples of D. Work that exceeds its slots by less than ``HAIR`` of the whole job is done
in them.
"""

import math

from dlsched.core.tolerance import rounding, tolerance

HAIR = 2.0**-40
"""Of a job's whole time: what its work may exceed its slots by."""

LEAST = 2.0**-52
"""Of the epochs left of a job: what is left at least before its end."""
_LARGEST_EXACT = 2**53


def left_after(left: float, ran_s: float, time_s: float) -> float:
    """Epochs left of ``left`` after ``ran_s`` seconds, fewer than it takes: always some."""
    return max(left - ran_s / time_s, left * LEAST)


def end_after(start_s: float, needed_s: float) -> float:
    """Return the least time of the clock that is at least ``needed_s`` after ``start_s``."""
    end_s = start_s + needed_s
    return end_s if end_s - start_s >= needed_s else math.nextafter(end_s, math.inf)


def slots_for(needed_s: float, hair_s: float, tick_s: float) -> int:
    """Slots, one at least, that a job takes which may exceed them by ``hair_s``."""
    needed_s -= hair_s
    slots = max(1, math.ceil(needed_s / tick_s))
    if slots > _LARGEST_EXACT:
        return slots
    if slots * tick_s < needed_s:
        return slots + 1
    return slots - 1 if slots > 1 and (slots - 1) * tick_s >= needed_s else slots


def end_slot(slot: float, needed_s: float, hair_s: float, tick_s: float) -> float:
    """Slot at whose beginning a job has ended that begins with ``slot`` and needs ``needed_s`` seconds, save ``hair_s``.

    So late that the clock does not tell neighbouring slots apart it is the next one that begins later.
    """
    end = slot + slots_for(needed_s, hair_s, tick_s)
    later_s = slot * tick_s
    while end * tick_s <= slot * tick_s:
        later_s = math.nextafter(later_s, math.inf)
        end = math.ceil(later_s / tick_s)
    return end


def end_in_slots(slot: int, slots: int, needed_s: float, tick_s: float) -> float:
    """Time at which a job ends that needs ``needed_s`` seconds of these slots."""
    return min(end_after(slot * tick_s, needed_s), (slot + slots) * tick_s)


def tick_at(time_s: float, tick_s: float) -> int | None:
    """Return the number of the tick at that time, None between ticks."""
    number = round(time_s / tick_s)
    return number if abs(time_s - number * tick_s) <= tolerance(tick_s) + rounding(time_s) else None


def first_tick(time_s: float, tick_s: float) -> int:
    """Return the number of the first tick at or after a time, rounding left out."""
    nearest = round(time_s / tick_s)
    return nearest if time_s <= nearest * tick_s + rounding(time_s) else nearest + 1


def ticks_between(start_s: float, end_s: float, tick_s: float) -> int | None:
    """Return the number of ticks from one time to another, None where one of them is between ticks."""
    first, end = tick_at(start_s, tick_s), tick_at(end_s, tick_s)
    return None if first is None or end is None else end - first
