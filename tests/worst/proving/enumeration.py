"""The slow way, obviously right: every run of a method forwards, every allocation as the best, one program each, in floats."""

from collections.abc import Iterator
from itertools import combinations, pairwise, product

import numpy as np
from scipy.optimize import linprog

Row = dict[tuple[int, int], float]


def slow_supremum(method: str, jobs: int, gpus: int, tables: str, offered: str) -> float:
    """Largest ratio of all programs; infinite where one has no bound."""
    counts = [n for n in range(1, gpus - jobs + 2) if offered == "all" or n in (1, 2, 4, 8, 16)]
    index = {place: k for k, place in enumerate(product(range(jobs), counts))}
    best = [w for w in product(counts, repeat=jobs) if sum(w) <= gpus]
    if (method, tables) == ("hull", "convex"):
        method = "marginal"  # every count that saves is on the hull
    worst = 0.0
    for end, rows in runs(method, jobs, gpus, counts):
        every = [*class_rows(tables, jobs, counts), *rows]
        matrix = np.zeros((len(every), len(index)))
        for k, row in enumerate(every):
            for place, factor in row.items():
                matrix[k, index[place]] += factor
        for w in best:
            held, norm = np.zeros(len(index)), np.zeros((1, len(index)))
            held[[index[j, n] for j, n in enumerate(end)]] = 1
            norm[0, [index[j, n] for j, n in enumerate(w)]] = 1
            found = linprog(-held, A_ub=-matrix, b_ub=np.zeros(len(every)), A_eq=norm, b_eq=[1])
            if found.status in (3, 4):
                return np.inf
            assert found.status == 0, found.message
            worst = max(worst, -found.fun)
    return worst


def class_rows(tables: str, jobs: int, counts: list[int]) -> Iterator[Row]:
    """Rows >= 0 of a class."""
    for j in range(jobs):
        for n, m in pairwise(counts) if tables != "any" else ():
            yield {(j, n): 1, (j, m): -1}
        for n, m in pairwise(counts) if tables in ("sublinear", "convex") else ():
            yield {(j, m): m, (j, n): -n}
        for n, m, o in zip(counts, counts[1:], counts[2:], strict=False) if tables == "convex" else ():
            yield less((j, n, m), (j, m, o))


def runs(method: str, jobs: int, gpus: int, counts: list[int]) -> Iterator[tuple[tuple[int, ...], list[Row]]]:
    """Every run: counts at the end and the rows on which it happens, for every way of each job's steps."""
    for chains in product(list(ways(method, counts)), repeat=jobs):
        rows = [row for j, (_, own) in enumerate(chains) for row in own(j)]
        ladders = [chain for chain, _ in chains]
        yield from climbs(method, ladders, gpus, [0] * jobs, rows)


def ways(method, counts):
    """Counts that a job's steps may visit, and the rows of that job which make it so."""
    if method != "hull":
        chain = [n for n in counts if method == "marginal" or n & (n - 1) == 0]
        yield chain, lambda j: []
        return
    for size in range(len(counts)):
        for later in combinations(counts[1:], size):
            chain = [1, *later]

            def own(j, chain=chain):
                for u, v in pairwise(chain):
                    yield {(j, u): 1, (j, v): -1}
                    yield from (less((j, u, v), (j, u, x)) for x in counts if x > u and x != v)
                yield from ({(j, x): 1, (j, chain[-1]): -1} for x in counts if x > chain[-1])

            yield chain, own


def climbs(method, ladders, gpus, at, rows):
    """All orders of steps from here; a job may also have nothing more to gain, which ends the run when it is true of all."""
    held = tuple(ladder[k] for ladder, k in zip(ladders, at, strict=True))
    left = gpus - sum(held)
    open_ = [
        (j, held[j], ladder[k + 1])
        for j, (ladder, k) in enumerate(zip(ladders, at, strict=True))
        if k + 1 < len(ladder) and ladder[k + 1] - ladder[k] <= left
    ]
    if not open_ or method != "hull":
        yield held, [*rows, *({(j, v): 1, (j, u): -1} for j, u, v in open_)]
    for step in open_:
        job, low, high = step
        further = [{(job, low): 1, (job, high): -1}, *(less(step, other) for other in open_ if other != step)]
        yield from climbs(method, ladders, gpus, [k + (j == job) for j, k in enumerate(at)], [*rows, *further])


def less(first, second) -> Row:
    """Saving per unit of the first step less that of the second."""
    row: Row = {}
    for sign, (j, u, v) in ((1, first), (-1, second)):
        row[j, u] = row.get((j, u), 0) + sign / (v - u)
        row[j, v] = row.get((j, v), 0) - sign / (v - u)
    return row
