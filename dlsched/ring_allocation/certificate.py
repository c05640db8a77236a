"""Minima over counts that certificates of ring_allocation use (see ``allocation.certificate``).

The columns of ``milp`` are the counts that fit beside the others' smallest; of a law none above its fastest, except the
current one. Floating point only preselects the counts that can be minimal and the columns that can have a negative reduced
cost (the others add nothing): each float cost is off by at most ``_ERROR`` times itself, since all its terms are positive, so
a count more than twice that above the least is not minimal.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from dlsched.allocation.certificate import TINY, Proof, maybe_below, near_minima
from dlsched.allocation.relevant_pairs import RelevantPairs
from dlsched.certificates.exact import exact_product, exact_sum, moderate, sum_below
from dlsched.cluster.speeds import SpeedLaw, SpeedTable, smallest_minimiser
from dlsched.core.arrays import IntArray
from dlsched.core.limits import Tick
from dlsched.ring_allocation.arrays import JobArrays
from dlsched.ring_allocation.costs import table_of
from dlsched.ring_allocation.instance import Instance, Job

_ERROR = 16 * np.finfo(np.float64).eps  # at most nine roundings
_MOST = 2**20  # columns of laws with a negative reduced cost; duals of an optimum have a few


def exact_cost(job: Job, gpus: int) -> Fraction:
    """cost_j(w) as a rational number."""
    changed = job.current_gpus is not None and gpus != job.current_gpus
    restart = Fraction(job.restart_s) if changed else Fraction(0)
    return Fraction(job.weight) * (Fraction(job.epochs) * job.speed.exact_epoch_time_s(gpus) + restart)


def _minima(instance: Instance, price: Fraction, tick: Tick) -> Iterator[Fraction]:
    """Least cost + price x count of every job; about 1 s for 10,000 jobs with 64 counts each."""
    for index in range(len(instance.jobs)):
        tick()
        yield _minimum(instance.jobs[index], instance.gpus, price)


def _minimum(job: Job, gpus: int, price: Fraction) -> Fraction:
    """Least cost + price x count of one job in a cluster of that many GPUs."""
    table, candidates = job.epoch_time_s, list[int]()
    if table is not None:
        candidates = [table.counts[k] for k in near_minima(_table_values(job, table, float(price)), _ERROR)]
    elif job.speed_law is not None:
        candidates = _law_candidates(job, job.speed_law, job.counts(gpus)[-1], price)
    return min(exact_cost(job, count) + price * count for count in candidates)


def _parts(instance: Instance, price: Fraction, choices: Sequence[Fraction], tick: Tick) -> Iterator[Fraction]:
    """Parts of the bound of duals; ValueError: over ``_MOST`` columns of laws have a negative reduced cost."""
    spare, seen = max(0, instance.gpus - instance.minimum_gpus), 0
    for index, (job, choice) in enumerate(zip(instance.jobs, choices, strict=True)):
        tick()
        yield choice
        allowed = instance.counts(index)
        most = min(allowed[-1], allowed[0] + spare)
        table: SpeedTable | None = job.epoch_time_s
        counts: Sequence[int] = ()
        if table is not None:
            values = _table_values(job, table, float(price))
            below = [table.counts[k] for k in maybe_below(values, float(choice), _ERROR)]
            counts = [count for count in below if count <= most]
        elif job.speed_law is not None:
            counts = _law_columns(job, job.speed_law, most, price, choice)
            seen += len(counts)
            if seen > _MOST:
                raise ValueError(f"over {_MOST} columns have a negative reduced cost: too many to add up")
        for gpus in counts:
            yield min(Fraction(0), exact_cost(job, gpus) + price * gpus - choice)


def _below(instance: Instance, price: float, tick: Tick) -> float:
    """The exact value of a price, rounded down."""
    terms, rest, counts = least_terms(instance, price, tick)
    return sum_below(terms, exact_sum(rest) + Fraction(price) * (counts - instance.gpus))


def least_terms(instance: Instance, price: float, tick: Tick) -> tuple[list[float], list[Fraction], int]:
    """Terms of the least cost + price x count of all jobs: floats, fractions, and a count of GPUs yet to be paid.

    Products are float expansions if floats decide the least count, else fractions, as those of jobs with a law: 50 us a job.
    """
    arrays = instance.arrays
    near, table = _near(arrays, price, tick)
    jobs = arrays.tables[table]
    # decided: one count is surely the least, and its products do not underflow or overflow
    factors = np.stack((arrays.epochs[jobs], arrays.times_s[near], arrays.restarts_s[jobs], arrays.weights[jobs]))
    factors[2, arrays.counts[near] == arrays.current[jobs]] = 0.0
    decided = (np.bincount(table)[table] == 1) & moderate(factors).all(axis=0)
    counts = arrays.counts[near]
    epochs, times_s, restarts_s, weights = factors[:, decided]
    terms = [part for each in (*exact_product(epochs, times_s), restarts_s) for part in exact_product(weights, each)]
    # the other jobs as fractions
    exact: dict[int, Fraction] = {}
    for position in np.flatnonzero(~decided).tolist():
        tick()
        epoch, time_s, restart_s, weight = map(Fraction, factors[:, position].tolist())
        value = weight * (epoch * time_s + restart_s) + Fraction(price) * int(counts[position])
        exact[jobs[position]] = min(value, exact.get(jobs[position], value))
    for index in arrays.laws.tolist():
        tick()
        exact[index] = _minimum(instance.jobs[index], instance.gpus, Fraction(price))
    flat = np.concatenate(terms)
    return flat[flat != 0.0].tolist(), list(exact.values()), sum(counts[decided].tolist())


def _near(arrays: JobArrays, price: float, tick: Tick) -> tuple[IntArray, IntArray]:
    """Pairs of tables that may be the least of their table, and positions of these tables."""
    tick()
    if not len(arrays.tables):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    table = table_of(arrays)
    relevant = RelevantPairs(table)
    with np.errstate(over="ignore"):  # then all are near, and the Fractions say
        cheapest = relevant.cheapest(price)
        limits = (table.costs[cheapest] + price * table.counts[cheapest]) * (1 + 4 * _ERROR) + TINY
        tick()
        return relevant.up_to(price, cheapest, limits)


PROOF = Proof(_minima, _parts, below=_below)
verify, price_bound = PROOF.verify, PROOF.price_bound


def _law_columns(job: Job, law: SpeedLaw, most: int, price: Fraction, choice: Fraction) -> Sequence[int]:
    """Counts whose cost + price x count is below ``choice``: an interval around the least, and maybe the current count."""
    fastest = law.largest_useful_count(most)
    least = min(_law_candidates(job, law, fastest, price)[0], fastest)
    charged = job.current_gpus is not None
    restart = Fraction(job.weight) * Fraction(job.restart_s) if charged else Fraction(0)
    scale = Fraction(job.weight) * Fraction(job.epochs)

    def below(gpus: int) -> bool:
        return scale * law.exact_epoch_time_s(gpus) + restart + price * gpus < choice

    # the law's cost is convex: counts below the choice are an interval around the least
    counts = range(0)
    if below(least):
        first = 1 + bisect_left(range(1, least + 1), True, key=below)
        last = least + bisect_left(range(least + 1, fastest + 1), True, key=lambda gpus: not below(gpus))
        counts = range(first, last + 1)
    current = job.current_gpus
    if current is None or current > most or current in counts or len(counts) > _MOST:
        return counts
    return [*counts, current]


def _table_values(job: Job, table: SpeedTable, price: float) -> list[float]:
    """Cost + price x count of every count of a table, in floats."""
    restart = job.restart_s if job.current_gpus is not None else 0.0
    return [
        job.weight * (job.epochs * time + (0.0 if count == job.current_gpus else restart)) + price * count
        for count, time in zip(table.counts, table.times_s, strict=True)
    ]


def _law_candidates(job: Job, law: SpeedLaw, most: int, price: Fraction) -> list[int]:
    """Count that minimises weight epochs tau(w) + price w, in closed form, and the current one, which needs no restart."""
    theta0, theta1, theta2, _ = map(Fraction, law.theta)
    scale = Fraction(job.weight) * Fraction(job.epochs)
    hyperbolic = scale * (theta0 * Fraction(law.samples) - theta2 * Fraction(law.model_bytes))
    best = smallest_minimiser(hyperbolic, scale * theta1 + price, most)
    current = [job.current_gpus] if job.current_gpus is not None and job.current_gpus <= most else []
    return [best, *current]
