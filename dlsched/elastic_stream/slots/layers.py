"""States of a stream at one tick as arrays, and what is kept of them once they were followed.

====================  ===============================================================================================
code                  mathematics
====================  ===============================================================================================
``left[i, j]``        epochs that job j has left in state i; 0: it has ended
``held[i, j]``        units it held in the last slot
``started[i, j]``     whether it has ever held units
``cost[i]``           flow times so far: of ended jobs all, of present ones from arrival to the tick
====================  ===============================================================================================
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dlsched.core.arrays import FloatArray, IntArray
from dlsched.elastic_stream.slots.plan import Plan

BoolArray = npt.NDArray[np.bool_]


@dataclass(slots=True, eq=False)
class Layer:
    """States at one tick; ``parent`` and ``given`` say where each came from."""

    left: FloatArray
    held: IntArray
    started: BoolArray
    cost: FloatArray
    parent: IntArray
    given: IntArray

    def take(self, rows: IntArray | BoolArray) -> "Layer":
        """Return some of the states."""
        return Layer(*(getattr(self, name)[rows] for name in self.__slots__))


def joined(pieces: list[Layer]) -> Layer:
    """Put pieces of a layer together."""
    return Layer(*(np.concatenate([getattr(piece, name) for piece in pieces]) for name in Layer.__slots__))


@dataclass(slots=True, eq=False)
class Trail:
    """What is kept of the layers that were followed: slot, parents and units of each, in the smallest integers that hold them.

    ``size``: bytes, and some for objects.
    """

    steps: list[tuple[int, npt.NDArray[np.int32], IntArray]] = field(default_factory=list)
    size: int = 0

    def add(self, layer: Layer, slot: int) -> None:
        """Keep where the states of a layer came from."""
        parent = layer.parent.astype(np.int32)
        given = layer.given.astype(np.min_scalar_type(int(layer.given.max(initial=0))))
        self.steps.append((slot, parent, given))
        self.size += parent.nbytes + given.nbytes + 500

    def plan(self, child: Layer, row: int) -> Plan:
        """Trace a state that follows the last layer back to the first slot."""
        plan: Plan = [{} for _ in range(child.left.shape[1])]
        given, parent = child.given[row], int(child.parent[row])
        for slot, parents, divisions in reversed(self.steps):
            for job in np.flatnonzero(given).tolist():
                plan[job][slot] = int(given[job])
            given, parent = divisions[parent], int(parents[parent])
        return plan
