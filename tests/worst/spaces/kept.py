"""What every space keeps: draws, moves and simpler instances are of the family, and in the space."""

import copy

import numpy as np

from dlsched.core.errors import InstanceError
from dlsched.core.instance import InstanceFile
from dlsched.families import instance_from
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


def moves_are_kept(space: Space, count: int = 30) -> None:
    """Every move leaves the instance as it is, changes some, and with repair stays among instances in the space."""
    for move in space.moves:
        changed = 0
        for seed, data in enumerate(draws(space, count)):
            before = copy.deepcopy(data)
            moved = move(data, np.random.default_rng(seed))
            assert data == before, f"{move} changed what it was given"
            if moved is not None:
                changed += moved != data
                _is_kept(space, moved)
        assert changed, f"{move} changes nothing"


def simpler_are_kept(space: Space, count: int = 10) -> None:
    """So does every way to shrink, and none offers the instance itself."""
    for simplify in space.simpler:
        offered = 0
        for data in draws(space, count):
            before = copy.deepcopy(data)
            for simpler in simplify(data):
                offered += 1
                assert simpler != before
                _is_kept(space, simpler)
            assert data == before, f"{simplify} changed what it was given"
        assert offered, f"{simplify} offers nothing"


def _is_kept(space: Space, data: Data) -> None:
    repaired = space.repair(data)
    if repaired is not None:
        assert space.repair(repaired) == repaired
        try:
            instance_of(repaired)
        except InstanceError as error:
            raise AssertionError(f"repaired, and yet no instance: {error}: {repaired}") from None


def walk(space: Space, steps: int, seed: int = 0) -> list[tuple[Data, InstanceFile]]:
    """Draw, then take every move of the space in turn; all it comes to are valid instances that repair leaves as they are.

    Every third one is also made simpler, which repair does not undo.
    """
    generator = np.random.default_rng(seed)
    data, met = space.draw(generator), []
    for step in range(steps):
        assert space.repair(data) == data
        met.append((data, instance_from(data, "walk")))
        before = repr(data)
        for simplify in space.simpler if step % 3 == 0 else ():
            assert all(space.repair(found) != data for found in simplify(data))
        changed = space.moves[step % len(space.moves)](data, generator)
        assert repr(data) == before, "a move changes what it is given"
        data = data if changed is None else (space.repair(changed) or data)
    return met
