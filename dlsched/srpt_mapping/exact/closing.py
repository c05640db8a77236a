"""Closing the gap of a block by our own search and by CP-SAT with intervals, which share their answers."""

from collections.abc import Callable
from dataclasses import replace

from dlsched.algorithms.start_tree import CLOSE, Modes, Tree
from dlsched.core.errors import SolverError
from dlsched.core.limits import Limits
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.solvers.outcome import Incumbent
from dlsched.srpt_mapping.blocks.block import Block, blocks_of, whole_bound_s, whole_schedule
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing.layouts import Layouts, Picked, mode_jobs, picked_of
from dlsched.srpt_mapping.solution import Schedule
from dlsched.version import VERSION

BRANCHING = f"dlsched branching {VERSION}"

_SLOWEST_S = 1e-3
"""Seconds of a conflict that CP-SAT is given where time is limited: mostly it takes a third, but now and then a hundred times
as long, and the other search has to have its turn."""
_FEWEST_S = 2.0
"""Seconds that CP-SAT has at least: starting its process and importing it take up to one."""


class Closing:
    """The blocks of an instance, starting from the answer held, and the steps that close them."""

    def __init__(self, instance: Instance, found: Layouts, search: Search[Schedule]) -> None:
        self._instance, self._search = instance, search
        self.blocks = blocks_of(instance, found, search.incumbent, search.tick)
        self._trees = [self._tree(block) for block in self.blocks]
        self._digits: list[int | None] = [None] * len(self.blocks)
        self._stuck = [False] * len(self.blocks)
        self.sources: set[str] = set()
        search.offer(whole_schedule(instance, self.blocks), source=BRANCHING)

    def open(self, *, exactly: bool = False) -> list[int]:
        """The blocks that are not closed (``exactly``: as our own search would close them), those of few jobs first."""
        open_ = [n for n, block in enumerate(self.blocks) if not (block.exact if exactly else block.closed)]
        return sorted(open_, key=lambda index: len(self.blocks[index].instance.jobs))

    def adopt(self, schedule: Schedule) -> None:
        """Take over the parts of a whole schedule that improve a block."""
        for block in self.blocks:
            self._take(block, picked_of(block.instance, block.found, schedule), BRANCHING)

    def by_tree(self, index: int, looks: float) -> None:
        """Let our own search look at ``looks`` more layouts."""
        tree, block = self._trees[index], self.blocks[index]
        tree.best_s = min(tree.best_s, block.flow_s)
        if tree.run(looks):
            block.prove(min(tree.best_s, block.flow_s) * (1 - CLOSE), BRANCHING)
            self.sources.add(BRANCHING)

    def by_intervals(self, index: int, conflicts: int | None = None) -> TerminationStatus:
        """Solve the model with intervals, again in finer units until its bound meets the answer.

        ``conflicts``: the most of each solve. ``feasible``: rounding leaves a gap in the finest unit, which is not tried again.
        """
        from dlsched.solvers.cpsat import version
        from dlsched.solvers.intervals import solve_intervals
        from dlsched.srpt_mapping.formulations import intervals

        search, block = self._search, self.blocks[index]
        search.solver_version = version()
        digits = self._digits[index] or intervals.FEWEST_DIGITS
        while not self._stuck[index]:
            search.tick(1)
            whole = intervals.build_intervals(block, intervals.unit_s(block, digits))

            def take(values: Incumbent, decode: Callable[[Incumbent], Picked] = whole.decode) -> None:
                self._take(block, decode(values), version())

            outcome = solve_intervals(
                whole.model, limits=_limits(search.left, conflicts), start=whole.start, found=take
            )
            search.budget.nodes += outcome.nodes or 0
            if outcome.status in (TerminationStatus.INFEASIBLE, TerminationStatus.SOLVER_ERROR):
                self._stuck[index] = True
                raise SolverError(f"{version()} ended a model that has a solution with {outcome.status}")
            if outcome.values is not None:
                take(outcome.values)
            if outcome.bound is not None:
                block.prove(intervals.proven_s(block, whole, outcome.bound), version())
                self.sources.add(version())
            if outcome.status is not TerminationStatus.OPTIMAL or block.closed:
                return outcome.status
            if intervals.unit_s(block, digits) == whole.unit:  # no better schedule, whose unit would be finer
                self._stuck[index] = digits == intervals.MOST_DIGITS
                digits = intervals.MOST_DIGITS
            self._digits[index] = digits
        return TerminationStatus.FEASIBLE

    def conclude(self) -> None:
        """Record the bound of all blocks together."""
        bound_s = whole_bound_s(self._instance, self.blocks)
        self._search.prove(bound_s, source=", ".join(sorted(self.sources)) or BRANCHING)

    def _take(self, block: Block, picked: Picked, source: str) -> None:
        if block.improve(picked, self._search.tick):
            self._search.offer(whole_schedule(self._instance, self.blocks), source=source)

    def _tree(self, block: Block) -> Tree:
        def better(modes: Modes) -> None:
            self._take(block, [(job, block.found[job][mode]) for job, mode in modes], BRANCHING)

        capacities = [server.gpus for server in block.instance.servers]
        return Tree(
            capacities, mode_jobs(block.instance, block.found), block.flow_s, better=better, tick=self._search.tick
        )


def _limits(left: Limits, conflicts: int | None) -> Limits:
    """Remaining limits, but no more than ``conflicts`` and the time for them."""
    if conflicts is None:
        return left
    return replace(
        left,
        nodes=conflicts if left.nodes is None else min(conflicts, left.nodes),
        time_s=None if left.time_s is None else min(left.time_s, max(_FEWEST_S, _SLOWEST_S * conflicts)),
    )
