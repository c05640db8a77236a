"""What every space keeps: draws, moves and simpler instances are of the family, and in the space."""

import numpy as np

from dlsched.core.instance import InstanceFile
from dlsched.families import instance_from
from dlsched.worst.moves import moved
from dlsched.worst.spaces import Data, Space


def instance_of(data: Data) -> InstanceFile:
    """The instance of some data."""
    return instance_from(data, "candidate")


def draws(space: Space, count: int) -> list[Data]:
    """As many draws, each from a seed of its own."""
    return [space.draw(np.random.default_rng(seed)) for seed in range(count)]


def walk(space: Space, steps: int, seed: int = 0) -> list[tuple[Data, InstanceFile]]:
    """Draw, then move so many times; all data on the way are valid instances that repair leaves as they are."""
    generator = np.random.default_rng(seed)
    data, met = space.draw(generator), []
    for _ in range(steps):
        assert space.repair(data) == data
        met.append((data, instance_of(data)))
        data = moved(space, data, generator) or data
    return met
