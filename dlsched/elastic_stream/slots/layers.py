"""Arrays of the states that a stream with ticks can reach at one tick.

====================  ===============================================================================================
code                  mathematics
====================  ===============================================================================================
``left[i, j]``        epochs that job j has left in state i; 0: it has ended
``held[i, j]``        units it held in the last slot
``started[i, j]``     whether it has ever held units
``cost[i]``           weighted flow times so far: of ended jobs all, of present ones from arrival to the tick
====================  ===============================================================================================
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dlsched.algorithms.layered_search import Trail
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.elastic_stream.slots.plan import Plan

BoolArray = npt.NDArray[np.bool_]


@dataclass(slots=True, eq=False)
class Layer:
    """States at one tick; ``parent`` and ``given``: the state each came from, and the units of the slot between."""

    left: FloatArray
    held: IntArray
    started: BoolArray
    cost: FloatArray
    parent: IntArray
    given: IntArray

    def take(self, rows: IntArray | BoolArray) -> "Layer":
        """Some of the states."""
        return Layer(*(getattr(self, name)[rows] for name in self.__slots__))


def joined(pieces: list[Layer]) -> Layer:
    """One layer of its pieces."""
    return Layer(*(np.concatenate([getattr(piece, name) for piece in pieces]) for name in Layer.__slots__))


def plan_of(trail: Trail, child: Layer, row: int) -> Plan:
    """The plan to a state, a successor of the last layer, traced back to the first slot."""
    plan: Plan = [{} for _ in range(child.left.shape[1])]
    given = child.given[row]
    for slot, before in trail.back(int(child.parent[row])):
        for job in np.flatnonzero(given).tolist():
            plan[job][slot] = int(given[job])
        given = before
    return plan
