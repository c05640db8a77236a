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
from dlsched.srpt_mapping.layouts import Layouts, Picked, lengths_s, picked_of, timed
from dlsched.srpt_mapping.solution import Schedule, Start, on_clock_of

_CLOSED = 0.9 * MEETING
"""Relative gap at which a block counts as closed; if all blocks are closed, so is their sum."""
_EXACT = 1e-9  # relative gap that a bound of our own search would leave


@dataclass(slots=True)
class Block:
    """Jobs on their own clock, their layouts, their best schedule, its sum of flow times, and a lower bound on that sum."""

    instance: Instance
    choices: Layouts
    schedule: Schedule
    flow_s: float
    bound_s: float

    @property
    def closed(self) -> bool:
        """Whether the bound meets the sum of the best schedule."""
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
        self.prove(self.bound_s, "an earlier bound")
        return True

    def prove(self, bound_s: float, source: str) -> None:
        """Take a bound if it is tighter; ContradictionError: the best schedule is better than it allows."""
        if bound_s - self.flow_s > MEETING * self.flow_s:
            conflict = f"bound {bound_s!r}, but a schedule with flow times of {self.flow_s!r}"
            raise ContradictionError(f"{source} and the checker disagree: {conflict}", where=CONTRADICTION)
        self.bound_s = max(self.bound_s, bound_s)


def blocks_of(instance: Instance, choices: Layouts, schedule: Schedule, tick: Tick = no_tick) -> list[Block]:
    """Split a feasible instance by any of its schedules; each block has its part of it, and the bound of its certificate."""
    own = instance.on_own_clock()
    picked = picked_of(own, choices, schedule)
    flows = flow_times(own, timed(own, picked, tick=tick))
    shortest = [min(lengths) for lengths in lengths_s(own, choices)]
    blocks = []
    # the bound of each block is that of its certificate, less its releases, as blocks count flow times
    for jobs in separated([job.release_s for job in own.jobs], shortest, flows, tick=tick):
        part, position = own.on_own_clock(jobs), {job: index for index, job in enumerate(jobs)}
        within = [(position[job], layout) for job, layout in picked if job in position]
        best = timed(part, within, tick=tick)
        released = [Fraction(-job.release_s) for job in part.jobs]
        bound_s = rounded_down(exact_sum([Fraction(combined(part, tick=tick).value), *released]))
        flow_s = math.fsum(flow_times(part, best))
        blocks.append(Block(part, [choices[job] for job in jobs], best, flow_s, bound_s))
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
