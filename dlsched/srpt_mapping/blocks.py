"""Blocks of jobs that overlap in no schedule worth considering, solved separately, each on its own clock.

``dlsched.algorithms.start_tree`` says why that is exact, and why no large numbers are added to a block's.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dlsched.algorithms.start_tree import separated
from dlsched.certificates import exact_sum, rounded_down
from dlsched.core.errors import ContradictionError
from dlsched.core.gap import MEETING
from dlsched.core.limits import Tick, no_tick
from dlsched.core.search import CONTRADICTION
from dlsched.srpt_mapping.bounds import combined
from dlsched.srpt_mapping.checker import flow_times
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing import Layouts, Picked, lengths_s, picked_of, timed
from dlsched.srpt_mapping.solution import Schedule, Start, on_clock_of

_CLOSED = 0.9 * MEETING
"""Relative gap at which a block counts as closed; if all blocks are closed, so is their sum."""
_EXACT = 1e-9


@dataclass(slots=True)
class Block:
    """Some jobs, their best schedule, and their bound.

    Parameters
    ----------
    instance, found
        The jobs on their own clock, and their layouts.
    schedule, flow_s
        The best schedule held and its sum of flow times.
    bound_s
        Lower bound on the sum of flow times.
    """

    instance: Instance
    found: Layouts
    schedule: Schedule
    flow_s: float
    bound_s: float

    @property
    def closed(self) -> bool:
        """Whether the bound meets the sum held."""
        return self.flow_s - self.bound_s <= _CLOSED * self.flow_s

    @property
    def exact(self) -> bool:
        """Whether the bound meets the sum as closely as a bound of our own search would."""
        return self.flow_s - self.bound_s <= _EXACT * self.flow_s

    def improve(self, picked: Picked, tick: Tick = no_tick) -> bool:
        """Time jobs in an order, keep the schedule if it is better, and return whether it was."""
        schedule = timed(self.instance, picked, tick=tick)
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
            raise ContradictionError(f"{source} and the checker disagree: {held}", where=CONTRADICTION)
        self.bound_s = max(self.bound_s, bound_s)


def blocks_of(instance: Instance, found: Layouts, schedule: Schedule, tick: Tick = no_tick) -> list[Block]:
    """Split an instance by a schedule; each block holds its part of it, and the bound of its certificate.

    Parameters
    ----------
    instance, found, schedule
        A feasible instance, its layouts, and any of its schedules.
    tick
        Called for every job; it may raise to stop.
    """
    own = instance.on_own_clock()
    picked = picked_of(own, found, schedule)
    flows = flow_times(own, timed(own, picked, tick=tick))
    shortest = [min(held) for held in lengths_s(own, found)]
    blocks = []
    for jobs in separated([job.release_s for job in own.jobs], shortest, flows, tick=tick):
        part, position = own.on_own_clock(jobs), {job: index for index, job in enumerate(jobs)}
        within = [(position[job], layout) for job, layout in picked if job in position]
        held = timed(part, within, tick=tick)
        released = [Fraction(-job.release_s) for job in part.jobs]
        bound_s = rounded_down(exact_sum([Fraction(combined(part, tick=tick).value), *released]))
        flow_s = math.fsum(flow_times(part, held))
        blocks.append(Block(part, [found[job] for job in jobs], held, flow_s, bound_s))
    return blocks


def whole_schedule(instance: Instance, blocks: Sequence[Block]) -> Schedule:
    """The schedule of all blocks, on the clock of the instance."""
    starts: dict[str, Start] = {}
    for block in blocks:
        starts |= on_clock_of(instance, block.instance, block.schedule)
    return Schedule(starts)


def whole_bound_s(instance: Instance, blocks: Sequence[Block]) -> float:
    """Lower bound on the sum of completion times, from the bounds of all blocks."""
    return rounded_down(
        exact_sum([Fraction(job.release_s) for job in instance.jobs] + [Fraction(block.bound_s) for block in blocks])
    )
