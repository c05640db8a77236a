"""How fast throughputs and proven optima of async_sgd are.

- Throughputs of 10,000 jobs on 1 .. 64 nodes at a time, networks built from the jobs included, against the same recursion
  in plain Python, job after job, which must give the same bits. Three turns.
- Proven optima: ``dlsched generate async_sgd --preset mixed --seed 0``; a job may have all nodes. ``exact``: marginal gain, the
  objective by the checker, and the bound of the best price in exact arithmetic, which meets it. ``knapsack`` does not know
  that times are convex. HiGHS gets the program ``milp`` of the same pairs, in a process of its own. Both stop after 30 s.
  Three turns, of each method as many as start within its first 10 s. Proven optima of a row must agree to 1e-9.
"""

from collections.abc import Sequence
from itertools import islice

import numpy as np
from against import WORDS, add_proofs, warm
from measure import Page, present

from dlsched import async_sgd
from dlsched.async_sgd.costs import cost_table

OTHERS = (("knapsack", None), ("milp", "highs"))


def add_throughputs(page: Page, jobs: int, nodes: int) -> None:
    """Throughputs of all jobs on every count."""
    instance = async_sgd.generate(preset="mixed", jobs=jobs, nodes=jobs, seed=0)

    def plain(turn: int) -> object:
        return [list(islice(async_sgd.iterate(async_sgd.network_of(job)), nodes)) for job in instance.jobs]

    ways = {
        "together": lambda _: async_sgd.throughputs([async_sgd.network_of(job) for job in instance.jobs], nodes),
        "one by one": plain,
    }
    how = {"keep": np.asarray, "same": lambda by_count, by_job: np.array_equal(by_count, by_job.T)}
    together, alone = page.measure(f"throughputs of {jobs} jobs", ways, 3, **how).values()
    page.add(
        "## Throughputs of many jobs",
        f"X(1) .. X({nodes}) of {jobs:,} jobs (preset mixed): {together.median:.3f} s, "
        f"{1e9 * together.median / jobs / nodes:.0f} ns a figure. Job after job in plain Python: {alone.median:.2f} s, "
        f"{alone.over(together):.1f} times as long; bit for bit the same figures.",
    )


def add_optima(page: Page, sizes: Sequence[tuple[int, int]]) -> None:
    """Proven optima by three methods."""
    warm(async_sgd, [("exact", None), *OTHERS])
    page.add("## Proven optima", f"Objectives in seconds. {WORDS}")
    instances = {}
    for jobs, nodes in sizes:
        instance = async_sgd.generate(preset="mixed", jobs=jobs, nodes=nodes, seed=0)
        instances[f"{jobs:,} x {nodes:,} | {cost_table(instance).pairs:,}"] = instance
    how = {"limit_s": None, "others": OTHERS, "tolerance": 1e-9}
    add_proofs(page, async_sgd, "jobs x nodes | pairs tabulated", instances, **how)


def fill(page: Page) -> None:
    """Measure everything."""
    add_throughputs(page, 1000 if page.quick else 10_000, 64)
    if page.quick:
        add_optima(page, [(10, 100), (100, 1000)])
    else:
        add_optima(page, [(100, 1000), (1000, 10_000), (10_000, 100_000), (10, 100_000)])


if __name__ == "__main__":
    present("Nodes for jobs of asynchronous SGD", __doc__, fill)
