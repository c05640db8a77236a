"""What a slot can hold in all: vectors of workers by job whose rings fit side by side in a forest, the largest of them listed.

Rings may lose workers, so what is below a vector n fits too, and only *maximal* vectors matter. They are joined over subtrees.
A *state* of a subtree is the workers of every job in it, and which of the jobs that have some are *open*: their rings cross the
link above, which has room for them. The others are *closed*: the whole ring is inside. Two subtrees go together if no job that
is closed in one has workers in the other. Of states with the same open and closed jobs the maximal ones remain.

At prices pi of workers only vectors with pi n >= ``least`` are listed: a state goes if its value, and the largest values of all
other parts, are less. Rows of servers and links are those of models (``algorithms.whole_rows``), so all that the checker
tolerates fits.
"""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from dlsched.algorithms.count_vectors import run_lengths
from dlsched.algorithms.utility_tables import Floats, Integers
from dlsched.algorithms.whole_rows import row
from dlsched.core.arrays import dot
from dlsched.core.errors import UsageError
from dlsched.ring_embedding.rings.network import Network

WORK = 20_000_000
"""Largest number of states that are made on the way, of one listing."""
_CELLS = 2**22  # of a table of all vectors up to the largest
_NEAR = 2.0**-6  # part of the limit within which the best vectors are looked for first

Key = tuple[int, int]
"""Open and closed jobs, as bits."""
States = Mapping[Key, Integers]


@dataclass(frozen=True, eq=False)
class _Part:
    """States of servers: of one, of the part below a link (one of ``parts``), or of two parts together."""

    states: States
    server: int | None = None
    parts: "tuple[_Part, ...]" = ()

    def spread(self, key: Key, wanted: Integers) -> dict[int, Integers]:
        """Workers by server and job that make ``wanted``, of a state with this key that has as many or more."""
        if self.server is not None:
            return {self.server: wanted}
        first = self.parts[0].states
        if len(self.parts) == 1:
            fitting = (each for each in first if not key[0] & ~each[0] and each[0] | each[1] == key[0] | key[1])
            below = next(each for each in fitting if (first[each] >= wanted).all(axis=1).any())
            return self.parts[0].spread(below, wanted)
        for (here, mine), (there, others) in _pairs(*self.parts):
            if (here[0] | there[0], here[1] | there[1]) == key:
                for state in mine:
                    missing = np.maximum(wanted - state, 0)
                    if (others >= missing).all(axis=1).any():
                        part = self.parts[0].spread(here, wanted - missing)
                        return part | self.parts[1].spread(there, missing)
        raise AssertionError("a state comes from states of its parts")


class Servers:
    """Maximal vectors of every server by the jobs that they have, all open: ``states``; ``jobs`` may run."""

    def __init__(self, network: Network, jobs: Collection[int]) -> None:
        self.network = network
        self.most: Integers = np.where(np.isin(np.arange(len(network.most)), list(jobs)), network.most, 0)
        self._known: dict[tuple[int, int], list[int]] = {}
        self.states = [self._on(server) for server in range(len(network.instance.servers))]

    def _on(self, server: int) -> States:
        network, instance = self.network, self.network.instance
        most = np.minimum(self.most, network.fits[:, server]).tolist()
        require(math.prod(count + 1 for count in most), _CELLS)
        vectors: Integers = np.array(list(product(*(range(count + 1) for count in most))), dtype=np.int64)
        for r, name in enumerate(instance.resources):
            amounts, right = row(network.demand[:, r].tolist(), instance.servers[server].holds(name))
            vectors = vectors[dot(vectors, np.array(amounts)) <= right]
        has = dot((vectors > 0).astype(np.int64), 1 << np.arange(len(most)))
        return {(int(jobs), 0): maximal(vectors[has == jobs]) for jobs in np.unique(has)}

    def through(self, opened: int, upward: int) -> list[int]:
        """Largest sets of open jobs for which a link has room at once."""
        if upward < 0:
            return [0]
        if (opened, upward) in self._known:
            return self._known[opened, upward]
        network, jobs = self.network, [job for job in range(opened.bit_length()) if opened >> job & 1]
        bandwidth = network.instance.links[upward // 2].bandwidth_bytes_per_s
        loads, right = row([network.load[job] for job in jobs], bandwidth)
        found: list[int] = []
        for size in range(len(jobs), -1, -1):
            for chosen in combinations(range(len(jobs)), size):
                through = sum(1 << jobs[at] for at in chosen)
                if math.fsum(loads[at] for at in chosen) <= right and all(through & ~each for each in found):
                    found.append(through)
        self._known[opened, upward] = found
        return found


class SlotVectors:
    """Maximal vectors of a slot, shape (N, I) in lexicographic order: ``rows``; UsageError if there is too much to list.

    ``prices``, shape (I,), >= 0. ``limit``: no vector is worth more. There is no price of energy.
    """

    def __init__(self, servers: Servers, prices: Floats, least: float = -math.inf) -> None:
        self._servers, self._network = servers, servers.network
        self._most, self._prices, self._least, self._work = servers.most, prices, least, 0
        tree = self._network.tree
        waiting: list[list[_Part]] = [[] for _ in tree.above]
        for position, server in self._network.hosted.items():
            waiting[position].append(_Part(servers.states[server], server))
        # what all parts that are not joined yet have at most
        self._together = self.limit = math.fsum(self._top(part) for parts in waiting for part in parts)
        whole: list[_Part] = []
        for node in range(len(tree.above) - 1, -1, -1):
            if waiting[node]:
                below = self._below(self._joined(waiting[node]), tree.upward[node])
                (waiting[tree.above[node]] if tree.above[node] >= 0 else whole).append(below)
        self._whole = self._joined(whole)
        states = list(self._whole.states.values())
        self.rows = maximal(np.concatenate(states)) if states else self._most[None, :][:0]

    def workers(self, vector: Integers) -> dict[int, dict[int, int]]:
        """Workers by job and server that make the vector, one of ``rows`` or less."""
        states = self._whole.states
        key = next(each for each in states if (states[each] >= vector).all(axis=1).any())
        found: dict[int, dict[int, int]] = {}
        for server, counts in self._whole.spread(key, vector).items():
            for job in np.flatnonzero(counts).tolist():
                found.setdefault(job, {})[server] = int(counts[job])
        return found

    def _top(self, part: _Part) -> float:
        return max((float(dot(states, self._prices).max()) for states in part.states.values()), default=0.0)

    def _count(self, states: int) -> None:
        self._network.tick()
        self._work += states
        require(self._work, WORK)

    def _joined(self, parts: list[_Part]) -> _Part:
        """All parts together."""
        joined = parts[0]
        for part in parts[1:]:
            elsewhere = self._together - self._top(joined) - self._top(part)
            sums: dict[Key, list[Integers]] = {}
            for (here, mine), (there, others) in _pairs(joined, part):
                values, others_values = dot(mine, self._prices), dot(others, self._prices)
                # with every state the best others, down to the least that it takes
                order = np.argsort(-others_values, kind="stable")
                ways = np.searchsorted(-others_values[order], values + (elsewhere - self._least), side="right")
                self._count(int(ways.sum()))
                pairs = mine[np.repeat(np.arange(len(mine)), ways)] + others[order[run_lengths(ways)]]
                if len(pairs):
                    sums.setdefault((here[0] | there[0], here[1] | there[1]), []).append(np.minimum(pairs, self._most))
            joined = _Part(self._gathered(sums), parts=(joined, part))
            self._together = elsewhere + self._top(joined)
        return joined

    def _below(self, part: _Part, upward: int) -> _Part:
        """The part as seen from above its upward link (-1: none, so that all jobs are closed)."""
        found: dict[Key, list[Integers]] = {}
        for (opened, closed), states in part.states.items():
            for through in self._servers.through(opened, upward):
                self._count(len(states))
                found.setdefault((through, closed | opened & ~through), []).append(states)
        return _Part(self._gathered(found), parts=(part,))

    def _gathered(self, found: Mapping[Key, list[Integers]]) -> States:
        """Maximal states by key."""
        return {key: maximal(np.concatenate(states)) for key, states in found.items()}


def best_vectors(servers: Servers, prices: Floats, known: float = 0.0) -> tuple[SlotVectors, float]:
    """The vectors of the highest value at these prices, maybe some more, and that value; errors as those of ``SlotVectors``.

    ``known``: the value of some vector, if there is one.
    """
    least, share = known * (1 - 2.0**-40) or math.inf, 0.0
    while True:
        found = SlotVectors(servers, prices, least)
        # sums cut off at the most workers of a job may be worth less than ``least``: these alone prove no highest value
        if len(found.rows) and (most := float(dot(found.rows, prices).max())) >= least:
            return found, most
        share = min(1.0, share * 2 or _NEAR)
        least = found.limit * (1 - share)


def _pairs(first: _Part, second: _Part) -> Iterator[tuple[tuple[Key, Integers], tuple[Key, Integers]]]:
    """States of two parts that go together, by their keys."""
    for here, mine in first.states.items():
        for there, others in second.states.items():
            if not (here[1] & (there[0] | there[1]) or there[1] & here[0]):
                yield (here, mine), (there, others)


def require(states: int, allowed: int) -> None:
    """Refuse more states than are allowed (UsageError)."""
    if states > allowed:
        raise UsageError(f"vectors of a slot come from {states} states or more, allowed: up to {allowed}")


def maximal(vectors: Integers) -> Integers:
    """Vectors that no other one is above, each once, in lexicographic order."""
    shape = vectors.max(axis=0) + 1
    cells = math.prod(shape.tolist())
    pairs = len(vectors) * len(vectors)
    require(min(cells, pairs), _CELLS)
    if pairs <= cells:
        vectors = np.unique(vectors, axis=0)
        above = (vectors[:, None, :] <= vectors[None, :, :]).all(axis=2).sum(axis=1)
        alone: Integers = vectors[above == 1]
        return alone
    present = np.zeros(shape, dtype=np.bool_)
    present[tuple(vectors.T)] = True
    # below: at or below some vector; beyond: strictly below one
    below, beyond = present.copy(), np.zeros_like(present)
    for axis in range(present.ndim):
        below = np.flip(np.logical_or.accumulate(np.flip(below, axis), axis=axis), axis)
    for axis in range(present.ndim):
        lower, upper = ([slice(None)] * present.ndim for _ in range(2))
        lower[axis], upper[axis] = slice(None, -1), slice(1, None)
        beyond[tuple(lower)] |= below[tuple(upper)]
    return np.argwhere(present & ~beyond)
