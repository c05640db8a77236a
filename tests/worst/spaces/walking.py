"""A walk through a space by its own moves, which tests of every space share."""

import numpy as np

from dlsched.core.instance import InstanceFile
from dlsched.families import instance_from
from dlsched.worst.space import Data, Space


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
