"""One job of a stream with ticks, by itself: the least cost of all its plans, one by one, in rational numbers."""

from fractions import Fraction
from functools import cache


def cheapest(times_s, pause_s, tick_s, paid_s, first=0):
    """Least seconds from slot ``first`` to the end, plus what the slots cost.

    ``times_s`` are seconds of the whole work by count, ``paid_s(slot, count)`` what a slot costs; from slot 6 on it costs
    nothing, and jobs run at their fastest there, or on what they hold: no plan is better then.
    """
    tick_s, fastest = Fraction(tick_s), min(times_s.values())

    @cache
    def least(slot, left, held):
        """``held`` is None before the job has run, 0 while it is stopped."""
        if slot == 6:
            anew = left * fastest + (0 if held is None else pause_s)
            return min(anew, left * times_s[held]) if held else anew
        costs = [tick_s + least(slot + 1, left, held and 0)]
        for count, time_s in times_s.items():
            pause = pause_s if held is not None and held != count else 0
            if pause + left * time_s <= tick_s:
                costs.append(paid_s(slot, count) + pause + left * time_s)
            else:
                done = Fraction(max(0, tick_s - pause)) / time_s
                costs.append(paid_s(slot, count) + tick_s + least(slot + 1, left - done, count))
        return min(costs)

    return least(first, Fraction(1), None)
