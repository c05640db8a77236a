"""srpt_mapping as a scheduling model of CP-SAT: one optional interval a layout, a cumulative constraint a server.

======================  =============================================================================================
name                    mathematics
======================  =============================================================================================
``mode_i_l``            1 if job i uses layout l; exactly one a job (``gang``)
``start_i``, ``end_i``  whole multiples of ``unit_s``; start_i >= r_i (``release``), end_i = start_i + length of the layout; a
                        job that has begun starts at r_i = 0, in its only layout (``begun``)
``gpus``                of every server: the layouts that run take at most g^m; and all servers together
``limit``               of every group with a limit: at most so many of its jobs run
objective               sum_i end_i
======================  =============================================================================================

Whole times: releases and lengths are rounded down to multiples of ``unit_s``, a power of two. *The optimum of the model is
a bound*: run the jobs of any schedule in the order of its starts, each as soon as the jobs before it allow; with shorter
lengths and earlier releases no start is later (induction over the order), and all times are whole. The solution's order and
layouts are timed again with the true lengths (``placing``). But CP-SAT lets an interval of length 0 lie inside
others. So it gets length 1. If Z jobs have such layouts, starting every job later by one for each of them before it, in
order of the starts, makes room: what runs at one time did so before. This takes at most Z units a job, I Z off the bound.
Jobs that have begun are first in both arguments, and are not shifted: they all fit together at time 0, so they start there, and
run only beside others that start then or later, as before; a length of 1 in place of 0 has ended when these start, since each
starts later by one at least.
The difference is at most some ``unit_s`` a job. Where that is too much the model is built again, in a unit of the better
schedule found, or in a finer one.

*Omitted*: layouts and ends with which the sum would be more than that of the best schedule. *Without loss* (twins): servers
with as many GPUs, on which no job has begun, may change places; so the job with the most layouts takes of them no fewer GPUs of
one than of the next. The hint is the best schedule with these servers in that order.
"""

import math
from collections.abc import Mapping
from fractions import Fraction

from dlsched.certificates import exact_sum, rounded_down
from dlsched.solvers.formulation import Formulation
from dlsched.solvers.intervals import IntervalModel, values_of
from dlsched.solvers.outcome import Incumbent
from dlsched.srpt_mapping.blocks import Block
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.layouts import Layout, Layouts, Picked, freest, lengths_s, picked_of, twins, without_twins

FEWEST_DIGITS, MOST_DIGITS = 30, 32
"""Bits of the sum of all ends; with 34 CP-SAT 9.15 hung, aborted or erred on some tiny models."""

Intervals = Formulation[IntervalModel, Picked]


def unit_s(block: Block, digits: int) -> float:
    """Seconds per unit such that the sum of the best schedule's ends has ``digits`` binary digits."""
    total_s = block.flow_s + math.fsum(job.release_s for job in block.instance.jobs)
    return math.ldexp(1.0, math.frexp(total_s)[1] - digits)


def build_intervals(block: Block, unit_s: float) -> Intervals:
    """Build the model with times in units of ``unit_s``, from the best schedule; its objective is the sum of the ends."""
    instance, unit = block.instance, Fraction(unit_s)
    count, exact = len(instance.jobs), [Fraction(job.release_s) for job in instance.jobs]
    releases = tuple(_whole(job.release_s, unit) for job in instance.jobs)
    rounded = [[_whole(length_s, unit) for length_s in own] for own in lengths_s(instance, block.choices)]
    # what intervals of length 1 in place of 0 may add, and the ends that a better sum leaves room for
    off = count * sum(0 in own for own in rounded)
    lengths = [[max(1, length) for length in own] for own in rounded]
    total = math.floor(exact_sum([Fraction(block.flow_s), *exact]) / unit) + 1
    soonest = [release + min(own) for release, own in zip(releases, lengths, strict=True)]
    spare = max(0, total + off - sum(soonest))
    pairs = [
        [(length, layout) for length, layout in zip(each, own, strict=True) if length <= min(each) + spare]
        for each, own in zip(lengths, block.choices, strict=True)
    ]
    # layouts that remain, without twins, and their rounded lengths
    allowed = [[layout for _, layout in own] for own in pairs]
    modes_of, length_of = (
        without_twins(instance, allowed),
        [{layout.usage: length for length, layout in own} for own in pairs],
    )
    seconds = lengths_s(instance, modes_of)
    least = math.floor(exact_sum([Fraction(block.bound_s), *exact]) / unit)
    model = IntervalModel(
        capacities=instance.capacities,
        releases=releases,
        modes=tuple(
            tuple((lengths_of[layout.usage], layout.usage) for layout in own)
            for lengths_of, own in zip(length_of, modes_of, strict=True)
        ),
        latest=tuple(end if job.begun else end + spare for job, end in zip(instance.jobs, soonest, strict=True)),
        least=max(sum(soonest), least - count * (count + 1)),
    )

    def decode(values: Incumbent) -> Picked:
        """The jobs by start; of equal starts the shorter job first, as its length may be 0."""
        modes = [int(values[f"mode_{job}"]) for job in range(count)]
        order = sorted(range(count), key=lambda job: (values[f"start_{job}"], seconds[job][modes[job]], job))
        return [(job, modes_of[job][modes[job]]) for job in order]

    usages = _in_order(instance, allowed, dict(picked_of(instance, allowed, block.schedule)))
    hint = values_of(
        [[layout.usage for layout in own].index(usage) for own, usage in zip(modes_of, usages, strict=True)],
        [_whole(block.schedule.jobs[job.id].start_s, unit) for job in instance.jobs],
    )
    return Formulation(model, decode, unit_s, -off * unit_s, hint)


def _in_order(instance: Instance, allowed: Layouts, layout_of: Mapping[int, Layout]) -> list[tuple[int, ...]]:
    """GPUs of all jobs by server; equal servers are sorted by what the job with most layouts uses."""
    usage, order = layout_of[freest(allowed)].usage, list(range(len(instance.capacities)))
    for group in twins(instance):
        for place, server in zip(group, sorted(group, key=lambda m: -usage[m]), strict=True):
            order[place] = server
    return [tuple(layout_of[job].usage[server] for server in order) for job in range(len(layout_of))]


def proven_s(block: Block, intervals: Intervals, bound: float) -> float:
    """Convert a bound on the model to one on the sum of flow times in seconds."""
    ends_s = (Fraction(bound) * Fraction(intervals.unit) + Fraction(intervals.constant)) * (1 - Fraction(1, 2**48))
    return rounded_down(exact_sum([ends_s, *(Fraction(-job.release_s) for job in block.instance.jobs)]))


def _whole(seconds: float, unit: Fraction) -> int:
    """Whole units, rounded down."""
    return math.floor(Fraction(seconds) / unit)
