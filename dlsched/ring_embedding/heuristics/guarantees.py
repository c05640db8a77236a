"""Approximation guarantee of the slot greedy, as data; ``heuristics.slot_greedy`` has the proof."""

from dlsched.core.elementary import float_power
from dlsched.core.family import Guarantee
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.objectives import SUM, objective_of

_ROUNDING = 1e-9
_SOLVED = 1e-6  # relative precision to which the programs of slots are solved


def applies(instance: Instance) -> bool:
    """Whether utilities are concave, the network is a forest (rings may lose workers), and energy costs nothing."""
    if objective_of(instance) is not SUM:
        return False
    return instance.paths is None and all(job.utility.concave for job in instance.jobs)


def share(instance: Instance) -> float:
    """Part of the optimum: 1/2, and 1 - (1 - 1/T)^T, above 1 - 1/e, where all jobs arrive with T slots to go."""
    arrivals = {job.arrival_slot for job in instance.jobs}
    slots = instance.slots - min(arrivals) + 1
    return 0.5 if len(arrivals) > 1 else 1 - float_power(1 - 1 / slots, slots)


HALF = Guarantee[Instance](
    "at least 1/2 of the optimum (tight) when utilities are concave, the network is a forest and every slot was proven; "
    "1 - 1/e if all jobs arrive at once; nothing for a sigmoid, or where energy costs something",
    applies,
    lambda instance, optimum: max((1 - _ROUNDING) / 2, share(instance) * (1 - _SOLVED)) * optimum,
)
