"""Jobs that cannot meet in any schedule worth looking at are decided apart: the blocks, each on its own clock.

Of any schedule whose flow times (end less release) sum to no more than the F of a schedule held, job i ends by r_i + p_i + E:
p_i is its least length, E = F - sum p, as no other job flows for less than its own p. Where every job released before some
time ends by then, the later ones never meet them. So the best schedule of all is the best of either part, and F of a
part is less again. A block is a part that does not part further; its releases lie within its number of jobs times F,
so nothing large is added to what is to be decided.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dlsched.certificates import exact_sum, rounded_down
from dlsched.core.errors import SolverError
from dlsched.core.search import CONTRADICTION
from dlsched.core.tolerance import FEASIBLE, MEETING, rounding
from dlsched.srpt_mapping.bounds import bound
from dlsched.srpt_mapping.checker import flow_times
from dlsched.srpt_mapping.clock import on_clock_of, on_own_clock
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.layouts import Layout
from dlsched.srpt_mapping.solution import Schedule, Start
from dlsched.srpt_mapping.timing import timed

_CLOSED = 0.9 * MEETING
"""Relative gap at which a block is closed: blocks that are, add up to a result that is."""
_EXACT = 1e-9

Picked = Sequence[tuple[int, Layout]]
"""Jobs and their layouts, in order of their starts."""


@dataclass(slots=True)
class Block:
    """Some jobs, what is held of them, and what is proven.

    Parameters
    ----------
    instance, found
        The jobs on their own clock, and their layouts.
    schedule, flow_s
        The best schedule held and its sum of flow times.
    bound_s
        What no sum of flow times undercuts.
    """

    instance: Instance
    found: list[list[Layout]]
    schedule: Schedule
    flow_s: float
    bound_s: float

    @property
    def closed(self) -> bool:
        """Whether the bound meets the sum held."""
        return self.flow_s - self.bound_s <= _CLOSED * self.flow_s

    @property
    def exact(self) -> bool:
        """Whether the bound meets it as well as that of our own search would."""
        return self.flow_s - self.bound_s <= _EXACT * self.flow_s

    def improve(self, picked: Picked, tick: Callable[[], None] = lambda: None) -> bool:
        """Time jobs in an order, and keep the schedule if it is better; say whether it was."""
        layout_of = dict(picked)
        schedule = timed(
            self.instance, [job for job, _ in picked], [layout_of[job] for job in range(len(picked))], tick=tick
        )
        flow_s = math.fsum(flow_times(self.instance, schedule))
        if not flow_s < self.flow_s:
            return False
        self.schedule, self.flow_s = schedule, flow_s
        self.prove(self.bound_s, "the bound held")
        return True

    def prove(self, bound_s: float, source: str) -> None:
        """Take a bound if it is tighter.

        Raises
        ------
        SolverError
            The schedule held is better than the bound allows.
        """
        if bound_s - self.flow_s > MEETING * self.flow_s:
            held = f"bound {bound_s!r}, but flow times of {self.flow_s!r} are held"
            raise SolverError(f"{CONTRADICTION}: {source} and the checker disagree: {held}")
        self.bound_s = max(self.bound_s, bound_s)


def blocks_of(
    instance: Instance, found: Sequence[Sequence[Layout]], schedule: Schedule, tick: Callable[[], None]
) -> list[Block]:
    """Split an instance by a schedule; each block holds its part of it, and the bound of its certificate.

    Parameters
    ----------
    instance, found, schedule
        A feasible instance, its layouts, and any of its schedules.
    tick
        Called for every job; it may raise to stop.
    """
    own = on_own_clock(instance)
    picked = picked_of(own, found, schedule)
    order, layout_of = [job for job, _ in picked], dict(picked)
    flows = flow_times(own, timed(own, order, [layout_of[job] for job in range(len(order))], tick=tick))
    shortest = [
        job.iterations * min(layout.iteration_s for layout in held) for job, held in zip(own.jobs, found, strict=True)
    ]
    rank = {job: place for place, job in enumerate(order)}
    held = []
    for jobs in _parts([job.release_s for job in own.jobs], shortest, flows, tick):
        part = on_own_clock(instance, jobs)
        within = [jobs.index(job) for job in sorted(jobs, key=rank.__getitem__)]
        schedule = timed(part, within, [layout_of[job] for job in jobs], tick=tick)
        released = [Fraction(-job.release_s) for job in part.jobs]
        bound_s = rounded_down(exact_sum([Fraction(bound(part, tick=tick).value), *released]))
        flow_s = math.fsum(flow_times(part, schedule))
        held.append(Block(part, [list(found[job]) for job in jobs], schedule, flow_s, bound_s))
    return held


def whole_schedule(instance: Instance, blocks: Sequence[Block]) -> Schedule:
    """The schedule of all blocks, on the clock of the instance."""
    starts: dict[str, Start] = {}
    for block in blocks:
        starts |= on_clock_of(instance, block.instance, block.schedule)
    return Schedule(starts)


def whole_bound_s(instance: Instance, blocks: Sequence[Block]) -> float:
    """What the bounds of all blocks prove of the sum of completion times."""
    return rounded_down(
        exact_sum([Fraction(job.release_s) for job in instance.jobs] + [Fraction(block.bound_s) for block in blocks])
    )


def picked_of(instance: Instance, found: Sequence[Sequence[Layout]], schedule: Schedule) -> list[tuple[int, Layout]]:
    """The jobs of a schedule in order of their starts (of equal ones the shorter first) and the layouts of their usages."""
    layout_of = {}
    for index, (job, held) in enumerate(zip(instance.jobs, found, strict=True)):
        usage = [0] * len(instance.servers)
        for share in schedule.jobs[job.id].placement:
            usage[instance.server_index[share.server]] += share.replicas
        layout_of[index] = next(layout for layout in held if layout.usage == tuple(usage))
    jobs = instance.jobs
    order = sorted(
        layout_of,
        key=lambda job: (schedule.jobs[jobs[job].id].start_s, jobs[job].iterations * layout_of[job].iteration_s, job),
    )
    return [(job, layout_of[job]) for job in order]


def _parts(
    releases: Sequence[float], shortest: Sequence[float], flows: Sequence[float], tick: Callable[[], None]
) -> list[list[int]]:
    """Positions of the jobs of every block."""
    whole, done = [sorted(range(len(releases)), key=releases.__getitem__)], []
    while whole:
        jobs = whole.pop()
        excess_s = max(0.0, math.fsum([*(flows[job] for job in jobs), *(-shortest[job] for job in jobs)]))
        parts: list[list[int]] = [[]]
        latest_s = -math.inf
        for job in jobs:
            tick()
            if parts[-1] and releases[job] >= latest_s:
                parts.append([])
            parts[-1].append(job)
            end_s = releases[job] + (shortest[job] + excess_s) * (1 + FEASIBLE)
            latest_s = max(latest_s, end_s + rounding(end_s))
        if len(parts) == 1:
            done.append(jobs)
        else:
            whole += parts
    return sorted(done, key=lambda jobs: releases[jobs[0]])
