"""What the slot greedy promises, as data; the proof stands in ``slot_greedy``."""

from dlsched.core.family import Guarantee
from dlsched.ring_embedding.instance import Instance, Sigmoid

_ROUNDING = 1e-9


def applies(instance: Instance) -> bool:
    """Whether utilities are concave and rings stay feasible when workers are taken away: a forest."""
    concave = all(not isinstance(job.utility, Sigmoid) or job.utility.midpoint == 0 for job in instance.jobs)
    return concave and instance.paths is None


HALF = Guarantee[Instance](
    "at least 1/2 of the optimum when utilities are concave, the network is a forest and every slot was proven; "
    "nothing for a sigmoid",
    applies,
    lambda instance, optimum: optimum / 2 * (1 - _ROUNDING),
)
