"""First answers of a search: those of the policies, and the best of them improved by annealing."""

from collections.abc import Sequence

from numpy.random import default_rng

from dlsched.core.limits import Stopped
from dlsched.core.search import Search
from dlsched.srpt_mapping.dispatching.annealing import anneal
from dlsched.srpt_mapping.dispatching.plan import plan
from dlsched.srpt_mapping.heuristics import WARM, one_by_one
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.named_policies import POLICIES
from dlsched.srpt_mapping.solution import Schedule


def warm(instance: Instance, search: Search[Schedule]) -> None:
    """Hold the answer of a policy or, if a limit stops even that, of a faster rule."""
    try:
        search.offer(POLICIES[WARM](instance, tick=search.tick), source=WARM)
    except (Stopped, KeyboardInterrupt):
        search.offer(one_by_one(instance), source="one by one")
        raise


def offer_policies(instance: Instance, search: Search[Schedule], *, nodes: int = 1) -> list[Schedule]:
    """Hold the best answer of all policies; return it, the one held before, and theirs. Each counts as ``nodes`` nodes."""
    schedules = [search.incumbent]
    for name, policy in POLICIES.items():
        if name != WARM:
            search.tick(nodes)
            found = policy(instance, tick=search.tick)
            assert found is not None  # there is an incumbent
            search.offer(found, source=name)
            schedules.append(found)
    return [search.incumbent, *schedules]


def anneal_held(instance: Instance, search: Search[Schedule], start: Schedule) -> None:
    """Simulated annealing over orders, with random numbers of its own: the same steps from the same start, whoever calls."""

    def better(schedule: Schedule) -> None:
        search.offer(schedule, source="annealing")

    anneal(instance, start, default_rng(search.seed), tick=search.tick, better=better)


def plan_held(instance: Instance, search: Search[Schedule], schedules: Sequence[Schedule]) -> None:
    """The plan from some schedules, and from prices; random as ``anneal_held``."""

    def better(schedule: Schedule) -> None:
        search.offer(schedule, source="plan")

    plan(instance, schedules, default_rng(search.seed), tick=search.tick, better=better)
