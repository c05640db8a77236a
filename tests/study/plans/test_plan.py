"""Grids against sets of their combinations, each made and written out."""

import json
import random
from itertools import product

from dlsched.study.plans.plan import Grid, combination, combinations, size, size_beyond

VALUES = {"a": (1, 2, 3, 1.0, True, "1"), "b": ([1], [1.0], {"x": 1}, {"x": 2}), "c": tuple(range(9))}


def drawn(chance: random.Random) -> Grid:
    """A grid of some of the values; seeds are a range or a list."""
    grid: dict[str, tuple[object, ...] | range] = {
        key: tuple(chance.sample(values, chance.randint(1, len(values)))) for key, values in VALUES.items()
    }
    if chance.random() < 0.5:
        first = chance.randint(0, 7)
        grid["c"] = range(first, chance.randint(first + 1, 9), chance.choice((1, 1, 2)))
    if chance.random() < 0.1:
        del grid["b"]
    return grid  # type: ignore[return-value]


def written(grid: Grid) -> list[str]:
    """Every combination as JSON, in order."""
    return [json.dumps(dict(zip(grid, values, strict=True)), sort_keys=True) for values in product(*grid.values())]


def test_combinations_beyond_others() -> None:
    """Of 500 drawn lists of up to five grids: how many each adds to those before it, and which, in their order."""
    chance = random.Random(1)
    for _ in range(500):
        grids = [drawn(chance) for _ in range(chance.randint(1, 5))]
        seen: set[str] = set()
        for index, grid in enumerate(grids):
            expected = [text for text in written(grid) if text not in seen]
            seen.update(expected)
            assert size_beyond(grid, grids[:index]) == len(expected)
            found = [json.dumps(each, sort_keys=True) for each in combinations(grid, grids[:index])]
            assert found == expected


def test_any_place_is_found_without_the_others() -> None:
    """In the order of the combinations; of a million million, too."""
    grid = drawn(random.Random(2))
    assert [json.dumps(combination(grid, place), sort_keys=True) for place in range(size(grid))] == written(grid)
    vast: Grid = {"a": range(1000), "b": range(1000), "c": range(10**6)}
    assert size(vast) == 10**12
    assert combination(vast, 10**12 - 2) == {"a": 999, "b": 999, "c": 999_998}
    assert size_beyond(vast, [{"a": range(500, 2000), "b": (7, 3, 1), "c": range(5, 10)}]) == 10**12 - 500 * 3 * 5
