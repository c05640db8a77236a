"""Closing the gap of a block: our own search, and CP-SAT on its model with intervals; each takes what the other found."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from dlsched.core.errors import SolverError
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.srpt_mapping.blocks.block import Block, Picked, blocks_of, picked_of, whole_bound_s, whole_schedule
from dlsched.srpt_mapping.blocks.branching import CLOSE, Tree
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing.layouts import Layout
from dlsched.srpt_mapping.solution import Schedule
from dlsched.version import VERSION

BRANCHING = f"dlsched branching {VERSION}"


_SLOWEST_S = 1e-3
"""Seconds of a conflict that CP-SAT is given where time is limited: mostly it takes a third, but now and then a hundred times
as long, and the other search has to have its turn."""


class Closing:
    """The blocks of an instance, begun from the answer that a search holds, and what is done to each."""

    def __init__(self, instance: Instance, found: Sequence[Sequence[Layout]], search: Search[Schedule]) -> None:
        self._instance, self._search = instance, search
        self.blocks = blocks_of(instance, found, search.incumbent, search.tick)
        self._trees = [self._tree(block) for block in self.blocks]
        self._digits: list[int | None] = [None] * len(self.blocks)
        self._stuck = [False] * len(self.blocks)
        self.sources: set[str] = set()
        search.offer(whole_schedule(instance, self.blocks), source=BRANCHING)

    @property
    def open(self) -> list[int]:
        """The blocks that are not closed, those of few jobs first."""
        return self._by_jobs(number for number, block in enumerate(self.blocks) if not block.closed)

    @property
    def inexact(self) -> list[int]:
        """The blocks that are not closed as our own search would close them, those of few jobs first."""
        return self._by_jobs(number for number, block in enumerate(self.blocks) if not block.exact)

    def _by_jobs(self, numbers: Iterable[int]) -> list[int]:
        return sorted(numbers, key=lambda number: len(self.blocks[number].instance.jobs))

    def adopt(self, schedule: Schedule) -> None:
        """Take what a schedule of the whole instance does better."""
        for block in self.blocks:
            self._take(block, picked_of(block.instance, block.found, schedule), BRANCHING)

    def by_tree(self, number: int, looks: float) -> None:
        """Let our own search look at so many layouts more."""
        tree, block = self._trees[number], self.blocks[number]
        tree.best_s = min(tree.best_s, block.flow_s)
        if tree.run(looks):
            block.prove(min(tree.best_s, block.flow_s) * (1 - CLOSE), BRANCHING)
            self.sources.add(BRANCHING)

    def by_intervals(self, number: int, conflicts: int | None = None) -> TerminationStatus:
        """Solve the model with intervals, again in finer units until its bound meets the answer.

        ``conflicts``: the most of each solve. ``feasible``: rounding leaves a gap in the finest unit, which is not tried again.
        """
        from dlsched.solvers.cpsat import version
        from dlsched.solvers.intervals import Starts, solve_intervals
        from dlsched.srpt_mapping.formulations import intervals

        search, block = self._search, self.blocks[number]
        search.solver_version = version()
        digits = self._digits[number] or intervals.FEWEST_DIGITS
        while not self._stuck[number]:
            search.tick(1)
            unit_s = intervals.unit_s(block, digits)
            whole = intervals.build_intervals(block, unit_s)

            def take(starts: Starts, kept: Sequence[Sequence[Layout]] = whole.kept) -> None:
                self._take(block, intervals.decode(block, kept, starts), version())

            limits = search.left
            if conflicts is not None:
                limits = replace(limits, nodes=conflicts if limits.nodes is None else min(conflicts, limits.nodes))
                if limits.time_s is not None:
                    limits = replace(limits, time_s=min(limits.time_s, _SLOWEST_S * conflicts))
            outcome = solve_intervals(whole.model, limits=limits, start=whole.hint, found=take)
            search.budget.nodes += outcome.conflicts
            if outcome.status in (TerminationStatus.INFEASIBLE, TerminationStatus.SOLVER_ERROR):
                self._stuck[number] = True
                raise SolverError(f"{version()} ended a model that has a solution with {outcome.status}")
            if outcome.starts is not None:
                take(outcome.starts)
            if outcome.bound is not None:
                block.prove(intervals.proven_s(block, whole, outcome.bound, unit_s), version())
                self.sources.add(version())
            if outcome.status is not TerminationStatus.OPTIMAL or block.closed:
                return outcome.status
            if intervals.unit_s(block, digits) == unit_s:  # no better schedule, whose unit would be finer
                self._stuck[number] = digits == intervals.MOST_DIGITS
                digits = intervals.MOST_DIGITS
            self._digits[number] = digits
        return TerminationStatus.FEASIBLE

    def conclude(self) -> None:
        """Record what is proven of all blocks."""
        bound_s = whole_bound_s(self._instance, self.blocks)
        self._search.prove(bound_s, source=", ".join(sorted(self.sources)) or BRANCHING)

    def _take(self, block: Block, picked: Picked, source: str) -> None:
        if block.improve(picked, self._search.tick):
            self._search.offer(whole_schedule(self._instance, self.blocks), source=source)

    def _tree(self, block: Block) -> Tree:
        better: Callable[[Picked], None] = lambda picked: self._take(block, picked, BRANCHING)  # noqa: E731
        return Tree(block.instance, block.found, block.flow_s, better=better, tick=self._search.tick)
