"""The supremum of a policy's ratio: a search over its runs and over orders of events of the optimum.

A node is a run and the first events of the optimum, with the least ratio that multipliers prove for all orders that begin
so. The node of the largest bound is followed to a whole order, whose ratio is the incumbent. Nodes that multipliers
prove to have no larger ratio are leaves of the proof, most by multipliers found for other orders.
"""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

from dlsched.core.arrays import FloatArray
from dlsched.core.errors import SolverError
from dlsched.elastic_stream.simulation.view import Policy
from dlsched.worst.competitive.programs import Multipliers, Prefix, Programs
from dlsched.worst.competitive.runs import Unbounded, Whole, runs
from dlsched.worst.competitive.stream import Speeds
from dlsched.worst.competitive.tables import Simplex

Leaf = tuple[Whole, Prefix, Multipliers]


@dataclass(eq=False)
class Node:
    """A run, the first events of the optimum, and a bound: the least r of its program, with the unknowns in floats.

    ``multipliers`` prove a leaf; ``children`` replace a node. It is open while it has neither.
    """

    run: Whole
    prefix: Prefix
    bound: float
    near: FloatArray | None
    multipliers: Multipliers | None = None
    children: "list[Node] | None" = None


@dataclass(frozen=True, eq=False)
class Found:
    """The largest ratio, runs and orders of the optimum that have it, what no ratio exceeds, and leaves that prove that.

    The two ratios are equal where the search ended: the supremum. ``at_most`` is None, without leaves, where it ended too early.
    """

    ratio: Fraction
    at_most: Fraction | None
    worst: Iterator[tuple[Whole, Prefix]]
    leaves: list[Leaf]


_HAIR = 1 + 1e-9
_SHORT = 10**4
"""Denominator of what no ratio exceeds, where a search was stopped: multipliers near it are short."""


class Search:
    """A search for the supremum of a policy, jobs of these tables and weights in order of arrival; it may be stopped anywhere.

    With a ``simplex`` of tables jobs have any one of it, and what is found is not below the supremum: each run and order has the
    same multipliers on all tables. Nothing less than ``least`` is proven.
    """

    def __init__(
        self,
        policy: Callable[[], Policy],
        tables: Sequence[Speeds],
        weights: Sequence[int],
        tick: Callable[[int], None],
        simplex: Simplex | None = None,
        least: Fraction = Fraction(0),
    ) -> None:
        self._policy, self._tables, self._weights, self._tick = policy, tables, weights, tick
        self._simplex = simplex
        self._programs = Programs(tables, weights, () if simplex is None else simplex.corners)
        self._roots: list[Node] = []
        self._listed = False  # whether all runs have their roots
        # the largest ratio of a whole order so far; what leaves prove, if that is more
        self._incumbent: tuple[Fraction, tuple[Whole, Prefix]] | None = None
        self._at_most = least
        # multipliers that prove some leaf: of a run, how many it has seen of its group, and those of runs of the same lengths
        self._known: dict[Whole, list[Multipliers]] = {}
        self._seen: dict[Whole, int] = {}
        self._groups: dict[Whole, list[tuple[Whole, Multipliers]]] = {}
        self._met: dict[Whole, list[tuple[float, frozenset[object]]]] = {}

    @property
    def _target(self) -> Fraction | None:
        """What leaves have to prove."""
        return max(self._incumbent[0], self._at_most) if self._incumbent else self._at_most or None

    def run(self) -> Found:
        """Find the supremum.

        ``SolverError``: HiGHS gives no answer, or one that no rationals confirm; ``TypeError``: the policy's decisions are not
        linear; ``Unbounded``: there is none.
        """
        groups: dict[object, list[tuple[Whole, Multipliers]]] = {}
        for run in runs(self._policy, self._tables, self._weights, lambda: self._tick(0), self._simplex):
            self._groups[run] = groups.setdefault((run.present, run.works, run.arrivals), [])
            self._roots += self._solved(run, Prefix(len(self._tables)))
        self._listed = True
        order = count()
        waiting = [(-node.bound, next(order), node) for node in self._roots]
        heapq.heapify(waiting)
        while waiting:
            node = heapq.heappop(waiting)[-1]
            # follow the largest bound to a whole order, or to where the incumbent is not exceeded
            while not self._closed(node):
                node.children = self._children(node)
                nodes = sorted((each for each in node.children if not self._closed(each)), key=lambda each: -each.bound)
                if not nodes:
                    break
                node = nodes[0]
                for each in nodes[1:]:
                    heapq.heappush(waiting, (-each.bound, next(order), each))
        target = self._target
        assert target is not None
        return Found(target, target, self._ratios(), self._parts()[0])

    def stopped(self) -> Found | None:
        """Return what is proven so far, after ``run`` was interrupted, without a limit; None: nothing is."""
        self._tick = lambda programs: None
        leaves, nodes = self._parts()
        if not self._roots:
            return None
        largest = max((node.bound for node in nodes), default=0.0)
        if self._incumbent is None:
            whole = max(nodes, key=lambda node: node.bound)
            while not whole.prefix.whole:
                whole = max(self._children(whole), key=lambda node: node.bound)
            self._closed(whole)
        assert self._incumbent is not None
        ratio, worst = self._incumbent[0], self._ratios()
        if not self._listed:
            return Found(ratio, None, worst, [])
        self._at_most = Fraction(math.ceil(largest * _HAIR * _SHORT), _SHORT)
        while nodes:
            node = nodes.pop()
            if self._closed(node):
                leaves.append(_leaf(node))
            else:
                nodes += self._children(node)
        return Found(self._incumbent[0], self._target, worst, leaves)

    def _ratios(self) -> Iterator[tuple[Whole, Prefix]]:
        """Yield runs and whole orders of the incumbent's ratio: the incumbent, others of its run, and those of other runs.

        A run and an order may meet in instances with ties alone. Without them the run has another order as bad.
        """
        assert self._incumbent is not None
        ratio, (first, order) = self._incumbent
        yield first, order
        all_runs = dict.fromkeys([first, *(node.run for node in self._roots)])
        waiting = [(run, Prefix(len(self._tables))) for run in reversed(all_runs)]
        while waiting:
            run, prefix = waiting.pop()
            if self._programs.bound(run, prefix)[0] * _HAIR < ratio:
                continue
            if not prefix.whole:
                waiting += [(run, longer) for longer in prefix.longer()][::-1]
            elif (run, prefix.events) != (first, order.events):
                yield run, prefix

    def _parts(self) -> tuple[list[Leaf], list[Node]]:
        """Leaves of the proof, and open nodes."""
        leaves, nodes, waiting = list[Leaf](), list[Node](), self._roots[::-1]
        while waiting:
            node = waiting.pop()
            if node.multipliers is not None:
                leaves.append(_leaf(node))
            elif node.children is not None:
                waiting += node.children[::-1]
            else:
                nodes.append(node)
        return leaves, nodes

    def _closed(self, node: Node) -> bool:
        """Whether multipliers prove the target, which a whole order may raise to its ratio.

        ``SolverError``: no rationals confirm those of a whole order.
        """
        if node.multipliers is not None or node.near is None:
            return node.multipliers is not None
        target = self._target
        if target is not None and node.bound <= target * _HAIR:
            node.multipliers = self._programs.proving(node.run, node.prefix, node.near, target)
            if node.multipliers is not None:
                self._groups[node.run].append((node.run, node.multipliers))
                return True
        if node.prefix.whole:
            least = self._programs.least(node.run, node.prefix, node.near)
            if least is None:
                least = self._rounded(node)
            if least is None:
                raise SolverError(f"no rationals confirm a bound of {node.bound!r}")
            if target is None or least[0] > target:
                self._incumbent = least[0], (node.run, node.prefix)
            node.multipliers = least[1]
        return node.multipliers is not None

    def _rounded(self, node: Node) -> tuple[Fraction, Multipliers] | None:
        """Return a ratio that is a little larger than the least, and multipliers that prove it."""
        assert node.near is not None
        ratio = Fraction(math.ceil(node.bound * _HAIR * _SHORT), _SHORT)
        multipliers = self._programs.proving(node.run, node.prefix, node.near, ratio)
        return None if multipliers is None else (ratio, multipliers)

    def _multipliers(self, run: Whole) -> list[Multipliers]:
        """Multipliers that hold for a run."""
        known, group = self._known.setdefault(run, []), self._groups[run]
        for origin, multipliers in group[self._seen.get(run, 0) :]:
            found = multipliers if origin is run else self._programs.shared(multipliers, origin, run)
            known += [] if found is None else [found]
        self._seen[run] = len(group)
        return known

    def _children(self, node: Node) -> list[Node]:
        return [child for longer in node.prefix.longer() for child in self._solved(node.run, longer, node.bound)]

    def _solved(self, run: Whole, prefix: Prefix, most: float = math.inf) -> list[Node]:
        """Return the node of a prefix, whose bound is at most so much, or those of longer ones where it has none."""
        target = self._target
        if target is not None:
            for multipliers in self._multipliers(run):
                if self._programs.prove(multipliers, prefix, target):
                    return [Node(run, prefix, most, None, multipliers)]
            # an optimum of another order shows that the bound is larger: needs no program
            support, large = prefix.support, target * _HAIR
            if not prefix.whole and any(bound > large and met <= support for bound, met in self._met.get(run, ())):
                return [Node(run, prefix, most, None)]
        self._tick(1)
        bound, near = self._programs.bound(run, prefix)
        if near is not None:
            self._met.setdefault(run, []).append((bound, self._programs.met(run, prefix, near)))
            return [Node(run, prefix, bound, near)]
        if prefix.whole:
            raise Unbounded(run.path)
        return [node for longer in prefix.longer() for node in self._solved(run, longer)]


def _leaf(node: Node) -> Leaf:
    assert node.multipliers is not None
    return node.run, node.prefix, node.multipliers
