"""Parts of searches by layers: rows that belong together, divisions of units, and the trail back from a state."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


def alike(marked: npt.NDArray[np.bool_]) -> Iterator[tuple[Integers, Integers]]:
    """Yield every set of marked columns, with the rows that have exactly these columns marked, ascending."""
    # Rows as 64-bit words, so that equal rows are found by comparing numbers.
    bits = np.packbits(marked, axis=1)
    words = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : bits.shape[1]] = bits
    numbers = words.view(np.uint64)
    keys = numbers[:, 0] if numbers.shape[1] == 1 else numbers
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    counts = np.bincount(group.ravel())
    for row, rows in zip(first, np.split(order, np.cumsum(counts)[:-1]), strict=True):
        yield np.flatnonzero(marked[row]), rows


def divisions(options: Sequence[Iterable[int]], units: int, most: int) -> Integers | None:
    """All ways to give each job one of its counts or nothing, within the units; shape (ways, jobs); None: more than ``most``."""
    ways: list[tuple[tuple[int, ...], int]] = [((), units)]
    for counts in options:
        longer = (((*way, count), rest - count) for way, rest in ways for count in (0, *counts) if count <= rest)
        ways = list(islice(longer, most + 1))
        if len(ways) > most:
            return None
    return np.array([way for way, _ in ways], dtype=np.int64)


@dataclass(slots=True, eq=False)
class Trail:
    """Step, parents and choices of each layer, in small integers; ``size``: their bytes, with objects."""

    steps: list[tuple[int, npt.NDArray[np.int32], Integers]] = field(default_factory=list)
    size: int = 0

    def add(self, step: int, parents: Integers, choices: Integers) -> None:
        """Add a layer: parents of its states, shape (states,), and the choices made, shape (states, jobs)."""
        arrays = parents.astype(np.int32), choices.astype(np.min_scalar_type(int(choices.max(initial=0))))
        self.steps.append((step, *arrays))
        self.size += sum(array.nbytes for array in arrays) + 500

    def back(self, parent: int) -> list[tuple[int, Integers]]:
        """Return steps, as added, and choices that lead to state ``parent`` of the last layer, the last first."""
        way = []
        for step, parents, choices in reversed(self.steps):
            way.append((step, choices[parent]))
            parent = int(parents[parent])
        return way
