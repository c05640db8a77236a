"""States of a stream at one tick as arrays, what is kept of them once they were followed, and how they are grouped.

====================  ===============================================================================================
code                  mathematics
====================  ===============================================================================================
``left[i, j]``        epochs that job j has left in state i; 0: it has ended
``held[i, j]``        units it held in the last slot
``started[i, j]``     whether it has ever held units
``cost[i]``           flow times so far: of ended jobs all, of present ones from arrival to the tick
====================  ===============================================================================================
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dlsched.core.arrays import FloatArray, IntArray
from dlsched.elastic_stream.slotted import Plan

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


@dataclass(frozen=True, slots=True, eq=False)
class Trail:
    """What is kept of a layer once it was followed: where its states came from, in few bytes."""

    slot: int
    parent: IntArray
    given: IntArray

    @classmethod
    def of(cls, layer: Layer, slot: int) -> "Trail":
        """Keep parents and units in the smallest integers that hold them."""
        smallest = np.min_scalar_type(int(layer.given.max(initial=0)))
        return cls(slot, layer.parent.astype(np.int32), layer.given.astype(smallest))

    @property
    def size(self) -> int:
        """Bytes, and some for the object."""
        return int(self.parent.nbytes) + int(self.given.nbytes) + 500


def joined(pieces: list[Layer]) -> Layer:
    """Put pieces of a layer together."""
    return Layer(*(np.concatenate([getattr(piece, name) for piece in pieces]) for name in Layer.__slots__))


def plan_of(trail: list[Trail], child: Layer, row: int) -> Plan:
    """Trace a state that follows the last layer back to the first slot."""
    plan: Plan = [{} for _ in range(child.left.shape[1])]
    given, parent = child.given[row], int(child.parent[row])
    for here in reversed(trail):
        for job in np.flatnonzero(given).tolist():
            plan[job][here.slot] = int(given[job])
        given, parent = here.given[parent], int(here.parent[parent])
    return plan


def alike(marked: BoolArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows that have the same jobs marked: those jobs, and the rows."""
    bits = np.packbits(marked, axis=1)
    words = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : bits.shape[1]] = bits
    numbers = words.view(np.uint64)
    _, first, group = np.unique(
        numbers[:, 0] if numbers.shape[1] == 1 else numbers,
        axis=0,
        return_index=True,
        return_inverse=True,
    )
    order = np.argsort(group.ravel(), kind="stable")
    counts = np.bincount(group.ravel())
    for row, rows in zip(first, np.split(order, np.cumsum(counts)[:-1]), strict=True):
        yield np.flatnonzero(marked[row]), rows
