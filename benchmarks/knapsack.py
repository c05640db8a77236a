"""How fast is the exact method? Our multiple-choice knapsack against HiGHS on the same pairs, in one run; and its growth.

Protocol: one thread, the preset ``mixed`` (counts 1 .. 64, 6.5536 GPUs a job). The clock starts at the in-memory cost
table and stops at the proven optimum, dominance included; HiGHS gets the undominated pairs as sparse arrays, and its
clock counts building these arrays and solving to a gap of 0. Ours is the median of five repetitions, HiGHS runs once.

    python benchmarks/knapsack.py            # writes benchmarks/results/knapsack.md
    python benchmarks/knapsack.py --quick    # 1,000 jobs, no file
"""

import argparse
import math
import resource
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from table import machine, markdown

from dlsched import ring_allocation
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.dominance import undominated
from dlsched.allocation.knapsack import solve_knapsack
from dlsched.ring_allocation.certificate import price_bound
from dlsched.ring_allocation.costs import cost_table

GPUS_PER_JOB = 6.5536
BLOCK = 10_000  # jobs that one generated instance holds


def mixed_table(jobs: int, seed: int) -> tuple[CostTable, int]:
    """Cost table of that many jobs of the preset ``mixed``, in blocks of their own seeds, and the capacity."""
    tables = []
    for block in range(0, jobs, BLOCK):
        size = min(BLOCK, jobs - block)
        instance = ring_allocation.generate(
            preset="mixed", jobs=size, gpus=64 * size, seed=1000 * seed + block // BLOCK
        )
        tables.append(cost_table(instance, fitting=False))
    starts = np.concatenate(([0], np.cumsum(np.concatenate([table.lengths for table in tables]))))
    counts = np.concatenate([table.counts for table in tables])
    costs = np.concatenate([table.costs for table in tables])
    return CostTable(starts, counts, costs), int(GPUS_PER_JOB * jobs)


def timed(call: Callable[[], object], repetitions: int = 5) -> tuple[float, object]:
    """Median seconds and the last answer."""
    taken = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        answer = call()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken), answer


def highs(table: CostTable, capacity: int) -> tuple[float, float]:
    """Seconds to build and solve the multiple-choice knapsack MILP with SciPy's HiGHS, and its optimum."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, vstack

    begin = time.perf_counter()
    rows = np.repeat(np.arange(table.jobs), table.lengths)
    choice = csr_array((np.ones(table.pairs), (rows, np.arange(table.pairs))), shape=(table.jobs, table.pairs))
    matrix = vstack([choice, csr_array(table.counts[None, :].astype(float))])
    low = np.append(np.ones(table.jobs), -np.inf)
    high = np.append(np.ones(table.jobs), capacity)
    answer = milp(
        table.costs,
        integrality=np.ones(table.pairs),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix, low, high),
        options={"mip_rel_gap": 0.0},
    )
    taken = time.perf_counter() - begin
    if answer.status != 0:
        raise RuntimeError(f"HiGHS: {answer.message}")
    return taken, float(answer.fun)


def against_highs(jobs: int) -> list[str]:
    """One comparison, as a row."""
    table, capacity = mixed_table(jobs, seed=0)
    ours, choice = timed(lambda: solve_knapsack(table, capacity))
    optimum = table.total_cost(choice.pairs)  # type: ignore[union-attr]
    sorting, _ = timed(lambda: np.sort(table.costs))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    reduced = table.subset(undominated(table))
    theirs, their_optimum = highs(reduced, capacity)
    if not math.isclose(optimum, their_optimum, rel_tol=1e-9):
        raise RuntimeError(f"optima differ: {optimum} and {their_optimum}")
    return [
        f"{jobs:,} x {capacity:,}",
        f"{table.pairs:,}",
        f"{reduced.pairs:,}",
        f"{ours:.4f}",
        f"{theirs:.2f}",
        f"{theirs / ours:.0f}",
        f"{ours / sorting:.1f}",
        f"{memory:.2f}",
    ]


def growth(sizes: list[int], seeds: int = 5) -> list[list[str]]:
    """Median over seeds of seconds / (n log n), n pairs, as rows."""
    rows, first = [], 0.0
    for jobs in sizes:
        taken = []
        for seed in range(seeds):
            table, capacity = mixed_table(jobs, seed)
            seconds, _ = timed(lambda table=table, capacity=capacity: solve_knapsack(table, capacity), 3)
            taken.append(seconds)
            pairs = table.pairs
        scaled = statistics.median(taken) / (pairs * math.log(pairs))
        first = first or scaled
        rows.append(
            [
                f"{jobs:,}",
                f"{pairs:,}",
                f"{statistics.median(taken):.4f}",
                f"{1e9 * scaled:.3f}",
                f"{scaled / first:.2f}",
            ]
        )
    return rows


def certificate(jobs: int) -> list[str]:
    """Seconds to verify the price certificate of the largest instance in exact arithmetic."""
    instance = ring_allocation.generate(preset="mixed", jobs=jobs, gpus=int(GPUS_PER_JOB * jobs), seed=0)
    result = ring_allocation.solve(instance)
    begin = time.perf_counter()
    exact = price_bound(instance, result.certificate.price)  # type: ignore[union-attr]
    taken = time.perf_counter() - begin
    holds = exact >= result.certificate.value  # type: ignore[union-attr]
    return [f"{jobs:,}", f"{64 * jobs:,}", f"{taken:.2f}", "yes" if holds else "NO", f"{result.runtime_s:.3f}"]


def main() -> None:
    """Measure and print; write the page unless ``--quick``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    text = [
        f"# The exact method of ring_allocation\n\n`python benchmarks/knapsack.py`, {machine()}. Times in seconds.\n"
    ]
    columns = [
        "jobs x GPUs",
        "pairs",
        "undominated",
        "knapsack",
        "HiGHS",
        "HiGHS / knapsack",
        "knapsack / numpy.sort",
        "peak GiB",
    ]
    text.append(
        "## Against HiGHS\n\n"
        + markdown(columns, [against_highs(jobs) for jobs in ([1000] if quick else [1000, 10_000])])
    )
    columns = ["jobs", "pairs n", "median of 5 seeds", "ns / (n log n)", "ratio to the first"]
    sizes = [1000] if quick else [1000, 10_000, 100_000]
    text.append("## Growth at 6.5536 GPUs a job\n\n" + markdown(columns, growth(sizes)))
    columns = ["jobs", "pairs", "verify the certificate", "holds", "solve, checks included"]
    text.append("## Certificate, in exact arithmetic\n\n" + markdown(columns, [certificate(1000 if quick else 10_000)]))
    page = "\n".join(text)
    print(page)
    if not quick:
        Path(__file__).parent.joinpath("results", "knapsack.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
