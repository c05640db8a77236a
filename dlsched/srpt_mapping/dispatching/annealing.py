"""A search of ours over orders of the queue: simulated annealing, every order run through ``dispatch``.

An order is a list of all jobs; the queue is strict, jobs are placed by ``compact``, and communication-heavy ones wait for
better placements as ``PATIENT`` says. A step moves one job to another place of the list, at most a quarter of its length
away. A worse order is accepted with probability exp(-increase / temperature); the temperature falls linearly from
``TEMPERATURE`` of the first sum of flow times to 0. It knows all jobs from the start, which no policy does.

Source of the method: Kirkpatrick, Gelatt, Vecchi 1983.
"""

import math
from collections.abc import Callable

import numpy as np

from dlsched.srpt_mapping.checker import objective
from dlsched.srpt_mapping.clock import on_clock_of, on_own_clock
from dlsched.srpt_mapping.dispatching.dispatch import Ran, run_queue, schedule_of
from dlsched.srpt_mapping.placing.heavy_edge import compact
from dlsched.srpt_mapping.heuristics import PATIENT, placed_s
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing.servers import Servers
from dlsched.srpt_mapping.solution import Schedule

TEMPERATURE = 0.002
STARTS = 100_000
"""Starts of jobs that are simulated by default: so many divided by the jobs is the number of orders tried."""


def anneal(
    instance: Instance,
    start: Schedule,
    generator: np.random.Generator,
    *,
    orders: int | None = None,
    tick: Callable[..., None] = lambda nodes=0: None,
    better: Callable[[Schedule], None] = lambda schedule: None,
) -> Schedule:
    """Return the best schedule found from the order of the starts of a schedule on.

    Parameters
    ----------
    instance
        Feasible.
    start
        A feasible schedule; what is returned is never worse.
    generator
        Draws steps and chances.
    orders
        How many orders are tried; None: ten times the square of the number of jobs, at most 1,000 and at most ``STARTS`` over
        that number, at least 1.
    tick
        Called with 1 for every order and with nothing for every job of it; it may raise to stop.
    better
        Called with every schedule better than all before, ``start`` included.

    Guarantee: none. Cost: as many runs of ``dispatch`` as orders.
    """
    count = len(instance.jobs)
    tries = max(1, min(1_000, 10 * count**2, STARTS // count)) if orders is None else orders
    own = on_own_clock(instance)
    releases, least_s = [job.release_s for job in own.jobs], placed_s(own, compact, tick=tick)

    servers = Servers(own)

    def run(order: list[int]) -> tuple[float, list[Ran]]:
        tick(1)
        keys = [0.0] * count
        for rank, job in enumerate(order):
            keys[job] = float(rank)
        ran = run_queue(
            own, servers, joins_s=releases, keys=keys, place=compact, waiting=PATIENT, least_s=least_s, tick=tick
        )
        times = zip(own.jobs, ran, strict=True)
        return math.fsum(x for job, (start_s, length_s, _) in times for x in (start_s, length_s, -job.release_s)), ran

    best_s, best = objective(instance, start), start
    order = sorted(range(count), key=lambda job: (start.jobs[instance.jobs[job].id].start_s, job))
    first_s = now_s = math.inf
    for step in range(tries):
        tried = order if step == 0 else _moved(order, generator)
        sum_s, ran = run(tried)
        if sum_s < now_s or step == 0:
            found = Schedule(on_clock_of(instance, own, schedule_of(own, ran)))
            found_s = objective(instance, found)
            if found_s < best_s:
                best_s, best = found_s, found
                better(best)
        first_s = sum_s if step == 0 else first_s
        temperature = TEMPERATURE * first_s * (1 - step / tries)
        if sum_s <= now_s or generator.random() < math.exp((now_s - sum_s) / temperature):
            order, now_s = tried, sum_s
    return best


def _moved(order: list[int], generator: np.random.Generator) -> list[int]:
    """The list with one job moved."""
    count = len(order)
    place = int(generator.integers(count))
    distance = int(generator.integers(1, max(2, count // 4 + 1))) * (1 if generator.random() < 0.5 else -1)
    changed = [*order[:place], *order[place + 1 :]]
    changed.insert(min(count - 1, max(0, place + distance)), order[place])
    return changed
