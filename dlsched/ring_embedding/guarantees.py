"""What the slot greedy promises, as data; the proof stands in ``heuristics.slot_greedy``."""

from dlsched.core.family import Guarantee
from dlsched.ring_embedding.instance import Instance

_ROUNDING = 1e-9


def applies(instance: Instance) -> bool:
    """Whether utilities are concave, rings stay feasible when workers are taken away (a forest), and energy costs nothing."""
    if instance.charges or instance.objective != "sum":
        return False
    return instance.paths is None and all(job.utility.concave for job in instance.jobs)


HALF = Guarantee[Instance](
    "at least 1/2 of the optimum when utilities are concave, the network is a forest and every slot was proven; "
    "nothing for a sigmoid, or where energy costs something",
    applies,
    lambda instance, optimum: optimum / 2 * (1 - _ROUNDING),
)
