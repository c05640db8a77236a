"""The hard classes of multiple-choice knapsacks, as cost tables: whole numbers from a seed.

Every job has that many counts (weights) w with profits p, R the range; the cost of a count is the largest profit of its job less
its own, and of counts drawn twice the better stays. The capacity is half of what the smallest counts and the most profitable
ones need together.

==================  ==============================================================================================
class               weights and profits
==================  ==============================================================================================
``uncorrelated``    w and p uniform on 1 .. R
``weak``            w uniform on 1 .. R, p uniform on w - 10 .. w + 10, at least 1
``strong``          sums of the first k of sorted w' uniform on 1 .. 2 R / n, and of w' + 10: n counts of a job
``subset_sum``      w uniform on 1 .. R, p = w
``sorted``          w and p uniform on 1 .. R, each sorted (after Sinha and Zoltners; called zig-zag in MCKNAP)
``zigzag``          w uniform on 1 .. R and sorted, p = w + R / 10 and w - R / 10 by turns, at least 1
``circle``          w uniform on 1 .. R, p = 2/3 sqrt(4 R^2 - (w - 2 R)^2), rounded
==================  ==============================================================================================

Sources: Pisinger, A minimal algorithm for the multiple-choice knapsack problem, EJOR 83 (1995) 394-410, and the generator in its
published code, for the first five; Pisinger, Where are the hard knapsack problems?, Computers & OR 32 (2005), for the circle, of
0-1 knapsacks there; ``zigzag`` is ours.

Run as a program it writes a table as an instance of ``ring_allocation``: one epoch a job, which takes the cost and one second
more, as times are positive.

    python benchmarks/hard_knapsacks.py strong --jobs 60 --counts 20 --range 10000 --seed 1 -o strong.json
"""

import argparse
from collections.abc import Callable, Sequence

import numpy as np

import dlsched
from dlsched import ring_allocation
from dlsched.allocation.cost_table import CostTable
from dlsched.core.arrays import IntArray

Pairs = tuple[IntArray, IntArray]
Draw = Callable[[np.random.Generator, int, int], Pairs]


def hard_table(kind: str, jobs: int, counts: int, largest: int, seed: int) -> tuple[CostTable, int]:
    """Draw the cost table of a class and its capacity."""
    generator = np.random.default_rng([seed, jobs, counts, largest, list(CLASSES).index(kind)])
    rows, least, dearest = [], 0, 0
    for _ in range(jobs):
        weights, profits = CLASSES[kind](generator, counts, largest)
        order = np.lexsort((-profits, weights))
        first = np.append(True, np.diff(weights[order]) > 0)
        weights, profits = weights[order][first], profits[order][first]
        least += int(weights[0])
        dearest += int(weights[np.argmax(profits)])
        rows.append((weights, (profits.max() - profits).astype(np.float64)))
    starts = np.cumsum([0, *(len(weights) for weights, _ in rows)])
    table = CostTable(starts, np.concatenate([w for w, _ in rows]), np.concatenate([c for _, c in rows]))
    return table, (least + dearest) // 2


def _uncorrelated(generator: np.random.Generator, counts: int, largest: int) -> Pairs:
    return generator.integers(1, largest + 1, counts), generator.integers(1, largest + 1, counts)


def _weak(generator: np.random.Generator, counts: int, largest: int) -> Pairs:
    weights = generator.integers(1, largest + 1, counts)
    return weights, np.maximum(1, weights + generator.integers(-10, 11, counts))


def _strong(generator: np.random.Generator, counts: int, largest: int) -> Pairs:
    steps = np.sort(generator.integers(1, max(1, 2 * largest // counts) + 1, counts))
    return np.cumsum(steps), np.cumsum(steps + 10)


def _subset_sum(generator: np.random.Generator, counts: int, largest: int) -> Pairs:
    weights = generator.integers(1, largest + 1, counts)
    return weights, weights.copy()


def _sorted(generator: np.random.Generator, counts: int, largest: int) -> Pairs:
    weights, profits = _uncorrelated(generator, counts, largest)
    return np.sort(weights), np.sort(profits)


def _zigzag(generator: np.random.Generator, counts: int, largest: int) -> Pairs:
    weights = np.sort(generator.integers(1, largest + 1, counts))
    turns = np.where(np.arange(counts) % 2 == 0, largest // 10, -(largest // 10))
    return weights, np.maximum(1, weights + turns)


def _circle(generator: np.random.Generator, counts: int, largest: int) -> Pairs:
    weights = generator.integers(1, largest + 1, counts)
    height = np.sqrt(4.0 * largest**2 - (weights - 2.0 * largest) ** 2)
    return weights, np.rint(2 / 3 * height).astype(np.int64)


CLASSES: dict[str, Draw] = {
    "uncorrelated": _uncorrelated,
    "weak": _weak,
    "strong": _strong,
    "subset_sum": _subset_sum,
    "sorted": _sorted,
    "zigzag": _zigzag,
    "circle": _circle,
}


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=CLASSES)
    for name in ("jobs", "counts", "range", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("-o", "--output", default="-", help="file; standard output without")
    return parser.parse_args(given)


def drawn(asked: argparse.Namespace) -> ring_allocation.Instance:
    """The instance of the arguments."""
    table, gpus = hard_table(asked.kind, asked.jobs, asked.counts, asked.range, asked.seed)
    jobs = []
    for job in range(table.jobs):
        pairs = slice(table.starts[job], table.starts[job + 1])
        times = dict(zip(table.counts[pairs].tolist(), (table.costs[pairs] + 1).tolist(), strict=True))
        jobs.append(ring_allocation.Job(id=f"j{job}", epochs=1, epoch_time_s=times))
    command = f"{asked.kind} --jobs {asked.jobs} --counts {asked.counts} --range {asked.range} --seed {asked.seed}"
    name = f"{asked.kind.replace('_', '-')}-{asked.jobs}x{asked.counts}-range{asked.range}-seed{asked.seed}"
    source = f"python benchmarks/hard_knapsacks.py {command}"
    return ring_allocation.Instance(name=name, source=source, gpus=gpus, jobs=jobs)


if __name__ == "__main__":
    asked = arguments()
    dlsched.write(drawn(asked), asked.output)
