"""GADGET: slot by slot the largest increase in utility, by G-VNE (Yu et al., INFOCOM 2022, Alg. 1)."""

from collections.abc import Sequence

import numpy as np

from dlsched.core.limits import Budget
from dlsched.ring_embedding.heuristics.slot_greedy import Keep, forget, slot_greedy
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.objectives import require_served
from dlsched.ring_embedding.rings.network import Gains, Network
from dlsched.ring_embedding.rings.placing import Slot
from dlsched.ring_embedding.slot.g_vne import g_vne
from dlsched.ring_embedding.slot.mapping_program import MappingProgram
from dlsched.ring_embedding.solution import Embedding


def gadget(
    instance: Instance,
    rng: np.random.Generator,
    *,
    repair: bool = True,
    tries: int = 10,
    budget: Budget | None = None,
    keep: Keep = forget,
) -> Embedding:
    """Embed rings slot by slot.

    Parameters
    ----------
    rng
        Draws the mappings.
    repair
        Whether every slot is made feasible and what its rings leave free is filled (ours). Without it the embedding is that
        of the paper, which may overuse servers and links: ``check`` says by how much.
    tries
        As ``g_vne`` takes it.
    budget, keep
        As ``slot_greedy`` takes them.

    Guarantee: 1/(3 Gamma + 1) of the optimum, Gamma the largest ring size, for concave mu, with overuse of probability at
    most ``|V|^-4`` and ``|E|^-4`` a slot (Theorem 10). None for a sigmoid with a midpoint > 0, with repair, or where energy
    costs something. The objective ``max_min`` is refused (``UsageError``).

    Cost: that of T linear programs; a slot finds the mappings that were good before.
    """
    require_served(instance, "gadget")
    programs: list[MappingProgram] = []

    def solve_slot(network: Network, jobs: Sequence[int], gains: Gains) -> Slot:
        del jobs
        if not programs:
            programs.append(MappingProgram(network))
        return g_vne(network, gains, rng, tries=tries, repair=repair, program=programs[0]).slot

    return slot_greedy(instance, solve_slot, budget, keep)
