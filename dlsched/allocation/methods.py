"""Methods that need only a family's cost table; ``Counting`` holds the functions that a family provides."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Generic

from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.counts import CountedT, ids
from dlsched.allocation.dynamic_program import solve_by_states
from dlsched.allocation.knapsack import solve_knapsack
from dlsched.allocation.lagrange import best_price
from dlsched.certificates import PriceCertificate
from dlsched.core.arrays import IntArray
from dlsched.core.budget import Stopped, Tick
from dlsched.core.result import SolutionT
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.solvers.conclude import solve_and_conclude
from dlsched.solvers.formulation import Formulation
from dlsched.version import VERSION

if TYPE_CHECKING:
    import pulp

    from dlsched.solvers.linear import LinearModel

KNAPSACK = f"dlsched knapsack {VERSION}"
DP = f"dlsched dp {VERSION}"


@dataclass(frozen=True)
class Counting(Generic[CountedT, SolutionT]):
    """Functions of a family for allocations of counts, and the methods that use them.

    ``table``: costs of all counts that an optimal answer may need. ``solution`` converts counts by job, and calls the
    tick if this takes long. ``warm`` offers the search a quick answer. ``lagrange``: the certificate of an instance,
    with the keywords ``price`` and ``tick``. ``whole_table`` extends an instance's table by the counts that cannot fit
    beside the others; None: ``table`` has them, or a best price without them is best.
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
        return proven(search, KNAPSACK)

    def run_dp(self, instance: CountedT, search: Search[SolutionT]) -> TerminationStatus:
        """Run dynamic programming over the capacity; a node is a job."""
        table = self.table(instance, search.tick)
        self.warm(instance, search)
        chosen = solve_by_states(table, instance.capacity, step=lambda: search.tick(1), tick=search.tick)
        assert chosen is not None
        self.offer(instance, search, table, chosen, DP)
        return proven(search, DP)

    def run_lagrange(self, instance: CountedT, search: Search[SolutionT]) -> TerminationStatus:
        """The bound at the best price."""
        certificate = self.lagrange(instance, tick=search.tick)
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


def proven(search: Search[SolutionT], source: str) -> TerminationStatus:
    """Record that the incumbent is optimal."""
    assert search.objective is not None
    search.prove(search.objective, source=source)
    return TerminationStatus.OPTIMAL


def holding(
    run: Callable[[CountedT, Search[SolutionT]], TerminationStatus],
    quick: Callable[[CountedT], SolutionT | None],
    source: str,
) -> Callable[[CountedT, Search[SolutionT]], TerminationStatus]:
    """Make a method offer a quick heuristic's answer if it is stopped before it has one of its own."""

    @wraps(run)
    def held(instance: CountedT, search: Search[SolutionT]) -> TerminationStatus:
        try:
            return run(instance, search)
        except (Stopped, MemoryError, KeyboardInterrupt):
            if search.solution is None:
                search.offer(quick(instance), source=source)
            raise

    return held
