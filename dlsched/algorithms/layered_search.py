"""Parts of searches by layers: rows that belong together, divisions of units, and the trail back from a state."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


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


STEPS = 64
"""Steps into which many units are divided for the least costs of the jobs to come."""
_ENTRIES = 4_000_000  # of one array


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """Counts that a job may be given, 0 first, shape (O,), and their costs in each state, shape (states, O).

    ``twin``: an earlier job that is interchangeable with this one in the states that ``same`` marks: there it gets no less.
    """

    counts: Integers
    costs: Floats
    twin: int | None = None
    same: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Divisions:
    """Ways to divide units: the state of each and the position of each job's count, shape (ways, jobs), with total costs.

    Of the others below the cutoff, all cost at least ``missing``.
    """

    state: Integers
    chosen: Integers
    total: Floats
    missing: float


def cheap_divisions(base: Floats, jobs: Sequence[Choices], units: int, cutoff: float, most: int) -> Divisions:
    """Ways to give each job one of its counts, within the units, that cost less than ``cutoff`` on top of ``base``.

    About ``most`` ways are followed, those of the least bounds: what they cost so far and the least for the jobs to come.
    """
    # Least costs of the jobs from each on, by units that are free, in steps rounded in their favour; (states, steps).
    step = -(-units // STEPS)
    least = [np.zeros((len(base), units // step + 1))]
    for job in reversed(jobs):
        steps = job.counts // step
        begins = np.flatnonzero(np.diff(steps, prepend=-1))
        cheapest, after = np.minimum.reduceat(job.costs, begins, axis=1), least[-1]
        now = after + cheapest[:, :1]
        for place, taken in enumerate(steps[begins].tolist()):
            costs = after[:, : after.shape[1] - taken] + cheapest[:, [place]]
            np.minimum(now[:, taken:], costs, out=now[:, taken:])
        least.append(now)
    missing, state = np.inf, np.flatnonzero(base + least.pop()[:, -1] < cutoff)
    total, free = base[state], np.full(len(state), units)
    chosen = np.zeros((len(state), 0), dtype=np.int64)
    # Job by job, every way so far is followed by all counts that still allow a total below the cutoff.
    for number, job in enumerate(jobs):
        after = least.pop()
        totals, rest = total[:, None] + job.costs[state], free[:, None] - job.counts
        bounds = totals + after[state[:, None], np.maximum(rest, 0) // step]
        allowed = rest >= 0
        if job.twin is not None and job.same is not None:
            allowed &= ~job.same[state, None] | (job.counts <= jobs[job.twin].counts[chosen[:, job.twin], None])
        way, column = np.nonzero(allowed & (bounds < cutoff))
        following = jobs[number + 1].counts if number + 1 < len(jobs) else job.counts
        if len(way) > (limit := max(1, min(most, _ENTRIES // len(following)))):
            ascending = np.argsort(bounds[way, column], kind="stable")
            missing = min(missing, float(bounds[way, column][ascending[limit]]))
            some = np.sort(ascending[:limit])
            way, column = way[some], column[some]
        state, total, free = state[way], totals[way, column], rest[way, column]
        chosen = np.column_stack([chosen[way], column])
    return Divisions(state, chosen, total, missing)


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
