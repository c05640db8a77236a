"""Shrinking of instances, so that people can read them: fewer entries, equal numbers, fewer digits.

A step is kept if the ratio stays within a share of the worst that was found, over all steps together. For
ratios near 1 the loss is limited to ten times that share of the excess over 1: otherwise nothing would be
left of 1.005.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from dlsched.core.elementary import decade, float_power
from dlsched.worst.judging import Judge, Judged
from dlsched.worst.places import copied, digits_of, lists_at, numbers_at, put, rounded, within
from dlsched.worst.space import Data, Number, Simplify, Space

SHARE = 0.01
"""Share of the ratio that shrinking may lose."""

Change: TypeAlias = Callable[[Data], Data | None]
"""Turns the data of an instance into simpler data; None: nothing to change."""


def least(found: float, share: float = SHARE) -> float:
    """Least ratio that shrinking accepts.

    >>> least(2.0), round(least(1.005), 6), least(math.inf)
    (1.98, 1.0045, inf)
    """
    return found if math.isinf(found) else found - share * min(found, 10 * max(found - 1, 0.0))


def shrunk(judge: Judge, space: Space, found: Judged, until: int, share: float = SHARE) -> Iterator[Judged]:
    """Yield simpler and simpler instances until nothing helps or ``judge`` has counted so many evaluations.

    Where one on the way is worse than what was found, later ones are compared with it.
    """
    base, target, seen = found, found.ratio, {repr(found.data)}
    changed = True
    while changed:
        changed = False
        for change in changes(space, base.data):
            candidate = change(base.data)
            candidate = None if candidate is None else space.repair(candidate)
            if candidate is None or repr(candidate) in seen:
                continue
            if judge.evaluations >= until:
                return
            seen.add(repr(candidate))
            judged = judge.judge(candidate)
            if judged is not None and judged.ratio >= least(target, share):
                base, target, changed = judged, max(target, judged.ratio), True
                yield base


def changes(space: Space, data: Data) -> list[Change]:
    """Ways to shrink, the boldest first; each looks its place up in what it is given, which may have shrunk before."""
    found: list[Change] = []
    for path, fewest, _ in space.members:
        for which, entries in enumerate(lists_at(data, path)):
            found += [partial(_without, path, fewest, which, index) for index in reversed(range(len(entries)))]
    for simplify in space.simpler:
        found += [partial(_option, simplify, index) for index in range(len(simplify(data)))]
    found += [partial(_all_rounded, space.numbers, digits) for digits in (1, 2, 3)]
    for number in space.numbers:
        found += [partial(_all_rounded, [number], digits) for digits in (1, 2, 3)]
    for alike in (True, False):
        for number in space.numbers:
            for index in range(len(numbers_at(data, number))):
                found += [partial(_simpler_number, number, index, way, alike) for way in range(WAYS)]
    return found


def _without(path: str, fewest: int, which: int, index: int, data: Data) -> Data | None:
    copy = copied(data)
    lists = lists_at(copy, path)
    if which >= len(lists) or index >= len(lists[which]) or len(lists[which]) <= fewest:
        return None
    del lists[which][index]
    return copy


def _option(simplify: Simplify, index: int, data: Data) -> Data | None:
    options = simplify(data)
    return options[index] if index < len(options) else None


def _all_rounded(numbers: Sequence[Number], digits: int, data: Data) -> Data | None:
    copy = copied(data)
    for number in numbers:
        for place, value in numbers_at(copy, number):
            if digits_of(value) > digits:
                put(place, within(number, rounded(value, digits)))
    return copy


WAYS = 9
"""Simpler values that are tried of a number: two round ones, two of others, and fewer digits."""


def _simpler_number(number: Number, index: int, way: int, alike: bool, data: Data) -> Data | None:
    """Make one number simpler, or all of its path that equal it: ties often are what makes an instance bad."""
    copy = copied(data)
    found = numbers_at(copy, number)
    if index >= len(found):
        return None
    value = found[index][1]
    options = simpler_values(number, value, [other for _, other in found])
    if way >= len(options):
        return None
    for place, _ in [pair for pair in found if pair[1] == value] if alike else [found[index]]:
        put(place, options[way])
    return copy


def simpler_values(number: Number, value: float, others: Sequence[float]) -> list[float]:
    """Values near one that are simpler, the simplest first: round ones, those that others have, fewer digits.

    >>> simpler_values(Number("x", 1e-3, 1e3), 4.37, [4.37, 4.0])
    [5.0, 2.0, 4.0, 4.4]
    """
    power = float_power(10, decade(value)) if value > 0 else 1.0
    round_ones = [float(f"{power * each:.0e}") for each in (1, 2, 5, 10)]
    options = [
        *_nearest(value, round_ones),
        *_nearest(value, others),
        *(rounded(value, digits) for digits in (1, 2, 3, 4, 6)),
    ]
    simpler = [within(number, each) for each in options if each != value and _plain(each) <= _plain(value)]
    return list(dict.fromkeys(each for each in simpler if each != value))


def _nearest(value: float, others: Sequence[float]) -> list[float]:
    """The two nearest others."""
    return sorted({each for each in others if each != value}, key=lambda each: abs(each - value))[:2]


def _plain(value: float) -> tuple[int, bool]:
    """How simple a number looks, the simplest least."""
    return digits_of(value) if value else 0, rounded(value, 1) != value or f"{value:.0e}"[0] not in "0125"
