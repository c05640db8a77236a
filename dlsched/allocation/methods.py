"""Methods that need only a family's cost table; ``Counting`` holds the functions that a family provides.

Dynamic programming over the capacity is the slow but obviously correct one of them:
best_j(c) = min over counts w <= c of job j of cost_j(w) + best_{j-1}(c - w), best_0(c) = 0 for every c >= 0.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

import numpy as np

from dlsched.algorithms import sums
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.counts import CountedT, ids
from dlsched.allocation.knapsack import solve_knapsack
from dlsched.allocation.lagrange import best_price
from dlsched.allocation.reduction import on_grid
from dlsched.certificates import PriceCertificate
from dlsched.core.arrays import IntArray
from dlsched.core.limits import Tick, no_tick
from dlsched.core.result import SolutionT
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.solvers.conclude import solve_and_conclude
from dlsched.solvers.formulation import Formulation
from dlsched.version import VERSION

if TYPE_CHECKING:
    import pulp

    from dlsched.processes.dask_blocks import Cluster
    from dlsched.solvers.linear import LinearModel


KNAPSACK = f"dlsched knapsack {VERSION}"
DP = f"dlsched dp {VERSION}"


@dataclass(frozen=True)
class Counting(Generic[CountedT, SolutionT]):
    """Functions of a family for allocations of counts, and the methods that use them.

    ``table``: costs of all counts that an optimal answer may need. ``solution`` converts counts by job. ``warm`` offers a quick
    answer. ``lagrange``: the certificate of an instance. ``whole_table`` adds counts that cannot fit beside the others, if a best
    price needs them.
    """

    table: Callable[[CountedT, Tick], CostTable]
    solution: Callable[[CountedT, Mapping[str, int], Tick], SolutionT]
    warm: Callable[[CountedT, Search[SolutionT]], None]
    lagrange: Callable[..., PriceCertificate]
    whole_table: Callable[[CountedT, CostTable, Tick], CostTable] | None = None

    def offer(
        self, instance: CountedT, search: Search[SolutionT], table: CostTable, chosen: IntArray, source: str
    ) -> None:
        """Offer the chosen pairs of a table."""
        counts = table.counts_by_id(ids(instance), chosen)
        search.offer(self.solution(instance, counts, search.tick), source=source)

    def certify(self, instance: CountedT, search: Search[SolutionT], table: CostTable, price: float) -> None:
        """Record the bound of a table's best price, or of the best price for ``whole_table``."""
        if self.whole_table is not None:
            whole = self.whole_table(instance, table, search.tick)
            if whole.pairs != table.pairs:
                price = price_of(instance, whole, search.tick)
        certificate = self.lagrange(instance, price=price, tick=search.tick)
        search.prove(certificate.value, source="certificate", certificate=certificate)

    def run_knapsack(self, instance: CountedT, search: Search[SolutionT]) -> TerminationStatus:
        """Run the multiple-choice knapsack algorithm; a node is a combined job of the core."""
        table = self.table(instance, search.tick)

        def found(chosen: IntArray, price: float) -> None:
            self.offer(instance, search, table, chosen, KNAPSACK)
            if search.certificate is None:
                self.certify(instance, search, table, price)

        choice = solve_knapsack(table, instance.capacity, found=found, step=lambda: search.tick(1), tick=search.tick)
        assert choice is not None
        return search.optimal(KNAPSACK)

    def run_dp(self, instance: CountedT, search: Search[SolutionT]) -> TerminationStatus:
        """Run dynamic programming over the capacity; a node is a job."""
        table = self.table(instance, search.tick)
        self.warm(instance, search)
        chosen = solve_by_states(table, instance.capacity, step=lambda: search.tick(1), tick=search.tick)
        assert chosen is not None
        self.offer(instance, search, table, chosen, DP)
        return search.optimal(DP)

    def run_lagrange(self, instance: CountedT, search: Search[SolutionT], **where: "Cluster") -> TerminationStatus:
        """The bound at the best price; ``cluster``: there."""
        certificate = self.lagrange(instance, tick=search.tick, **where)
        search.prove(certificate.value, source="certificate", certificate=certificate)
        return TerminationStatus.FEASIBLE

    def run_milp(
        self,
        build: "Callable[..., Formulation[pulp.LpProblem, SolutionT]] | Callable[..., Formulation[LinearModel, SolutionT]]",
    ) -> Callable[[CountedT, Search[SolutionT]], TerminationStatus]:
        """Return a method that builds a linear model (keywords ``start``, ``tick``) and calls a solver."""

        def run(instance: CountedT, search: Search[SolutionT]) -> TerminationStatus:
            """The linear formulation, by any solver of integer programs."""
            self.warm(instance, search)
            return solve_and_conclude(search, build(instance, start=search.incumbent, tick=search.tick))

        return run


def price_of(instance: CountedT, table: CostTable, tick: Tick) -> float:
    """Best price of a feasible instance's table."""
    frontier = best_price(table, instance.capacity, tick=tick)
    assert frontier is not None
    return frontier.price


_WORK = 5  # rows of floats in the work on one job
_BLOCK = 2**20  # sums made between two ticks


def state_bytes(table: CostTable, capacity: int) -> int:
    """Bytes that ``solve_by_states`` needs for its decisions, J (C + 1) entries with its C, and its work."""
    _, useful = _on_useful_grid(table, capacity)
    return (useful + 1) * (table.jobs * _decision_type(table).itemsize + _WORK * 8)


def solve_by_states(table: CostTable, capacity: int, *, step: Tick = no_tick, tick: Tick = no_tick) -> IntArray | None:
    """Return the pairs of least total cost whose counts add up to at most ``capacity``, None if there are none.

    O(P C) time and O(J C) memory, C the units of use (``_on_useful_grid``). Ties: the smaller count. ``step`` is called before
    every job, ``tick`` now and then. ``MemoryError``: more than ``ALLOWED_BYTES`` of ``algorithms.sums`` are needed.
    """
    if table.minimum_units > capacity:
        return None
    sums.require_memory(state_bytes(table, capacity), "dynamic programming")
    table, capacity = _on_useful_grid(table, capacity)
    best = np.zeros(capacity + 1)
    decisions = np.zeros((table.jobs, capacity + 1), dtype=_decision_type(table))
    bounds = table.starts.tolist()
    counts, costs = table.counts.tolist(), table.costs.tolist()
    since = 0
    for job in range(table.jobs):
        step()
        reached = np.full(capacity + 1, np.inf)
        for option, pair in enumerate(range(bounds[job], bounds[job + 1])):
            if counts[pair] > capacity:
                break
            since += capacity
            if since >= _BLOCK:
                tick()
                since = 0
            total = best[: capacity + 1 - counts[pair]] + costs[pair]
            tail = reached[counts[pair] :]
            better = total < tail
            np.copyto(tail, total, where=better)
            decisions[job, counts[pair] :][better] = option
        best = reached
    # Read the decisions backwards from the full capacity.
    chosen = np.zeros(table.jobs, dtype=np.int64)
    rest = capacity
    for job in range(table.jobs - 1, -1, -1):
        chosen[job] = bounds[job] + int(decisions[job, rest])
        rest -= counts[chosen[job]]
    return chosen


def _on_useful_grid(table: CostTable, capacity: int) -> tuple[CostTable, int]:
    """The table on its grid, and the smaller of its capacity and the sum of the largest counts."""
    small, room, _ = on_grid(table, max(capacity, table.minimum_units))
    return small, min(room, int(small.counts[small.last].sum()))


def _decision_type(table: CostTable) -> np.dtype[np.unsignedinteger]:
    return np.min_scalar_type(int(table.lengths.max()) - 1)
