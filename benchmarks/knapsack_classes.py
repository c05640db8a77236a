"""How the knapsack does on the hard classes of the literature, beside HiGHS, CBC and CP-SAT on the same pairs.

The classes are those of ``hard_knapsacks.py``: 10 to 1,000 jobs of 10 to 1,000 counts up to R. The knapsack gets the bare
table; the solvers the undominated pairs as arrays, built on the clock, by ``solvers.solve_milp`` to a gap of 0 on one thread.
Seconds on the wall, each once. The knapsack has 8 s, a solver 4: one that takes longer is not twice as fast as what ended in 8.
Tables of over 100,000 pairs are not given to solvers, which take longer to be given them than the knapsack to solve them.
Answers proven agree to 1e-6, and none is better than what is proven. Memory is what the knapsack allocates at most, beside the
table, in a run of its own. The bars: never over twice the best of the three, and below 1 GB.
"""

import math
import statistics
import sys
import time
from dataclasses import dataclass

from hard_knapsacks import CLASSES, hard_table
from measure import Page, peak_bytes, present

from dlsched.allocation.choice_program import build_choice_arrays
from dlsched.allocation.cost_table import CostTable, undominated
from dlsched.allocation.knapsack import solve_knapsack
from dlsched.catalogue import solvers
from dlsched.core.limits import Budget, Limits, Stopped
from dlsched.core.status import TerminationStatus
from dlsched.ring_allocation.solution import Allocation
from dlsched.solvers.milp import solve_milp

SOLVERS = {name: solvers.SOLVERS[name].full_name for name in ("highs", "cbc", "cpsat")}
LIMIT_S, SOLVER_S, BAR, LARGEST_BYTES, SOLVER_PAIRS = 8.0, 4.0, 2.0, 1e9, 100_000
SIZES = [
    (10, 10),
    (10, 30),
    (30, 10),
    (30, 30),
    *((a, b) for a in (10, 100, 1000) for b in (10, 100, 1000) if a * b > 100),
]
QUICK = [(10, 10), (30, 10)]


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


@dataclass(frozen=True)
class Row:
    """One instance: its cells, and what the summary counts."""

    cells: str
    ours: Run
    best_s: float  # of the solvers that prove it, infinite if none does or none was asked
    asked: bool
    peak: int

    @property
    def within(self) -> bool:
        """Whether the knapsack takes at most twice as long as the best solver."""
        return self.best_s == math.inf or (self.ours.proven and self.ours.seconds <= BAR * self.best_s)


def row(page: Page, kind: str, jobs: int, counts: int, largest: int) -> Row:
    """Put one instance to all."""
    table, capacity = hard_table(kind, jobs, counts, largest, seed=0)
    share = 0.25 if page.quick else 1.0
    ours = knapsack(table, capacity, share * LIMIT_S)
    asked = table.pairs <= SOLVER_PAIRS
    theirs = [program(table, capacity, solver, share * SOLVER_S) for solver in SOLVERS] if asked else []
    require_agreement([ours, *theirs])
    best_s = min((run.seconds for run in theirs if run.proven), default=math.inf)
    peak = peak_bytes(lambda: knapsack(table, capacity, LIMIT_S))
    label = f"{kind}, {jobs} x {counts}, R = {largest}"
    page.raw[label] = {name: [run.seconds] for name, run in zip(("knapsack", *SOLVERS), (ours, *theirs), strict=False)}
    print(label, ours, *theirs, file=sys.stderr)
    times = " | ".join([str(run) for run in theirs] or ["-"] * len(SOLVERS))
    ratio = "" if best_s == math.inf else f"{best_s / ours.seconds:.1f}"
    cells = f"{largest:,} | {jobs:,} | {counts:,} | {ours} | {times} | {ratio} | {peak / 1e6:.1f}"
    return Row(cells, ours, best_s, asked, peak)


def summary(every: list[Row]) -> tuple[str, str]:
    """Say how many are proven and hold the bars, and how to read the tables."""
    proven = [each for each in every if each.ours.proven]
    compared = [each for each in proven if each.best_s < math.inf]
    ratios = sorted(each.best_s / each.ours.seconds for each in compared)
    slowest, peak = max(each.ours.seconds for each in proven), max(each.peak for each in every)
    asked, within = sum(each.asked for each in every), sum(each.within for each in every)
    return (
        f"{len(proven)} of {len(every)} are proven within the limit, the slowest in {slowest:.2g} s. Of the {asked} that the "
        f"solvers got, one of them proves {len(compared)}, in {ratios[0]:.2g} to {ratios[-1]:,.0f} times the knapsack's seconds, "
        f"{statistics.median(ratios):.0f} in the median. {within} of {len(every)} hold the bar of {BAR:g} times the best solver, "
        f"{sum(each.peak < LARGEST_BYTES for each in every)} that of memory: {peak / 1e6:.0f} MB at most.",
        "Seconds, or how it ended without a proof and when. *Ratio*: the best solver's seconds over the knapsack's.",
    )


def fill(page: Page) -> None:
    """All classes and sizes."""
    warm, capacity = hard_table("sorted", 3, 3, 10, seed=0)
    for solver in SOLVERS:
        program(warm, capacity, solver, 10.0)
    knapsack(warm, capacity, 10.0)
    found = {
        kind: [
            row(page, kind, *size, largest) for largest in (10**3, 10**6) for size in (QUICK if page.quick else SIZES)
        ]
        for kind in CLASSES
    }
    every = [each for rows in found.values() for each in rows]
    page.add(*summary(every))
    for kind, rows in found.items():
        page.add(f"## {kind}")
        page.table(
            f"R | jobs | counts | knapsack | {' | '.join(SOLVERS.values())} | ratio | peak, MB",
            [each.cells for each in rows],
        )


if __name__ == "__main__":
    present("Hard multiple-choice knapsacks", __doc__, fill)
