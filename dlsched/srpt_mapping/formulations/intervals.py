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
layouts are timed again with the true lengths (``timing``). But CP-SAT lets an interval of length 0 lie inside others. So it
gets length 1. If Z jobs have such layouts, starting every job later by one for each of them before it, in order of the
starts, makes room: what runs at one time did so before. This takes at most Z units a job, I Z off the bound. The difference
is at most some ``unit_s`` a job. Where that is
too much the model is built again, in a unit of the better schedule found, or in a finer one.

*Left out*: layouts and ends with which the sum would be more than that of the schedule held.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dlsched.certificates import exact_sum, rounded_down
from dlsched.solvers.intervals import IntervalModel, Starts
from dlsched.srpt_mapping.blocks import Block, picked_of
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.layouts import Layout

FEWEST_DIGITS, MOST_DIGITS = 30, 32
"""Bits of the sum of all ends; with 34 CP-SAT 9.15 hung, aborted or erred on some tiny models."""


def unit_s(block: Block, digits: int) -> float:
    """Seconds of a unit with which the sum of the ends of the schedule held has so many binary digits."""
    total_s = block.flow_s + math.fsum(job.release_s for job in block.instance.jobs)
    return math.ldexp(1.0, math.frexp(total_s)[1] - digits)


@dataclass(frozen=True, slots=True)
class Whole:
    """The model; the layouts that it keeps of every job; the schedule held, as a hint; and what is to be taken off bounds."""

    model: IntervalModel
    kept: list[list[Layout]]
    hint: Starts
    off: int


def build_intervals(block: Block, unit_s: float) -> Whole:
    """Build the model with times in units of so many seconds."""
    instance, unit = block.instance, Fraction(unit_s)
    releases = tuple(_whole(job.release_s, unit) for job in instance.jobs)
    lengths = [
        [_whole(length_s(instance, index, layout), unit) for layout in held] for index, held in enumerate(block.found)
    ]
    exact = [Fraction(job.release_s) for job in instance.jobs]
    count = len(instance.jobs)
    off = count * sum(0 in held for held in lengths)
    lengths = [[max(1, length) for length in held] for held in lengths]
    total = math.floor(exact_sum([Fraction(block.flow_s), *exact]) / unit) + 1
    soonest = [release + min(held) for release, held in zip(releases, lengths, strict=True)]
    spare = max(0, total + off - sum(soonest))
    kept, modes = [], []
    for held, each in zip(block.found, lengths, strict=True):
        pairs = [(layout, n) for layout, n in zip(held, each, strict=True) if n <= min(each) + spare]
        kept.append([layout for layout, _ in pairs])
        modes.append(tuple((n, layout.usage) for layout, n in pairs))
    least = math.floor(exact_sum([Fraction(block.bound_s), *exact]) / unit)
    model = IntervalModel(
        capacities=tuple(server.gpus for server in instance.servers),
        releases=releases,
        modes=tuple(modes),
        latest=tuple(end + spare for end in soonest),
        least=max(sum(soonest), least - count * (count + 1)),
    )
    return Whole(model, kept, _hint(block, kept, unit), off)


def length_s(instance: Instance, index: int, layout: Layout) -> float:
    """Seconds that a job runs in a layout."""
    return instance.jobs[index].iterations * layout.iteration_s


def proven_s(block: Block, whole: Whole, bound: int, unit_s: float) -> float:
    """What a bound on the model proves of the sum of flow times, seconds."""
    ends_s = Fraction(bound - whole.off) * Fraction(unit_s) * (1 - Fraction(1, 2**48))
    return rounded_down(exact_sum([ends_s, *(Fraction(-job.release_s) for job in block.instance.jobs)]))


def decode(block: Block, kept: Sequence[Sequence[Layout]], starts: Starts) -> list[tuple[int, Layout]]:
    """The jobs of a solution in the order of their starts, of equal ones the shorter first, whose length may be 0."""
    chosen = [held[mode] for held, (mode, _) in zip(kept, starts, strict=True)]
    lengths = [length_s(block.instance, index, layout) for index, layout in enumerate(chosen)]
    order = sorted(range(len(starts)), key=lambda job: (starts[job][1], lengths[job], job))
    return [(job, chosen[job]) for job in order]


def _hint(block: Block, kept: Sequence[Sequence[Layout]], unit: Fraction) -> Starts:
    """Of every job the layout with its usage, and its start."""
    layout_of = dict(picked_of(block.instance, kept, block.schedule))
    return tuple(
        (held.index(layout_of[index]), _whole(block.schedule.jobs[job.id].start_s, unit))
        for index, (job, held) in enumerate(zip(block.instance.jobs, kept, strict=True))
    )


def _whole(seconds: float, unit: Fraction) -> int:
    return math.floor(Fraction(seconds) / unit)
