"""How the knapsack does on the hard classes of the literature, beside HiGHS, CBC and CP-SAT on the same pairs.

The classes are those of ``hard_knapsacks.py``: 10 to 1,000 jobs of 10 to 1,000 counts up to R. The knapsack gets the bare
table; the solvers the undominated pairs as arrays, built on the clock, by ``solvers.solve_milp`` to a gap of 0 on one thread.
Seconds on the wall, each once, within a limit of 10. Solvers run where the knapsack takes .02 s or more, as none begins in less.
Answers proven agree to 1e-6, and none is better than what is proven. A solver without a proof in the limit counts as slower than
the limit. Memory is what the knapsack allocates at most, beside the table, in a run of its own. The bars: never over twice the
best of the three, and below 1 GB.
"""

import math
import time
from dataclasses import dataclass

from hard_knapsacks import CLASSES, hard_table
from measure import Page, peak_bytes, present

from dlsched.allocation.choice_program import build_choice_arrays
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.dominance import undominated
from dlsched.allocation.knapsack import solve_knapsack
from dlsched.core.budget import Budget, Stopped
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.ring_allocation.solution import Allocation
from dlsched.solvers.milp import solve_milp

SOLVERS = {"highs": "HiGHS", "cbc": "CBC", "cpsat": "CP-SAT"}
LIMIT_S, BRIEF_S, BAR, LARGEST_BYTES = 10.0, 0.02, 2.0, 1e9


@dataclass(frozen=True)
class Run:
    """Seconds, how it ended, and the total of what it holds."""

    seconds: float
    ended: str
    total: float

    @property
    def proven(self) -> bool:
        """Whether it proves its answer."""
        return self.ended == "proof"

    def __str__(self) -> str:
        return f"{self.seconds:.3f}" if self.proven else f"{self.ended}, {self.seconds:.1f}"


def knapsack(table: CostTable, capacity: int, limit_s: float) -> Run:
    """Ours, stopped by time or by the memory that it is allowed."""
    budget, totals, ended = Budget(Limits(time_s=limit_s)), [math.inf], "proof"
    try:
        solve_knapsack(
            table,
            capacity,
            found=lambda pairs, price: totals.append(table.total_cost(pairs)),
            step=budget.tick,
            tick=budget.tick,
        )
    except Stopped:
        ended = "time"
    except MemoryError:
        ended = "memory"
    return Run(budget.elapsed_s, ended, totals[-1])


def program(table: CostTable, capacity: int, solver: str, limit_s: float) -> Run:
    """One of the solvers."""
    begin = time.perf_counter()
    small = table.subset(undominated(table))
    names = [f"j{job}" for job in range(table.jobs)]
    model = build_choice_arrays(small, names, capacity, Allocation).model
    outcome = solve_milp(model, solver=solver, limits=Limits(time_s=limit_s, threads=1))
    ended = "proof" if outcome.status is TerminationStatus.OPTIMAL else "time"
    return Run(time.perf_counter() - begin, ended, math.inf if outcome.objective is None else outcome.objective)


def require_agreement(runs: list[Run]) -> None:
    """Refuse an answer that is better than one that is proven."""
    optimum = min((run.total for run in runs if run.proven), default=-math.inf)
    for run in runs:
        wrong = run.total > optimum and run.proven and optimum > -math.inf
        if run.total < optimum - 1e-6 * abs(optimum) or (wrong and not math.isclose(run.total, optimum, rel_tol=1e-6)):
            raise RuntimeError(f"answers differ: {runs}")


def row(page: Page, kind: str, jobs: int, counts: int, largest: int) -> tuple[str, bool, bool, bool]:
    """One instance as a row; whether it is proven, and both bars hold."""
    table, capacity = hard_table(kind, jobs, counts, largest, seed=0)
    limit_s = 1.0 if page.quick else LIMIT_S
    ours = knapsack(table, capacity, limit_s)
    theirs = [program(table, capacity, solver, limit_s) for solver in SOLVERS] if ours.seconds >= BRIEF_S else []
    require_agreement([ours, *theirs])
    best_s = min((run.seconds for run in theirs if run.proven), default=math.inf)
    within = ours.seconds <= BAR * best_s and (ours.proven or best_s == math.inf)
    peak = peak_bytes(lambda: knapsack(table, capacity, limit_s))
    label = f"{kind}, {jobs} x {counts}, R = {largest}"
    page.raw[label] = {"knapsack": [ours.seconds]} | {
        each: [run.seconds] for each, run in zip(SOLVERS, theirs, strict=False)
    }
    cells = [str(run) for run in theirs] or ["-"] * len(SOLVERS)
    text = f"{kind} | {largest:.0e} | {jobs:,} | {counts:,} | {ours} | {' | '.join(cells)} | {peak / 1e6:.0f}"
    return f"{text} | {'yes' if within else 'NO'}", ours.proven, within, peak < LARGEST_BYTES


def fill(page: Page) -> None:
    """All classes and sizes."""
    warm, capacity = hard_table("sorted", 3, 3, 10, seed=0)
    for solver in SOLVERS:
        program(warm, capacity, solver, 10.0)
    sizes = [10] if page.quick else [10, 100, 1000]
    found = [
        row(page, kind, jobs, counts, largest)
        for kind in CLASSES
        for largest in (10**3, 10**6)
        for jobs in sizes
        for counts in sizes
    ]
    proven, within, small = (sum(each[index] for each in found) for index in (1, 2, 3))
    page.add(
        f"{proven} of {len(found)} proven within the limit, {within} no slower than {BAR:g} times the best solver, "
        f"{small} below 1 GB. Seconds; how it ended where there is no proof."
    )
    page.table(
        f"class | R | jobs | counts | knapsack | {' | '.join(SOLVERS.values())} | peak, MB | within the bar",
        [each[0] for each in found],
    )


if __name__ == "__main__":
    present("Hard multiple-choice knapsacks", __doc__, fill)
