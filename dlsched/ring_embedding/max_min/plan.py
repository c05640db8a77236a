"""The heuristic ``plan`` for max_min: levels of the relaxation set quotas, for which rings are placed.

1. *Levels.* The largest level that all jobs can have in the relaxation (``bounds.Water``); the jobs that hold it down keep their
   quotas, the others rise to the next level, and so on.
2. *Rings.* Quotas are spread over the slots as the relaxation spreads them, as ``heuristics.plan`` does.
3. *Filling and repair.* ``max_min.filling``.

Where the least utility stays below the first level, 2 and 3 begin again: from quotas a little lower, and from the largest rings
of every slot.

The plan has no guarantee by itself; the relaxation's certificate bounds it. Ours; it fills progressively, as
max-min fairness does in networks (Bertsekas and Gallager 1992, section 6.5).
"""

from collections.abc import Callable

from dlsched.core.gap import meets
from dlsched.core.limits import Budget
from dlsched.ring_embedding.checker import utilities
from dlsched.ring_embedding.heuristics.plan import Plan
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.max_min.bounds import Water
from dlsched.ring_embedding.max_min.filling import Filling
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.solution import Embedding

LEVELS = 40
"""Largest number of levels of the relaxation that the plan follows."""
_LOWER = 0.97  # of the first level: the lower level whose quotas leave some room


def plan(instance: Instance, budget: Budget | None = None) -> Embedding:
    """Follow the relaxation's levels of utility (see the module).

    Guarantee: none; ``horizon`` bounds its least utility.

    Cost: linear programs, some for each level, then one search for servers per worker.
    """
    water, made = Water(instance, budget), list[Embedding]()
    most = raise_levels(water)

    def keep(found: Embedding) -> bool:
        made.append(found)
        return meets(ascending(instance, found)[0], most)

    place(Network(instance, budget), water, most, keep)
    return max(made, key=lambda found: ascending(instance, found))


def ascending(instance: Instance, embedding: Embedding) -> list[float]:
    """Utilities of all jobs, the least first."""
    return sorted(utilities(instance, embedding).values())


def raise_levels(water: Water, first: Callable[[], None] = lambda: None) -> float:
    """Step 1; ``first`` is called at the first level, which is returned, or the least maximum of a job if lower."""
    most = float(water.quotas.tops.max())
    water.rise(most)
    least = min(water.level, float(water.quotas.tops.min()))
    first()
    for _ in range(LEVELS):
        if not water.fix():
            break
        water.rise(most)
    return least


def place(network: Network, water: Water, least: float, keep: Callable[[Embedding], bool]) -> None:
    """Steps 2 and 3, from one start after another until ``keep`` accepts a plan; it also receives unfinished ones."""

    def lower() -> Water:
        other = Water(network.instance, network.budget)
        other.rise(_LOWER * least)
        return other

    for start in (lambda: water, lower, None):
        made = Plan(network)
        try:
            if start is None:
                made.concentrate()
            else:
                held = start()
                made.follow(held.program.by_epoch(held.program.point), held.wanted())
            filling = Filling(made)
            filling.fill()
            filling.repair()
        finally:
            enough = keep(made.embedding())
        if enough:
            break
