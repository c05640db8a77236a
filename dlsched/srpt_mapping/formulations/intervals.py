"""srpt_mapping as a scheduling model of CP-SAT: one optional interval a layout, a cumulative constraint a server.

======================  =============================================================================================
name                    mathematics
======================  =============================================================================================
``mode_i_l``            1 if job i uses layout l; exactly one a job (``gang``)
``start_i``, ``end_i``  whole multiples of ``unit_s``; start_i >= r_i (``release``), end_i = start_i + length of the layout
``gpus``                of every server: the layouts that run take at most g^m; and all servers together
objective               sum_i end_i
======================  =============================================================================================

Whole times: releases and lengths are rounded down to multiples of ``unit_s``, a power of two. *The optimum of the model is
a bound*: run the jobs of any schedule in the order of its starts, each as soon as the jobs before it allow; with shorter
lengths and earlier releases no start is later (induction over the order), and all times are whole. The solution's order and
layouts are timed again with the true lengths (``timing``); the difference is at most some ``unit_s`` a job.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from dlsched.core.certificate import rounded_down
from dlsched.solvers.intervals import IntervalModel, Starts
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.layouts import Layout
from dlsched.srpt_mapping.solution import Schedule
from dlsched.srpt_mapping.timing import timed

_DIGITS = 30  # bits of the sum of all ends; with 34 CP-SAT 9.15 hung, aborted or erred on some tiny models


def build_intervals(
    instance: Instance, found: Sequence[Sequence[Layout]], *, total_s: float, least_s: float
) -> tuple[IntervalModel, float]:
    """Build the model and the seconds of one unit of its times.

    Parameters
    ----------
    instance
        Feasible.
    found
        Its layouts.
    total_s
        A sum of completion times that is attained; worse schedules need not be in the model.
    least_s
        A proven bound on it.
    """
    unit = Fraction(2) ** (math.frexp(total_s)[1] - _DIGITS)
    releases = tuple(_whole(job.release_s, unit) for job in instance.jobs)
    modes = tuple(
        tuple((_whole(length_s(instance, place, layout), unit), layout.usage) for layout in held)
        for place, held in enumerate(found)
    )
    count = len(instance.jobs)
    soonest = [release + min(length for length, _ in held) for release, held in zip(releases, modes, strict=True)]
    spare = _whole(total_s, unit) + 1 - sum(soonest)
    model = IntervalModel(
        capacities=tuple(server.gpus for server in instance.servers),
        releases=releases,
        modes=modes,
        horizon=max(soonest) + max(0, spare),
        least=max(sum(soonest), _whole(least_s, unit) - count * (count + 1)),
    )
    return model, float(unit)


def length_s(instance: Instance, place: int, layout: Layout) -> float:
    """Seconds that a job runs in a layout."""
    return instance.jobs[place].iterations * layout.iteration_s


def proven_s(bound: int, unit_s: float) -> float:
    """What a bound on the model proves of the sum of completion times, seconds."""
    return rounded_down(Fraction(bound) * Fraction(unit_s) * (1 - Fraction(1, 2**48)))


def decode(instance: Instance, found: Sequence[Sequence[Layout]], starts: Starts) -> Schedule:
    """Time the jobs of a solution again, in the order of their starts; of equal ones the shorter first, whose length may be 0."""
    chosen = [held[mode] for held, (mode, _) in zip(found, starts, strict=True)]
    lengths = [length_s(instance, place, layout) for place, layout in enumerate(chosen)]
    order = sorted(range(len(starts)), key=lambda job: (starts[job][1], lengths[job], job))
    return timed(instance, order, chosen)


def encode(instance: Instance, found: Sequence[Sequence[Layout]], schedule: Schedule, unit_s: float) -> Starts:
    """A schedule as a hint: of every job the layout with its usage, and its start."""
    starts = []
    for job, held in zip(instance.jobs, found, strict=True):
        start_s, placement = schedule.jobs[job.id]
        usage = [0] * len(instance.servers)
        for share in placement:
            usage[instance.server_index[share.server]] += share.replicas
        mode = next(place for place, layout in enumerate(held) if layout.usage == tuple(usage))
        starts.append((mode, _whole(start_s, Fraction(unit_s))))
    return tuple(starts)


def _whole(seconds: float, unit: Fraction) -> int:
    return math.floor(Fraction(seconds) / unit)
