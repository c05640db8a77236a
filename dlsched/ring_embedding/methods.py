"""The methods of ring_embedding by name, as ``solve`` and the command line run them."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from dlsched.catalogue.solvers import able
from dlsched.core.family import Method, Run
from dlsched.core.methods import bound_by
from dlsched.core.result import Certificate
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding import guarantees
from dlsched.ring_embedding.bounds import run_bound, run_columns
from dlsched.ring_embedding.exact.horizon import run_exact, run_plan
from dlsched.ring_embedding.exact.programs import run_arc, run_circuit, run_milp
from dlsched.ring_embedding.heuristics import baselines
from dlsched.ring_embedding.heuristics.gadget import gadget
from dlsched.ring_embedding.heuristics.slot_greedy import Keep, require_sum, slot_greedy
from dlsched.ring_embedding.heuristics.warm import in_time, warm
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.max_min import running, serving
from dlsched.ring_embedding.rings.network import Gains, Network
from dlsched.ring_embedding.rings.placing import Slot
from dlsched.ring_embedding.slot.exact_slot import SLOT_NODES, best_slot
from dlsched.ring_embedding.solution import Embedding

Ended = TypeVar("Ended")


def _either(
    of_sum: Callable[[Instance, Search[Embedding]], Ended], of_least: Callable[[Instance, Search[Embedding]], Ended]
) -> Callable[[Instance, Search[Embedding]], Ended]:
    """The one for the objective ``sum``, the other for ``max_min``."""

    def run(instance: Instance, search: Search[Embedding]) -> Ended:
        return (of_least if instance.objective == "max_min" else of_sum)(instance, search)

    return run


_warm = _either(warm, running.warm)


def _warmed(run: Run[Instance, Embedding]) -> Run[Instance, Embedding]:
    """Run a method from what is found at once on."""

    def follow(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
        _warm(instance, search)
        return run(instance, search)

    return follow


def _columns(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
    require_sum(instance, "columns")
    return run_columns(instance, search)


def _slot_greedy(instance: Instance, search: Search[Embedding], keep: Keep) -> Embedding:
    """The exact slot greedy; it says in how many slots the best increase was not proven."""
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


def _gadget(instance: Instance, search: Search[Embedding], keep: Keep) -> Embedding:
    """GADGET with our repair; the paper's form, which may break capacities, is ``gadget(..., repair=False)``."""
    return gadget(instance, search.generator, budget=search.budget, keep=keep)


def _baseline(name: str, function: Callable[..., Embedding]) -> Method[Instance, Embedding]:
    """A function of an instance, a ``budget`` and ``keep``, which takes what it has when it is stopped (``slot_by_slot``)."""

    def follow(instance: Instance, search: Search[Embedding], keep: Keep) -> Embedding:
        return function(instance, budget=search.budget, keep=keep)

    return Method(name, "heuristic", in_time(name, follow))


def _bound(name: str, function: Callable[..., Certificate]) -> Method[Instance, Embedding]:
    return Method(name, "bound", bound_by(lambda instance, search: function(instance, search.budget)))


METHODS = {
    method.name: method
    for method in (
        Method("exact", "exact", _either(run_exact, _warmed(running.run_exact)), seeded=True, warm=_warm),
        Method("milp", "exact", _warmed(run_milp), solvers=able("milp"), warm=_warm),
        Method("arc", "exact", _warmed(run_arc), solvers=able("milp"), warm=_warm),
        Method("circuit", "exact", _warmed(run_circuit), solvers=able("circuits"), warm=_warm),
        Method("plan", "heuristic", _either(run_plan, running.run_plan)),
        Method("slot-greedy", "heuristic", in_time("slot-greedy", _slot_greedy), guarantees.HALF, seeded=True),
        Method("gadget", "heuristic", in_time("gadget", _gadget), seeded=True),
        _baseline("density", baselines.density),
        _baseline("fifo", baselines.fifo),
        _baseline("las", baselines.las),
        _baseline("drf", baselines.drf),
        Method("bound", "bound", _either(run_bound, running.run_bound)),
        Method("columns", "bound", _columns),
        _bound("horizon", serving.horizon),
        _bound("aggregated", serving.aggregated),
    )
}
