"""When jobs start once their order and their layouts are fixed: no later than in any schedule with these layouts."""

from collections.abc import Sequence

from dlsched.algorithms.serial_schedule import earliest_starts
from dlsched.core.limits import Tick, no_tick
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing.layouts import Picked, shares
from dlsched.srpt_mapping.solution import Schedule


def timed(
    instance: Instance, picked: Picked, *, not_before_s: Sequence[float] | None = None, tick: Tick = no_tick
) -> Schedule:
    """Start every job at the earliest time at which its GPUs are free to its end, beside the jobs picked before it.

    Those that have begun are first, whatever the order: they fit together, and start at their release. ``not_before_s``:
    of every job in the order of the file, a time at or after its release; None: the releases. ``tick`` is called for every job,
    and may raise to stop. Cost: O(I^2 M).
    """
    jobs, sizes = instance.jobs, [server.gpus for server in instance.servers]
    picked = sorted(picked, key=lambda pick: jobs[pick[0]].begun is None)
    froms_s = [job.release_s for job in jobs] if not_before_s is None else not_before_s
    takes = [(froms_s[i], jobs[i].iterations * layout.iteration_s, layout.usage) for i, layout in picked]
    starts_s = earliest_starts(sizes, takes, tick=tick)
    starts = {i: (start_s, shares(instance, layout)) for start_s, (i, layout) in zip(starts_s, picked, strict=True)}
    return Schedule({job.id: starts[i] for i, job in enumerate(jobs)})
