"""Changes of instances: the moves of a search, and the steps that shrink an instance until a person can read it.

Moves round numbers, mostly to three digits: ties then arise by themselves, and instances are easier to read.

Shrinking removes entries, makes numbers equal and drops digits. A step is accepted if the ratio stays within a share of the
worst ratio, over all steps together. For ratios near 1 the loss is limited to ten times that share of the excess over 1:
otherwise nothing would remain of 1.005.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from dlsched.core.elementary import decade, float_power, lognormal
from dlsched.core.files import Json
from dlsched.worst import spaces
from dlsched.worst.judge import Judge, Judged
from dlsched.worst.spaces import Data, Number, Place, Space

if TYPE_CHECKING:
    import numpy as np


Change: TypeAlias = "Callable[[Space, Data, np.random.Generator], bool]"
"""Changes data in place, and returns whether there was something to change."""
Item = TypeVar("Item")

MORE = 0.35
"""Probability, after each move, of another one in the same candidate."""
# steps of all sizes; halves and doubles make ties
_FACTORS = (0.5, 2.0, 0.1, 10.0, 0.9, 1.1, 0.99, 1.01)
# standard deviations of the logarithm: from fine tuning to other orders of magnitude
_SPREADS = (0.03, 0.2, 1.0, 3.0)


def moved(space: Space, data: Data, generator: "np.random.Generator") -> Data | None:
    """Return a changed copy in the space; None if there was nothing to change, or the copy left the space."""
    changed: Data | None = None
    # a chain of moves is repaired once, at its end: on its way it may leave the space
    while changed is None or generator.random() < MORE:
        step = spaces.copied(data if changed is None else changed)
        # without members there are no entries to move
        change = _any_of(CHANGES if space.members else NUMBER_CHANGES, generator)
        if not change(space, step, generator):
            break
        changed = step
    repaired = None if changed is None else space.repair(changed)
    return None if repaired == data else repaired


def _any_of(items: Sequence[Item], generator: "np.random.Generator") -> Item:
    return items[int(generator.integers(len(items)))]


def _two_of(count: int, generator: "np.random.Generator") -> list[int]:
    """Two different indices of so many items; none if there are fewer than two."""
    return [int(each) for each in generator.choice(count, 2, replace=False)] if count >= 2 else []


Found: TypeAlias = tuple[Number, Place, float]
"""A number, its place in the data and its value there."""


def _numbers(space: Space, data: Data, generator: "np.random.Generator") -> list[Found]:
    """Choose a path that has numbers, and return what it leads to."""
    present = [(number, found) for number in space.numbers if (found := spaces.numbers_at(data, number))]
    if not present:
        return []
    number, found = _any_of(present, generator)
    return [(number, place, value) for place, value in found]


def _set(number: Number, place: Place, value: float, generator: "np.random.Generator") -> None:
    # sometimes more digits, where three miss the worst number
    digits = 3 if generator.random() < 0.8 else 6
    spaces.put(place, spaces.within(number, value if number.whole else spaces.rounded(value, digits)))


def _factor(generator: "np.random.Generator") -> float:
    if generator.random() < 0.5:
        return _any_of(_FACTORS, generator)
    return lognormal(generator, _any_of(_SPREADS, generator))


def _scaled(number: Number, value: float, factor: float, generator: "np.random.Generator") -> float:
    """Return the number times a factor; whole numbers change by at least 1, and 0 becomes a number of the range."""
    if value == 0:
        # a product with 0 stays 0, so the number is drawn anew, log-uniform below its end
        return number.high * float_power(10, -float(generator.uniform(0, 4)))
    if number.whole and round(value * factor) == value:
        return value + (1 if factor > 1 else -1)
    return value * factor


def _rescale(found: Sequence[Found], generator: "np.random.Generator") -> None:
    """Multiply all of these numbers by one factor."""
    factor = _factor(generator)
    for number, place, value in found:
        _set(number, place, _scaled(number, value, factor, generator), generator)


def scale(space: Space, data: Data, generator: "np.random.Generator") -> bool:
    """Multiply one number by a factor."""
    found = _numbers(space, data, generator)
    if found:
        _rescale([_any_of(found, generator)], generator)
    return bool(found)


def to_an_end(space: Space, data: Data, generator: "np.random.Generator") -> bool:
    """Set one number to an end of its range."""
    found = _numbers(space, data, generator)
    if found:
        number, place, _ = _any_of(found, generator)
        spaces.put(place, spaces.within(number, _any_of((number.low, number.high), generator)))
    return bool(found)


def equal(space: Space, data: Data, generator: "np.random.Generator") -> bool:
    """Set one number to the value of another of the same path."""
    found = _numbers(space, data, generator)
    pair = [found[index] for index in _two_of(len(found), generator)]
    if pair:
        spaces.put(pair[0][1], pair[1][2])
    return bool(pair)


def flip(space: Space, data: Data, generator: "np.random.Generator") -> bool:
    """Swap two numbers of the same path."""
    found = _numbers(space, data, generator)
    pair = [found[index] for index in _two_of(len(found), generator)]
    for (_, place, _), (_, _, value) in zip(pair, reversed(pair), strict=True):
        spaces.put(place, value)
    return bool(pair)


def stretch(space: Space, data: Data, generator: "np.random.Generator") -> bool:
    """Scale the numbers of a path in one list or mapping, or a part of them, or set them to one value."""
    found = _numbers(space, data, generator)
    if not found:
        return False
    _, (holder, _), _ = _any_of(found, generator)
    inside = [each for each in found if each[1][0] is holder]
    # the whole list, its end or its beginning
    cut = int(generator.integers(len(inside)))
    part = _any_of((inside, inside[cut:], inside[: cut + 1]), generator)
    if generator.random() < 0.25:
        # a plateau: several counts as fast as one of them
        _, _, level = _any_of(part, generator)
        for number, place, _ in part:
            spaces.put(place, spaces.within(number, level))
    else:
        _rescale(part, generator)
    return True


def scale_all(space: Space, data: Data, generator: "np.random.Generator") -> bool:
    """Multiply all numbers of a path within one entry of a list of members by a factor."""
    path, entries = _entries(space, data, generator)
    entry = _any_of(entries, generator) if entries else None
    prefix = f"{path}[]."
    inner = [number for number in space.numbers if number.path.startswith(prefix)]
    if not inner or not isinstance(entry, dict):
        return False
    number = _any_of(inner, generator)
    # the same number, by its path within the entry
    below = replace(number, path=number.path.removeprefix(prefix))
    found = [(number, place, value) for place, value in spaces.numbers_at(entry, below)]
    _rescale(found, generator)
    return bool(found)


def _entries(space: Space, data: Data, generator: "np.random.Generator") -> tuple[str, list[Json]]:
    """Choose a list of members that has entries: its path, and itself; an empty list if there is none."""
    path = _any_of(space.members, generator)[0]
    lists = [entries for entries in spaces.lists_at(data, path) if entries]
    return path, _any_of(lists, generator) if lists else []


def _two_entries(space: Space, data: Data, generator: "np.random.Generator") -> tuple[list[Json], list[int]]:
    _, entries = _entries(space, data, generator)
    if entries:
        _any_of(entries, generator)  # of no use here, but instances that are known by their seed hang on this draw
    return entries, _two_of(len(entries), generator)


def copy_over(space: Space, data: Data, generator: "np.random.Generator") -> bool:
    """Copy one entry over another, except for the id."""
    entries, pair = _two_entries(space, data, generator)
    if pair:
        first, second = pair
        entries[second] = _renamed(entries[first], entries[second])
    return bool(pair)


def swap(space: Space, data: Data, generator: "np.random.Generator") -> bool:
    """Swap two entries, since methods often break ties by order."""
    entries, pair = _two_entries(space, data, generator)
    changed = [_renamed(entries[other], entries[one]) for one, other in zip(pair, reversed(pair), strict=True)]
    for index, entry in zip(pair, changed, strict=True):
        entries[index] = entry
    return bool(pair)


def _renamed(entry: Json, other: Json) -> Json:
    """Return a copy of an entry under the id of another."""
    copy = spaces.copied(entry)
    if isinstance(copy, dict) and isinstance(other, dict) and "id" in other:
        copy["id"] = other["id"]
    return copy


def come(space: Space, data: Data, generator: "np.random.Generator") -> bool:
    """Add an entry: a copy of one that is there, or one of a new draw."""
    path, _, most = _any_of(space.members, generator)
    lists = [entries for entries in spaces.lists_at(data, path) if len(entries) < most]
    if not lists:
        return False
    entries = _any_of(lists, generator)
    source = entries
    if not entries or generator.random() < 0.5:
        # an entry of a new draw
        source = [entry for drawn in spaces.lists_at(space.draw(generator), path) for entry in drawn]
    if not source:
        return False
    copy = spaces.copied(_any_of(source, generator))
    if isinstance(copy, dict) and "id" in copy:
        taken = {entry.get("id") for entry in entries if isinstance(entry, dict)}
        copy["id"] = next(name for index in range(len(entries) + 1) if (name := f"n{index}") not in taken)
    entries.insert(int(generator.integers(len(entries) + 1)), copy)
    return True


def go(space: Space, data: Data, generator: "np.random.Generator") -> bool:
    """Remove an entry."""
    path, fewest, _ = _any_of(space.members, generator)
    lists = [entries for entries in spaces.lists_at(data, path) if len(entries) > fewest]
    if not lists:
        return False
    entries = _any_of(lists, generator)
    del entries[int(generator.integers(len(entries)))]
    return True


NUMBER_CHANGES: tuple[Change, ...] = (scale, scale, stretch, stretch, to_an_end, equal, flip)
CHANGES: tuple[Change, ...] = (*NUMBER_CHANGES, scale_all, copy_over, swap, come, go)
"""Moves of all families; a move listed twice is tried twice as often."""


SHARE = 0.01
"""Share of the ratio that shrinking may lose."""

Shrink: TypeAlias = Callable[[Data], Data | None]
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
    # repaired data may repeat: each is evaluated once
    base, target, seen = found, found.ratio, {repr(found.data)}
    changed = True
    while changed:
        changed = False
        for change in changes(space, base.data):
            candidate = change(base.data)
            candidate = None if candidate is None else space.repair(candidate)
            if candidate is None or repr(candidate) in seen:
                continue
            # the budget counts evaluations, so shrinking of large instances may end early
            if judge.evaluations >= until:
                return
            seen.add(repr(candidate))
            judged = judge.judge(candidate)
            if judged is not None and judged.ratio >= least(target, share):
                base, target, changed = judged, max(target, judged.ratio), True
                yield base


def changes(space: Space, data: Data) -> list[Shrink]:
    """Ways to shrink, the boldest first; each looks its place up in what it is given, which may have shrunk before."""
    found: list[Shrink] = []
    for path, fewest, _ in space.members:
        for which, entries in enumerate(spaces.lists_at(data, path)):
            found += [partial(_without, path, fewest, which, index) for index in reversed(range(len(entries)))]
    found += [partial(_all_rounded, space.numbers, digits) for digits in (1, 2, 3)]
    for number in space.numbers:
        found += [partial(_all_rounded, [number], digits) for digits in (1, 2, 3)]
    # equal numbers together first: ties are often what makes an instance bad
    for alike in (True, False):
        for number in space.numbers:
            for index in range(len(spaces.numbers_at(data, number))):
                found += [partial(_simpler_number, number, index, way, alike) for way in range(WAYS)]
    return found


def _without(path: str, fewest: int, which: int, index: int, data: Data) -> Data | None:
    copy = spaces.copied(data)
    lists = spaces.lists_at(copy, path)
    if which >= len(lists) or index >= len(lists[which]) or len(lists[which]) <= fewest:
        return None
    del lists[which][index]
    return copy


def _all_rounded(numbers: Sequence[Number], digits: int, data: Data) -> Data | None:
    copy = spaces.copied(data)
    for number in numbers:
        for place, value in spaces.numbers_at(copy, number):
            if spaces.digits_of(value) > digits:
                spaces.put(place, spaces.within(number, spaces.rounded(value, digits)))
    return copy


WAYS = 9
"""Simpler values that are tried of a number: two round ones, two of others, and fewer digits."""


def _simpler_number(number: Number, index: int, way: int, alike: bool, data: Data) -> Data | None:
    """Make one number simpler, or all of its path that equal it."""
    copy = spaces.copied(data)
    found = spaces.numbers_at(copy, number)
    if index >= len(found):
        return None
    value = found[index][1]
    options = simpler_values(number, value, [other for _, other in found])
    if way >= len(options):
        return None
    for place, _ in [pair for pair in found if pair[1] == value] if alike else [found[index]]:
        spaces.put(place, options[way])
    return copy


def simpler_values(number: Number, value: float, others: Sequence[float]) -> list[float]:
    """Values near one that are simpler, the simplest first: round ones, those that others have, fewer digits."""
    # 1, 2 and 5 of the decade of the value, and its end
    power = float_power(10, decade(value)) if value > 0 else 1.0
    round_ones = [float(f"{power * each:.0e}") for each in (1, 2, 5, 10)]
    options = [
        *_nearest(value, round_ones),
        *_nearest(value, others),
        *(spaces.rounded(value, digits) for digits in (1, 2, 3, 4, 6)),
    ]
    simpler = [spaces.within(number, each) for each in options if each != value and _plain(each) <= _plain(value)]
    return list(dict.fromkeys(each for each in simpler if each != value))


def _nearest(value: float, others: Sequence[float]) -> list[float]:
    """The two nearest others."""
    return sorted({each for each in others if each != value}, key=lambda each: abs(each - value))[:2]


def _plain(value: float) -> tuple[int, bool]:
    """How simple a number looks, the simplest least."""
    return spaces.digits_of(value) if value else 0, spaces.rounded(value, 1) != value or f"{value:.0e}"[0] not in "0125"
