"""How fast the exact method of ring_allocation is, against HiGHS on the same pairs, and how it grows.

The preset ``mixed`` (counts 1 .. 64, 6.5536 GPUs a job). The clock starts at the in-memory cost table and stops at the
proven optimum, dominance included; HiGHS gets the undominated pairs as sparse arrays, and its clock counts building these
arrays and solving to a gap of 0. Five turns, of HiGHS as many as start within its first 10 s. The optima must agree to
1e-9. As a user calls it: ``solve`` of an instance that was just built, certificate, checks and figures included, of jobs
with all counts up to one drawn from 34 .. 256, against HiGHS on the bare pairs of its table. Memory is what the knapsack
allocates at most, beside the table. Growth: five seeds, median of three turns each. Against C: a plain loop of the same kind
(``knapsack_reference.c``: hull, quickselect, core), by ``cc -O2``, which gives the total only; with NumPy, and with Numba
(the extra ``fast``) when it was imported and has compiled before; eleven turns.
"""

import importlib
import importlib.util
import math
import statistics

import numpy as np
from knapsack_reference import c_loop
from measure import Page, peak_bytes, present
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, vstack

from dlsched import ring_allocation
from dlsched.allocation.cost_table import CostTable, undominated
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


def highs(table: CostTable, capacity: int) -> float:
    """Optimum of the multiple-choice knapsack as a program, by SciPy's HiGHS."""
    rows = np.repeat(np.arange(table.jobs), table.lengths)
    choice = csr_array((np.ones(table.pairs), (rows, np.arange(table.pairs))), shape=(table.jobs, table.pairs))
    matrix = vstack([choice, csr_array(table.counts[None, :].astype(float))])
    low, high = np.append(np.ones(table.jobs), -np.inf), np.append(np.ones(table.jobs), capacity)
    constraints = LinearConstraint(matrix, low, high)
    options = {"mip_rel_gap": 0.0}
    integrality = np.ones(table.pairs)
    answer = milp(table.costs, integrality=integrality, bounds=Bounds(0, 1), constraints=constraints, options=options)
    if answer.status != 0:
        raise RuntimeError(f"HiGHS: {answer.message}")
    return float(answer.fun)


def against_highs(page: Page, jobs: int) -> str:
    """One comparison, as a row."""
    table, capacity = mixed_table(jobs, seed=0)
    reduced = table.subset(undominated(table))
    found = page.measure(
        f"{jobs} jobs",
        {
            "knapsack": lambda _: table.total_cost(solve_knapsack(table, capacity).pairs),
            "HiGHS": lambda _: highs(reduced, capacity),
            "sort": lambda _: float(np.sort(table.costs)[0]),
        },
        5,
        enough_s=10,
        same=lambda ours, theirs: math.isclose(ours, theirs, rel_tol=1e-9),
        units=["sort"],
    )
    ours, theirs, sorting = found.values()
    peak = peak_bytes(lambda: solve_knapsack(table, capacity))
    return (
        f"{jobs:,} x {capacity:,} | {table.pairs:,} | {reduced.pairs:,} | {ours.median:.4f} | {theirs.median:.2f} | "
        f"{theirs.over(ours):.0f} | {ours.over(sorting):.1f} | {peak / 1e6:.1f}"
    )


def long_instance(jobs: int) -> ring_allocation.Instance:
    """Jobs of the preset ``mixed`` with 1 .. n counts, n drawn from 34 .. 256."""
    longest = np.random.default_rng(0).integers(34, 257, jobs).tolist()
    whole = ring_allocation.generate(preset="mixed", jobs=jobs, gpus=int(GPUS_PER_JOB * jobs), seed=0, max_gpus=256)
    drawn = [
        {"id": job.id, "epochs": job.epochs, "epoch_time_s": {n: job.epoch_time_s[n] for n in range(1, most + 1)}}
        for job, most in zip(whole.jobs, longest, strict=True)
    ]
    return ring_allocation.Instance(name="long", gpus=whole.gpus, jobs=drawn)


def as_called(page: Page, jobs: int) -> str:
    """``solve`` of instances that were just built, against HiGHS on the table, as a row."""
    instance = long_instance(jobs)
    table = cost_table(instance)
    turns = 1 if page.quick else 5
    fresh = iter([instance.model_copy() for _ in range(turns)])
    found = page.measure(
        f"solve, {jobs} jobs",
        {
            "solve": lambda _: ring_allocation.solve(next(fresh)).objective,
            "HiGHS": lambda _: highs(table, instance.gpus),
        },
        turns,
        enough_s=10,
        same=lambda ours, theirs: math.isclose(ours, theirs, rel_tol=1e-9),
    )
    ours, theirs = found.values()
    bar = 300 if table.pairs < 10**6 else 500
    return (
        f"{jobs:,} | {table.pairs:,} | {ours.median:.3f} | {theirs.median:.2f} | {theirs.over(ours):.0f} | {bar} | "
        f"{'yes' if theirs.over(ours).value >= bar else 'NO'}"
    )


def against_c(page: Page, jobs: int) -> list[str]:
    """The knapsack with NumPy and with Numba, against C, as rows; without a compiler one row that says so."""
    loop = c_loop()
    if loop is None:
        return ["no C compiler here | | | | | |"]
    table, capacity = mixed_table(jobs, seed=0)
    rows = []
    for way in ("NumPy", "Numba"):
        if way == "Numba":
            if importlib.util.find_spec("numba") is None:
                rows.append("no Numba here | | | | | |")
                break
            importlib.import_module("numba")
            solve_knapsack(table, capacity)
        found = page.measure(
            f"{way}, {jobs} jobs",
            {
                "knapsack": lambda _: table.total_cost(solve_knapsack(table, capacity).pairs),
                "C": lambda _: loop(table, capacity),
            },
            11,
            same=lambda ours, theirs: math.isclose(ours, theirs, rel_tol=1e-9),
        )
        ours, theirs = found.values()
        ratio = ours.over(theirs)
        holds = "- | -" if way == "NumPy" else f"3 | {'yes' if ratio.value <= 3 else 'NO'}"
        rows.append(
            f"{way} | {jobs:,} x {capacity:,} | {ours.median:.4f} | {theirs.median:.4f} | {ratio:.1f} | {holds}"
        )
    return rows


def growth(page: Page, sizes: list[int], seeds: int) -> list[str]:
    """Median over seeds of seconds / (n log n), n pairs, as rows."""
    rows, first = [], 0.0
    for jobs in sizes:
        taken = []
        for seed in range(seeds):
            table, capacity = mixed_table(jobs, seed)
            solve = {"knapsack": lambda _, table=table, capacity=capacity: solve_knapsack(table, capacity)}
            taken.append(page.measure(f"{jobs} jobs, seed {seed}", solve, 3)["knapsack"].median)
        seconds, pairs = statistics.median(taken), table.pairs
        scaled = seconds / (pairs * math.log(pairs))
        first = first or scaled
        rows.append(f"{jobs:,} | {pairs:,} | {seconds:.4f} | {1e9 * scaled:.3f} | {scaled / first:.2f}")
    return rows


def certificate(page: Page, jobs: int) -> str:
    """Seconds to verify a price certificate in exact arithmetic, beside those of the method and its checks."""
    instance = ring_allocation.generate(preset="mixed", jobs=jobs, gpus=int(GPUS_PER_JOB * jobs), seed=0)
    proof = ring_allocation.solve(instance).certificate
    ways = {"verify": lambda _: price_bound(instance, proof.price), "solve": lambda _: ring_allocation.solve(instance)}
    found = page.measure("certificate", ways, 3)
    holds = "yes" if found["verify"].answers[-1] >= proof.value else "NO"
    return f"{jobs:,} | {64 * jobs:,} | {found['verify'].median:.2f} | {holds} | {found['solve'].median:.3f}"


def fill(page: Page) -> None:
    """Measure everything."""
    called = [as_called(page, jobs) for jobs in ([300] if page.quick else [1030, 10_000])]  # before Numba is imported
    page.add("Times in seconds.", "## Against HiGHS")
    columns = (
        "jobs x GPUs | pairs | undominated | knapsack | HiGHS | HiGHS / knapsack | knapsack / numpy.sort | peak, MB"
    )
    page.table(columns, [against_highs(page, jobs) for jobs in ([300] if page.quick else [1000, 10_000])])
    page.add("## Against a C loop")
    columns = "passes with | jobs x GPUs | knapsack | C | knapsack / C | at most | holds"
    page.table(columns, against_c(page, 300 if page.quick else 10_000))
    page.add("## As a user calls it")
    columns = "jobs | pairs | solve, s | HiGHS, s | HiGHS / solve | at least | holds"
    page.table(columns, called)
    page.add("## Growth at 6.5536 GPUs a job")
    sizes = [200, 400] if page.quick else [1000, 10_000, 100_000]
    seeds = 2 if page.quick else 5
    page.table(
        f"jobs | pairs n | median of {seeds} seeds | ns / (n log n) | ratio to the first", growth(page, sizes, seeds)
    )
    page.add("## Certificate, in exact arithmetic")
    columns = "jobs | pairs | verify the certificate | holds | solve, checks included"
    page.table(columns, [certificate(page, 300 if page.quick else 10_000)])


if __name__ == "__main__":
    present("The exact method of ring_allocation", __doc__, fill)
