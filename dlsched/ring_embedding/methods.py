"""Methods of ring_embedding by name, as the catalogue lists them, and how the less simple ones run."""

from collections.abc import Callable, Sequence

from dlsched.catalogue.ring_embedding import LISTED
from dlsched.core.family import Run, bound_by, methods_of
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding import bounds, exact
from dlsched.ring_embedding.heuristics.baselines import in_time
from dlsched.ring_embedding.heuristics.slot_greedy import Keep, gadget, slot_greedy
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.objectives import objective_of, require_served
from dlsched.ring_embedding.rings.network import Gains, Network
from dlsched.ring_embedding.rings.placing import Slot
from dlsched.ring_embedding.slot.exact_slot import SLOT_NODES, best_slot
from dlsched.ring_embedding.solution import Embedding


def _of_objective(name: str) -> Run[Instance, Embedding]:
    """Run the function that the record of the instance's objective has under this name."""

    def follow(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
        status: TerminationStatus = getattr(objective_of(instance), name)(instance, search)
        return status

    return follow


def warm(instance: Instance, search: Search[Embedding]) -> None:
    """Offer the quick answer."""
    objective_of(instance).warm(instance, search)


def _warmed(run: Run[Instance, Embedding]) -> Run[Instance, Embedding]:
    """Run a method after offering the quick answer."""

    def follow(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
        warm(instance, search)
        return run(instance, search)

    return follow


def run_columns(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    """Run the bound of column generation; UsageError for the objective ``max_min``."""
    require_served(instance, "columns")
    return bounds.run_columns(instance, search)


def _slot_greedy(instance: Instance, search: Search[Embedding], keep: Keep) -> Embedding:
    """Run the exact slot greedy; a message counts the slots whose best increase is unproven."""
    open_slots = 0

    def solve_slot(network: Network, jobs: Sequence[int], gains: Gains) -> Slot:
        nonlocal open_slots
        del jobs
        found = best_slot(network, gains, search.generator, nodes=SLOT_NODES)
        open_slots += not found.proven
        return found.slot

    found = slot_greedy(instance, solve_slot, search.budget, keep)
    if open_slots:
        search.say(f"the best increase was not proven in {open_slots} slots")
    return found


run_exact, run_plan, run_bound = map(_of_objective, ("run_exact", "run_plan", "run_bound"))
run_milp = _warmed(exact.run_milp)
run_arc = _warmed(exact.run_arc)
run_circuit = _warmed(exact.run_circuit)
run_slot_greedy = in_time("slot-greedy", _slot_greedy)
# With our repair; the paper's form, which may break capacities, is ``gadget(..., repair=False)``.
run_gadget = in_time(
    "gadget", lambda instance, search, keep: gadget(instance, search.generator, budget=search.budget, keep=keep)
)


def _baseline(name: str, function: Callable[..., Embedding]) -> Run[Instance, Embedding]:
    """Run a function of an instance, a ``budget`` and a ``keep`` for its slots if it is stopped."""

    def follow(instance: Instance, search: Search[Embedding], keep: Keep) -> Embedding:
        return function(instance, budget=search.budget, keep=keep)

    return in_time(name, follow)


METHODS = methods_of(
    LISTED,
    heuristic=_baseline,
    bound=lambda name, function: bound_by(lambda instance, search: function(instance, search.budget)),
)
