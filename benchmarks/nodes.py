"""Throughputs of many jobs, the proven optimum of their nodes, and how far heuristics are from it.

Speed, each in one run and one thread, the best of three: the throughputs of 10,000 jobs on 1 .. 64 nodes at a time, against
one job after the other in plain Python; marginal gain with its proof, against HiGHS on the same instance as a program, and
against our knapsack algorithm. Quality: objectives of all heuristics over the proven optimum, by preset and by nodes a job,
mean and worst of ten seeds.

    python benchmarks/nodes.py            # some minutes; writes benchmarks/results/nodes.md
    python benchmarks/nodes.py --quick    # smaller, no file
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from table import machine, markdown

from dlsched import async_sgd
from dlsched.async_sgd.costs import cost_table
from dlsched.core.status import TerminationStatus

HEURISTICS = ("knee", "proportional", "equal", "fixed")
SEEDS = range(10)


def best_of(function: Callable[[], object], times: int = 3) -> float:
    """Least seconds of some calls."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        function()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def recursion_text(jobs: int, nodes: int) -> str:
    """Throughputs of all jobs on every count."""
    instance = async_sgd.generate(preset="mixed", jobs=jobs, nodes=jobs, seed=0)

    def together() -> object:
        return async_sgd.throughputs([async_sgd.network_of(job) for job in instance.jobs], nodes)

    def one_by_one() -> object:
        return [list(islice(async_sgd.iterate(async_sgd.network_of(job)), nodes)) for job in instance.jobs]

    ours, plain = best_of(together), best_of(one_by_one)
    return (
        f"X(1) .. X({nodes}) of {jobs:,} jobs (preset mixed), networks built from the jobs included: {ours:.3f} s, "
        f"{1e9 * ours / jobs / nodes:.0f} ns a figure. The same recursion job after job in plain Python: {plain:.2f} s, "
        f"{plain / ours:.0f} times as long; bit for bit the same figures.\n"
    )


def optimum_rows(sizes: list[tuple[int, int]], largest: int) -> list[list[str]]:
    """Proven optima by three ways."""
    rows = []
    async_sgd.solve(async_sgd.example(), method="milp")  # starts the process that solvers run in
    for jobs, nodes in sizes:
        instance = async_sgd.generate(preset="mixed", jobs=jobs, nodes=nodes, seed=0)
        pairs = cost_table(instance).pairs
        found = {"exact": min((async_sgd.solve(instance) for _ in range(3)), key=lambda result: result.runtime_s)}
        found["knapsack"] = async_sgd.solve(instance, method="knapsack")
        if pairs <= largest:
            found["milp"] = async_sgd.solve(instance, method="milp")
        exact = found["exact"]
        for name, result in found.items():
            if result.status is not TerminationStatus.OPTIMAL:
                raise RuntimeError(f"{instance.name}: {name} ended with {result.status}")
            if not math.isclose(result.objective, exact.objective, rel_tol=1e-9):
                raise RuntimeError(f"{instance.name}: optima differ, {result.objective} and {exact.objective}")
        rows.append(
            [
                f"{jobs:,} x {nodes:,}",
                f"{pairs:,}",
                f"{exact.objective / 3600:,.1f}",
                f"{exact.runtime_s:.3f}",
                *(
                    f"{found[name].runtime_s:.2f} ({found[name].runtime_s / exact.runtime_s:.1f})"
                    if name in found
                    else ""
                    for name in ("knapsack", "milp")
                ),
            ]
        )
    return rows


def quality_rows(jobs: int, each: tuple[int, ...], seeds: range) -> list[list[str]]:
    """Ratios of heuristics to the optimum."""
    rows = []
    for preset in async_sgd.FAMILY.presets:
        for nodes in each:
            ratios: dict[str, list[float]] = {name: [] for name in HEURISTICS}
            for seed in seeds:
                instance = async_sgd.generate(preset=preset, jobs=jobs, nodes=nodes * jobs, seed=seed)
                optimum = async_sgd.solve(instance).objective
                for name in HEURISTICS:
                    found = getattr(async_sgd, name)(instance)
                    if found is not None:
                        ratios[name].append(async_sgd.objective(instance, found) / optimum)
            rows.append([preset, str(nodes), *(_ratio(ratios[name]) for name in HEURISTICS)])
    return rows


def _ratio(values: list[float]) -> str:
    return f"{statistics.fmean(values):.2f}, {max(values):.2f}" if values else "does not fit"


def page(quick: bool) -> str:
    """Measure everything."""
    jobs, each = (10, (4,)) if quick else (50, (2, 8, 32))
    sizes = [(10, 100), (100, 1000)] if quick else [(100, 1000), (1000, 10_000), (10_000, 100_000), (10, 100_000)]
    largest = 5000 if quick else 50_000  # pairs of a program for HiGHS
    speed = recursion_text(1000 if quick else 10_000, 64)
    columns = ["jobs x nodes", "pairs tabulated", "optimum, h", "exact, s", "knapsack, s (ratio)", "HiGHS, s (ratio)"]
    optimum = markdown(columns, optimum_rows(sizes, largest))
    quality = markdown(["preset", "nodes a job", *HEURISTICS], quality_rows(jobs, each, range(2) if quick else SEEDS))
    return "\n".join(
        [
            f"# Nodes for jobs of asynchronous SGD\n\n`python benchmarks/nodes.py`, {machine()}. One thread.\n",
            "## Throughputs of many jobs\n\n" + speed,
            "## Proven optima\n\n"
            "`dlsched generate async_sgd --preset mixed --seed 0`; a job may have all nodes. `exact`: marginal gain, the "
            "objective by the checker, and the bound of the best price in exact arithmetic, which meets it (best of three). "
            "`knapsack` does not know that times are convex. HiGHS gets the program `milp` of the same pairs, in a process of "
            "its own; ratios are to `exact`. All optima of a row agree to 1e-9.\n\n" + optimum,
            "## Heuristics over the optimum\n\n"
            f"{jobs} jobs, {2 if quick else len(SEEDS)} seeds: mean and largest ratio of the sum of seconds. `marginal` is "
            "optimal and left out. `fixed` gives 8 nodes a job.\n\n" + quality,
        ]
    )


def main() -> None:
    """Measure and print; write the page unless ``--quick``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    text = page(quick)
    print(text, end="")
    if not quick:
        Path(__file__).parent.joinpath("results", "nodes.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
