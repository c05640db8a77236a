"""Schedule in hindsight: places orders from GPU prices over time and known schedules, anneals the best.

At good prices a job is nearly indifferent between many starts, and the prices tried last disagree on the
best one. The mean of these starts, or of the middles of the runs, gives an order (alpha points, Hall,
Schulz, Shmoys and Wein 1997, do the same with one linear program). ``serial`` places each order; annealing
begins with the best one.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from dlsched.algorithms.serial_schedule import anneal_orders
from dlsched.columns.rigid_prices import best_prices, cheapest_starts
from dlsched.core.arrays import FloatArray
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping.bounds import ROUNDS, rigid_jobs
from dlsched.srpt_mapping.checker import objective
from dlsched.srpt_mapping.dispatching.dispatch import schedule_of
from dlsched.srpt_mapping.dispatching.serial import Serial
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.solution import Schedule, on_clock_of

LARGEST = 5_000
"""Largest number of jobs; with more, placing one order takes minutes."""
PLACED = 40_000
"""Default number of jobs placed on up to 16 servers: divided by the jobs it is the number of orders
annealed."""
TEMPERATURE = 0.0005
_LAST = 5  # number of latest record prices over which means are taken


def require_few_jobs(instance: Instance) -> None:
    """Refuse more than ``LARGEST`` jobs (UsageError)."""
    count = len(instance.jobs)
    if count > LARGEST:
        raise UsageError(where="plan", found=f"{count:,} jobs", allowed=f"{LARGEST:,}")


def plan(
    instance: Instance,
    schedules: Sequence[Schedule],
    generator: np.random.Generator,
    *,
    orders: int | None = None,
    tick: Callable[..., None] = lambda nodes=0: None,
    better: Callable[[Schedule], None] = lambda schedule: None,
) -> Schedule:
    """Return the best schedule found; it knows all jobs, and how many iterations they run.

    Parameters
    ----------
    instance
        Feasible.
    schedules
        Feasible schedules, at least one, whose orders of starts are tried too; the returned schedule is
        never worse.
    generator
        Draws the steps, and the chances of acceptance.
    orders
        Number of orders annealed; None: ``PLACED`` over the number of jobs and over the sixteens of servers,
        at most 1,000.
    tick
        Called with 1 for every order and with nothing for every job of it; it may raise to stop.
    better
        Called with every schedule better than all before and than ``schedules``.

    Guarantee: none. Cost: that of ``bounds.prices``, and of as many runs of ``Serial`` as orders.

    Raises
    ------
    UsageError
        More than ``LARGEST`` jobs.
    """
    require_few_jobs(instance)
    count = len(instance.jobs)
    jobs = rigid_jobs(instance, tick)
    serial = Serial(instance.on_own_clock(), jobs.length_s.tolist())
    best = min(schedules, key=lambda schedule: objective(instance, schedule))
    best_s, releases_s = objective(instance, best), jobs.release_s.tolist()

    def flow_s(order: list[int], now_s: float = math.inf) -> float:
        nonlocal best, best_s
        tick(1)
        ran = serial.run(order, tick)
        times = zip(releases_s, ran, strict=True)
        sum_s = math.fsum(x for release_s, (start_s, length_s, _) in times for x in (start_s, length_s, -release_s))
        if sum_s < now_s:
            found = Schedule(on_clock_of(instance, serial.instance, schedule_of(serial.instance, ran)))
            found_s = objective(instance, found)
            if found_s < best_s:
                best_s, best = found_s, found
                better(best)
        return sum_s

    held = [np.array([schedule.jobs[job.id].start_s for job in instance.jobs]) for schedule in schedules]
    priced = [found.start_s for found in (cheapest_starts(jobs, *prices) for prices in best_prices(jobs, ROUNDS, tick))]
    start_s = np.mean(priced[-_LAST:], axis=0)
    first = [_order(key) for key in (start_s, start_s + jobs.length_s / 2, *held)]
    tries = min(1_000, PLACED // count // -(-len(instance.servers) // 16)) if orders is None else orders
    anneal_orders(min(first, key=flow_s), flow_s, generator, tries=tries, temperature=TEMPERATURE)
    return best


def _order(key: FloatArray) -> list[int]:
    return [int(job) for job in np.argsort(key, kind="stable")]
