"""The jobs that wait while some hold reservations: in classes, so that a queue of very many is not walked at every event."""

import heapq
import math
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Sequence

_FEW = 64  # jobs that have left a class may stay in its list until they outnumber those that wait by more than this
_BLOCK = 4096  # places of the queue whose least length is known


class _Class:
    """Jobs of equal GPUs and group that wait, by their places: ascending, and a heap of lengths in seconds and places.

    Both still hold some that have left; ``begin``: all places before it have. ``count``: how many wait. ``least_s``: by block of
    places, none of its jobs that wait is shorter.
    """

    __slots__ = ("begin", "count", "least_s", "lengths", "places")

    def __init__(self) -> None:
        self.places: list[int] = []
        self.lengths: list[tuple[float, int]] = []
        self.least_s: dict[int, float] = {}
        self.begin = self.count = 0


class WaitingJobs:
    """The jobs that wait, by their places in the queue, in classes of equal GPUs and groups; ``slots``: by group those left.

    All arguments by place.
    """

    def __init__(self, kinds: Sequence[tuple[int, int]], lengths_s: Sequence[float], slots: Sequence[int]) -> None:
        self._kinds, self._lengths_s, self._slots = kinds, lengths_s, slots
        self._left = bytearray(len(kinds))
        self.classes: defaultdict[tuple[int, int], _Class] = defaultdict(_Class)

    def add(self, place: int) -> None:
        """Let a job wait."""
        own, length_s, block = self.classes[self._kinds[place]], self._lengths_s[place], place // _BLOCK
        insort(own.places, place, own.begin)
        heapq.heappush(own.lengths, (length_s, place))
        own.least_s[block] = min(length_s, own.least_s.get(block, math.inf))
        own.count += 1

    def remove(self, place: int) -> None:
        """Take out a job that starts."""
        own, left = self.classes[self._kinds[place]], self._left
        left[place] = 1
        own.count -= 1
        if not own.count:
            del self.classes[self._kinds[place]]
            return
        while left[own.places[own.begin]]:
            own.begin += 1
        while left[own.lengths[0][1]]:
            heapq.heappop(own.lengths)
        if len(own.places) > 2 * own.count + _FEW:
            own.places, own.begin = [each for each in own.places if not left[each]], 0

    def rest(self, after: int) -> list[int]:
        """Places after one, of groups that have slots left."""
        own = [each.places for (_, group), each in self.classes.items() if self._slots[group]]
        return sorted(each for places in own for each in places if each > after and not self._left[each])

    def first(self, after: int, now_s: float, free: tuple[int, int, float] | None) -> int | None:
        """The first of ``rest`` that fits beside the first reservation or ends before it starts; None if none does.

        ``free``: GPUs that are free now, those free beside the reservation, and its start; None: any job may.
        """
        total, beside, until_s = free or (math.inf, math.inf, 0.0)
        found, left = len(self._kinds), self._left
        for (gpus, group), own in self.classes.items():
            if gpus > total or not self._slots[group]:
                continue
            if gpus > beside:
                if now_s + own.lengths[0][0] <= until_s:
                    found = self._first_short(own, after, found, now_s, until_s)
                continue
            places, index = own.places, own.begin
            if places[index] <= after:
                index = bisect_right(places, after, index)
            while index < len(places) and left[places[index]]:
                index += 1
            if index < len(places) and places[index] < found:
                found = places[index]
        return found if found < len(self._kinds) else None

    def _first_short(self, own: _Class, after: int, before: int, now_s: float, until_s: float) -> int:
        """The first place after one of a job that ends by a time; ``before`` if none comes before that."""
        places, least_s, index = own.places, own.least_s, bisect_right(own.places, after, own.begin)
        while index < len(places) and places[index] < before:
            # one block after another: a block without a job that is short enough is looked at once
            block = places[index] // _BLOCK
            end = bisect_left(places, (block + 1) * _BLOCK, index)
            if now_s + least_s[block] <= until_s:
                here = [place for place in places[index:end] if not self._left[place]]
                for place in here:
                    if now_s + self._lengths_s[place] <= until_s:
                        return min(place, before)
                if after < block * _BLOCK:
                    least_s[block] = min([self._lengths_s[place] for place in here], default=math.inf)
            index = end
        return before
