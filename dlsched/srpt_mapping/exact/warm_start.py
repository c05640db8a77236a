"""First answers of a search: those of the policies, and the best of them improved by annealing."""

from dlsched.core.budget import Stopped
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


def offer_policies(instance: Instance, search: Search[Schedule], *, nodes: int = 1) -> None:
    """Hold the best answer of all policies; each counts as ``nodes`` nodes."""
    for name, policy in POLICIES.items():
        if name != WARM:
            search.tick(nodes)
            search.offer(policy(instance, tick=search.tick), source=name)


def anneal_held(instance: Instance, search: Search[Schedule]) -> None:
    """Simulated annealing over orders from the answer held on."""

    def better(schedule: Schedule) -> None:
        search.offer(schedule, source="annealing")

    anneal(instance, search.incumbent, search.generator, tick=search.tick, better=better)


def plan_held(instance: Instance, search: Search[Schedule]) -> None:
    """The plan from every policy's answer, and from prices."""

    def better(schedule: Schedule) -> None:
        search.offer(schedule, source="plan")

    schedules = [search.incumbent]
    for policy in POLICIES.values():
        found = policy(instance, tick=search.tick)
        assert found is not None  # there is an incumbent
        search.offer(found, source="plan")
        schedules.append(found)
    plan(instance, schedules, search.generator, tick=search.tick, better=better)
