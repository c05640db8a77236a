"""When jobs start once their order and their layouts are fixed: no later than in any schedule with these layouts."""

from collections.abc import Sequence

from dlsched.algorithms.serial_schedule import earliest_starts
from dlsched.core.budget import Tick, no_tick
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing.layouts import Layout, Picked, shares
from dlsched.srpt_mapping.solution import Schedule


def timed(instance: Instance, order: Sequence[int], chosen: Sequence[Layout], *, tick: Tick = no_tick) -> Schedule:
    """Start every job at the earliest time at which its GPUs are free to its end, beside the jobs before it in the order.

    Parameters
    ----------
    instance
        Servers and jobs.
    order
        Indices of all jobs, each once.
    chosen
        The layout of every job, by its index; each fits on the servers.
    tick
        Called for every job; it may raise to stop.

    Cost: O(I^2 M).
    """
    return timed_picks(instance, [(index, chosen[index]) for index in order], tick=tick)


def timed_picks(instance: Instance, picked: Picked, *, tick: Tick = no_tick) -> Schedule:
    """As ``timed``, of jobs in an order with their layouts."""
    jobs = [instance.jobs[index] for index, _ in picked]
    takes = [
        (job.release_s, job.iterations * layout.iteration_s, layout.usage)
        for job, (_, layout) in zip(jobs, picked, strict=True)
    ]
    starts_s = earliest_starts([server.gpus for server in instance.servers], takes, tick=tick)
    held = {index: (start_s, layout) for start_s, (index, layout) in zip(starts_s, picked, strict=True)}
    return Schedule(
        {job.id: (held[index][0], shares(instance, held[index][1])) for index, job in enumerate(instance.jobs)}
    )
