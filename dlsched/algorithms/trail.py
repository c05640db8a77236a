"""The trail of a search by layers: which state each state came from, and by which choice."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


@dataclass(slots=True, eq=False)
class Trail:
    """Step, parents and choices of each layer, in small integers; ``size``: their bytes, with objects."""

    steps: list[tuple[int, npt.NDArray[np.int32], Integers]] = field(default_factory=list)
    size: int = 0

    def add(self, step: int, parents: Integers, choices: Integers) -> None:
        """Add a layer: parents of its states, shape (states,), and the choices made, shape (states, jobs)."""
        kept = parents.astype(np.int32), choices.astype(np.min_scalar_type(int(choices.max(initial=0))))
        self.steps.append((step, *kept))
        self.size += sum(array.nbytes for array in kept) + 500

    def back(self, parent: int) -> list[tuple[int, Integers]]:
        """Return steps, as added, and choices that lead to state ``parent`` of the last layer, the last first.

        >>> trail = Trail()
        >>> trail.add(0, np.array([0]), np.array([[0, 0]]))
        >>> trail.add(1, np.array([0, 0]), np.array([[1, 0], [2, 0]]))
        >>> [(step, choice.tolist()) for step, choice in trail.back(1)]
        [(1, [2, 0]), (0, [0, 0])]
        """
        found = []
        for step, parents, choices in reversed(self.steps):
            found.append((step, choices[parent]))
            parent = int(parents[parent])
        return found
