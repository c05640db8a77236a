"""What every space keeps: draws, moves and simpler instances are of the family, and in the space."""

import copy

import numpy as np

from dlsched.core.instance import InstanceFile
from dlsched.families import instance_from
from dlsched.worst.moves import changes, moved
from dlsched.worst.space import Data, Space, lists_at, numbers_at


def instance_of(data: Data) -> InstanceFile:
    """The instance of some data."""
    return instance_from(data, "candidate")


def draws(space: Space, count: int) -> list[Data]:
    """As many draws, each from a seed of its own."""
    return [space.draw(np.random.default_rng(seed)) for seed in range(count)]


def draws_are_kept(space: Space, count: int = 40) -> None:
    """Draws are feasible instances in the space, and the same seed draws the same."""
    for seed, data in enumerate(draws(space, count)):
        assert space.draw(np.random.default_rng(seed)) == data
        assert space.family.infeasible(instance_of(data)) is None
        before = copy.deepcopy(data)
        assert space.repair(data) == before == data


def presets_are_kept(space: Space, count: int = 20) -> None:
    """Draws of the presets that fit lie in the space, numbers in the ranges that are searched; the same seed draws the same."""
    for name, draw in space.presets.items():
        met = [(seed, data) for seed in range(count) if (data := draw(np.random.default_rng(seed))) is not None]
        assert met, f"{name} never draws what lies in the space"
        for seed, data in met:
            assert draw(np.random.default_rng(seed)) == data
            assert space.family.infeasible(instance_of(data)) is None
            assert space.repair(data) == data
            for number in space.numbers:
                assert all(value == 0 or number.low <= value <= number.high for _, value in numbers_at(data, number))
            for path, fewest, most in space.members:
                assert all(fewest <= len(entries) <= most for entries in lists_at(data, path))
        assert len({repr(data) for _, data in met}) > 1, f"{name} always draws the same"


def changes_are_kept(space: Space, count: int = 30) -> None:
    """Moves and steps of shrinking leave the data as they are, change some, and after repair are in the space."""
    moves = changed = 0
    for seed, data in enumerate(draws(space, count)):
        before = copy.deepcopy(data)
        step = moved(space, data, np.random.default_rng(seed))
        moves += step is not None
        simpler = [found for change in changes(space, data) if (found := change(data)) is not None]
        changed += any(each != before for each in simpler)
        assert data == before
        for each in simpler[:: max(1, len(simpler) // 20)] + ([] if step is None else [step]):
            repaired = space.repair(each)
            if repaired is not None:
                assert space.repair(repaired) == repaired
                instance_of(repaired)
    assert moves and changed


def walk(space: Space, steps: int, seed: int = 0) -> list[tuple[Data, InstanceFile]]:
    """Draw, then move so many times; all data on the way are valid instances that repair leaves as they are."""
    generator = np.random.default_rng(seed)
    data, met = space.draw(generator), []
    for _ in range(steps):
        assert space.repair(data) == data
        met.append((data, instance_of(data)))
        data = moved(space, data, generator) or data
    return met
