"""Grids of arguments: counts combinations of values, and picks one without making the others."""

import itertools
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

from dlsched.core.files import Json

Grid: TypeAlias = Mapping[str, Sequence[Json]]
"""Values by argument, each once; the last argument varies fastest."""
Marks: TypeAlias = Mapping[str, Collection[object]]
"""Marks of the values of a grid by argument; equal values have equal marks."""


def size(grid: Grid) -> int:
    """Number of combinations.

    >>> size({"jobs": (4, 6), "seed": range(10**6)})
    2000000
    """
    return math.prod(len(values) for values in grid.values())


def combination(grid: Grid, index: int) -> dict[str, Json]:
    """Return the combination at a position, which is in [0, ``size``).

    >>> combination({"jobs": (4, 6), "seed": range(10**6)}, 1_000_003)
    {'jobs': 6, 'seed': 3}
    """
    found: dict[str, Json] = {}
    for key in reversed(list(grid)):
        index, place = divmod(index, len(grid[key]))
        found[key] = grid[key][place]
    return {key: found[key] for key in grid}


def combinations(grid: Grid, others: Sequence[Grid] = ()) -> Iterator[dict[str, Json]]:
    """Yield the combinations in order, except those that one of the other grids has.

    >>> list(combinations({"jobs": (4, 6), "seed": (0, 1)}, [{"jobs": (6, 8), "seed": range(9)}]))
    [{'jobs': 4, 'seed': 0}, {'jobs': 4, 'seed': 1}]
    """
    near = [marks for marks in map(_marks, others) if _without(grid, marks) != [grid]]
    for values in itertools.product(*grid.values()):
        found = dict(zip(grid, values, strict=True))
        if not any(all(_mark(found[key]) in known for key, known in marks.items()) for marks in near):
            yield found


def size_beyond(grid: Grid, others: Sequence[Grid]) -> int:
    """Count the combinations that no other grid has, by cutting the others out one after another.

    >>> size_beyond({"jobs": (4, 6), "seed": range(10)}, [{"jobs": (6, 8), "seed": range(5, 20)}, {"jobs": (6,), "seed": (0,)}])
    14
    """
    left = [grid]
    for marks in map(_marks, others):
        left = [part for whole in left for part in _without(whole, marks)]
    return sum(map(size, left))


def _mark(value: Json) -> object:
    """Mark of a value, which differs for 1, 1.0 and true."""
    return value if type(value) is int else json.dumps(value, sort_keys=True)


def _marks(grid: Grid) -> Marks:
    return {key: values if isinstance(values, range) else frozenset(map(_mark, values)) for key, values in grid.items()}


def _without(grid: Grid, marks: Marks) -> list[Grid]:
    """Cut a grid into disjoint grids with the combinations that another lacks; itself if they share none."""
    if grid.keys() != marks.keys():
        return [grid]
    split = {}
    for key, values in grid.items():
        split[key] = _split(values, marks[key])
        if not split[key][0]:
            return [grid]
    found: list[Grid] = []
    rest = dict(grid)
    for key, (inside, outside) in split.items():
        found += [{**rest, key: values} for values in outside if values]
        rest[key] = inside
    return found


def _split(values: Sequence[Json], known: Collection[object]) -> tuple[Sequence[Json], list[Sequence[Json]]]:
    """Return the values that are known, and the others as one or two sequences."""
    if isinstance(values, range) and isinstance(known, range) and values.step == known.step == 1:
        begin, end = (min(max(edge, values.start), values.stop) for edge in (known.start, known.stop))
        return range(begin, end), [range(values.start, begin), range(max(begin, end), values.stop)]
    inside = [value for value in values if _mark(value) in known]
    return inside, [[value for value in values if _mark(value) not in known]]
