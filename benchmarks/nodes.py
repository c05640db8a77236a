"""How fast throughputs and proven optima of async_sgd are.

- Throughputs of 10,000 jobs on 1 .. 64 nodes at a time, from networks as arrays, and from an instance that has not made these
  yet, against the bare recursion in NumPy on arrays that are there, and the same in plain Python, job after job. All must give
  the same bits. Nine turns, of plain Python three, seconds of the processor.
- The certificate of ``exact``: its value at the best price, in floats with a proven error, and in exact arithmetic as ``check``
  verifies it. Seconds of the processor, three turns; the value must not be above what exact arithmetic proves.
- Proven optima: ``dlsched generate async_sgd --preset mixed --seed 0``; a job may have all nodes. ``exact``: marginal gain, the
  objective by the checker, and the bound of the best price, which meets it. ``knapsack`` does not know
  that times are convex. HiGHS gets the program ``milp`` of the same pairs, in a process of its own. Both stop after 30 s.
  Three turns, of each method as many as start within its first 10 s. Proven optima of a row must agree to 1e-9.
"""

import time
from collections.abc import Sequence
from itertools import islice

import numpy as np
from against import WORDS, add_proofs, warm
from measure import Page, present

from dlsched import async_sgd
from dlsched.async_sgd import certificate
from dlsched.async_sgd.costs import cost_table
from dlsched.core.arrays import FloatArray
from dlsched.queueing.network import Networks

BAR = 1.5  # times the bare recursion
PART = 0.25  # of exact
OTHERS = (("knapsack", None), ("milp", "highs"))


def bare(networks: Networks, nodes: int) -> FloatArray:
    """The recursion as one writes it down."""
    values, queues = np.empty((nodes, len(networks))), np.zeros_like(networks.demands)
    for count in range(1, nodes + 1):
        residence = networks.demands * (1 + queues)
        values[count - 1] = count / (networks.delays + (networks.copies * residence).sum(axis=0))
        queues = residence * values[count - 1]
    return values


def add_throughputs(page: Page, jobs: int, nodes: int) -> None:
    """Throughputs of all jobs on every count."""
    made = [async_sgd.generate(preset="mixed", jobs=jobs, nodes=jobs, seed=0) for _ in range(10)]
    networks = made.pop().networks

    def plain(turn: int) -> FloatArray:
        return np.array([list(islice(async_sgd.iterate(networks[index]), nodes)) for index in range(jobs)]).T

    ways = {
        "recursion": lambda _: bare(networks, nodes),
        "arrays": lambda _: async_sgd.throughputs(networks, nodes),
        "instance": lambda turn: async_sgd.throughputs(made[turn].networks, nodes),
    }
    case, how = f"throughputs of {jobs} jobs", {"same": np.allclose, "clock": time.process_time}
    recursion, ours, fresh = page.measure(case, ways, 9, **how).values()
    how["same"] = np.array_equal
    few = {name: ways[name] for name in ("arrays", "instance")} | {"one by one": plain}
    beside, _, alone = page.measure(f"{case}, one by one", few, 3, **how).values()
    ratio = ours.over(recursion)
    page.add(
        "## Throughputs of many jobs",
        f"X(1) .. X({nodes}) of {jobs:,} jobs (preset mixed), networks as arrays: {1e3 * ours.median:.1f} ms, "
        f"{1e9 * ours.median / jobs / nodes:.1f} ns a figure, {ratio:.2f} times the bare recursion in NumPy, at most 1.5 wanted: "
        f"{'yes' if ratio.value <= BAR else 'NO'}. With the arrays made of the jobs: {fresh.over(recursion):.2f} times. "
        f"Job after job in plain Python: {alone.over(beside):.0f} times as long as ours.",
    )


def add_certificates(page: Page, sizes: Sequence[tuple[int, int]]) -> None:
    """How much of ``exact`` the certificate takes."""
    rows, largest = [], 0.0
    for jobs, nodes in sizes:
        instance = async_sgd.generate(preset="mixed", jobs=jobs, nodes=nodes, seed=0)
        table = cost_table(instance)
        price = async_sgd.solve(instance, method="exact").certificate.price
        ways = {
            "exact": lambda _, instance=instance: async_sgd.solve(instance, method="exact").bound,
            "certificate": lambda _, instance=instance, price=price, table=table: (
                async_sgd.lagrange(instance, price=price, table=table).value
            ),
            "verified": lambda _, instance=instance, price=price: float(certificate.price_bound(instance, price)),
        }
        timings = page.measure(f"certificate, {jobs} x {nodes}", ways, 3, clock=time.process_time)
        whole, floats, exactly = timings.values()
        value, proven = floats.answers[0], exactly.answers[0]
        if value > proven:
            raise RuntimeError(f"the value {value} is above {proven}")
        share = floats.over(whole)
        largest = max(largest, share.value)
        below = f"{(proven - value) / abs(proven):.0e}"
        rows.append(
            f"{jobs:,} x {nodes:,} | {table.pairs:,} | {whole.median:.3f} | {share:.3f} | {exactly.over(whole):.2f} | {below}"
        )
    page.add(
        "## The certificate's part",
        "Seconds of `exact`, and as parts of them the value of the certificate as `exact` computes it, and its verification in "
        "exact arithmetic, which is no part of it; and by what part the value is below what is "
        "proven. Up to 1,000 pairs the value is that of exact arithmetic.",
    )
    page.table("jobs x nodes | pairs tabulated | exact, s | value | verification | below", rows)
    page.add(f"Largest part {largest:.3f}, at most a quarter wanted: {'yes' if largest <= PART else 'NO'}.")


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
        add_certificates(page, [(100, 1000)])
        add_optima(page, [(10, 100), (100, 1000)])
    else:
        add_certificates(page, [(100, 1000), (1000, 10_000), (10_000, 100_000), (10, 100_000)])
        add_optima(page, [(100, 1000), (1000, 10_000), (10_000, 100_000), (10, 100_000)])


if __name__ == "__main__":
    present("Nodes for jobs of asynchronous SGD", __doc__, fill)
