"""Simulated annealing over orders of the queue (ours), which runs every order through ``dispatch``.

An order is a list of all jobs; the queue is strict, jobs are placed by ``compact``, and communication-heavy ones wait for
better placements as ``PATIENT`` says. The temperature (``algorithms.serial_schedule``) falls from ``TEMPERATURE`` of the first
sum of flow times. It knows all jobs from the start, which no policy does.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from dlsched.algorithms.serial_schedule import anneal_orders
from dlsched.srpt_mapping.checker import objective
from dlsched.srpt_mapping.dispatching.dispatch import run_queue, schedule_of, with_own
from dlsched.srpt_mapping.dispatching.waiting import PATIENT, Aside
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing.heavy_edge import compact, placed_s
from dlsched.srpt_mapping.placing.servers import Servers
from dlsched.srpt_mapping.solution import Schedule, on_clock_of

TEMPERATURE = 0.002
STARTS = 100_000
"""Default number of simulated job starts: divided by the number of jobs it is the number of orders tried."""


def anneal(
    instance: Instance,
    start: Schedule,
    generator: np.random.Generator,
    *,
    orders: int | None = None,
    tick: Callable[..., None] = lambda nodes=0: None,
    better: Callable[[Schedule], None] = lambda schedule: None,
) -> Schedule:
    """Return the best schedule found by a search that begins with the order of a schedule's starts.

    Parameters
    ----------
    instance
        Feasible.
    start
        A feasible schedule; the returned schedule is never worse.
    generator
        Draws the steps, and the chances of acceptance.
    orders
        Number of orders tried; None: ten times the squared number of jobs, at most 1,000, at most ``STARTS``
        over the number of jobs, and at least 1.
    tick
        Called with 1 for every order and with nothing for every job of it; it may raise to stop.
    better
        Called with every schedule better than all before, ``start`` included.

    Guarantee: none. Cost: as many runs of ``dispatch`` as orders.
    """
    count = len(instance.jobs)
    tries = max(1, min(1_000, 10 * count**2, STARTS // count)) if orders is None else orders
    own = instance.on_own_clock()
    servers = Servers(own)
    releases = [job.release_s for job in own.jobs]
    aside = partial(Aside, own, servers, place=compact, waiting=PATIENT, least_s=placed_s(own, compact, tick=tick))
    begun = with_own(own)
    best_s, best = objective(instance, start), start

    def flow_s(order: list[int], now_s: float) -> float:
        nonlocal best_s, best
        tick(1)
        keys = [0.0] * count
        for rank, job in enumerate(order):
            keys[job] = float(rank)
        ran = run_queue(aside(keys=keys), releases, begun=begun, tick=tick)
        times = zip(releases, ran, strict=True)
        sum_s = math.fsum(x for release_s, (start_s, length_s, _) in times for x in (start_s, length_s, -release_s))
        if sum_s < now_s:
            found = Schedule(on_clock_of(instance, own, schedule_of(own, ran)))
            found_s = objective(instance, found)
            if found_s < best_s:
                best_s, best = found_s, found
                better(best)
        return sum_s

    order = sorted(range(count), key=lambda job: (start.jobs[instance.jobs[job].id].start_s, job))
    anneal_orders(order, flow_s, generator, tries=tries, temperature=TEMPERATURE)
    return best
