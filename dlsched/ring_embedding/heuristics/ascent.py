"""``ascent``: chooses the rings of each slot anew, best for the other slots' rings, until no slot gains.

The program of one slot (``slot.slot_program``), with gains mu_i(zeta_i (z_i' + n)) - mu_i(zeta_i z_i') where z_i' are the
worker-slots in the others, less what energy costs. The objective never falls. Ours; no guarantee beyond that of where it starts.
"""

from collections.abc import Callable

from dlsched.core.gap import MEETING
from dlsched.ring_embedding.heuristics.plan import Plan
from dlsched.ring_embedding.slot.mapping_program import MappingProgram
from dlsched.ring_embedding.slot.slot_program import fill_slot, gained

ROUNDS = 20
_GAIN = 1e-9  # relative; less is rounding


def ascend(plan: Plan, *, better: Callable[[], None] = lambda: None, within: float = MEETING) -> None:
    """Improve a plan in place; ``better`` is called on every improvement; a slot is optimal at a gap of ``within``."""
    network, program = plan.network, MappingProgram(plan.network)
    for _ in range(ROUNDS):
        before = plan.gain()
        for number, slot in plan.slots.items():
            network.tick()
            # What each job gains in this slot beside its worker-slots in the others.
            gains = {}
            for job, record in enumerate(network.instance.jobs):
                other = plan.held[job] - slot.count(job)
                most = min(int(network.most[job]), int(network.total[job]) - other)
                if record.arrival_slot <= number and most > 0:
                    gains[job] = network.gains(job, other, most)
            start = {job: placed for job, placed in slot.rings.items() if job in gains}
            found = fill_slot(network, gains, program, start=start, within=within)
            if found.gain > gained(slot, gains) + _GAIN * before:
                plan.replace(number, found.slot)
                better()
        if plan.gain() <= before * (1 + _GAIN):
            break
