"""The methods of ring_embedding by name, as ``solve`` and the command line run them."""

from collections.abc import Sequence

from dlsched.core.family import Method, bound_by, heuristic
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding import baselines, guarantees, relaxation
from dlsched.ring_embedding.bounding import run_bound, run_columns
from dlsched.ring_embedding.by_model import run_arc, run_circuit, run_milp
from dlsched.ring_embedding.checker import infeasible
from dlsched.ring_embedding.exact import SLOT_NODES, run_exact, run_plan
from dlsched.ring_embedding.exact_slot import best_slot
from dlsched.ring_embedding.gadget import gadget
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.network import Network
from dlsched.ring_embedding.placing import Slot
from dlsched.ring_embedding.slot_greedy import Gains, slot_greedy
from dlsched.ring_embedding.solution import Embedding


def run_slot_greedy(instance: Instance, search: Search) -> TerminationStatus:
    """The exact slot greedy; it says in how many slots the best increase was not proven."""
    open_slots = 0

    def solve_slot(network: Network, jobs: Sequence[int], gains: Gains) -> Slot:
        nonlocal open_slots
        del jobs
        found = best_slot(
            network, gains, search.generator, nodes=SLOT_NODES, limits=lambda: search.left, tick=search.tick
        )
        open_slots += not found.proven
        return found.slot

    def keep(found: Embedding) -> None:
        search.offer(found, source="slot-greedy")

    keep(slot_greedy(instance, solve_slot, tick=search.tick, stopped=keep))
    if open_slots:
        search.say(f"the best increase was not proven in {open_slots} slots")
    return TerminationStatus.FEASIBLE


def run_gadget(instance: Instance, search: Search) -> TerminationStatus:
    """GADGET with our repair; the paper's form, which may break capacities, is ``gadget(..., repair=False)``."""

    def keep(found: Embedding) -> None:
        search.offer(found, source="gadget")

    keep(gadget(instance, search.generator, tick=search.tick, stopped=keep))
    return TerminationStatus.FEASIBLE


METHODS = {
    method.name: method
    for method in (
        Method("exact", "exact", run_exact, seeded=True),
        Method("milp", "exact", run_milp, solvers=("highs", "cbc", "scip")),
        Method("arc", "exact", run_arc, solvers=("highs", "cbc", "scip")),
        Method("circuit", "exact", run_circuit, solvers=("cpsat",)),
        Method("plan", "heuristic", run_plan),
        Method("slot-greedy", "heuristic", run_slot_greedy, guarantees.HALF, seeded=True),
        Method("gadget", "heuristic", run_gadget, seeded=True),
        Method("density", "heuristic", heuristic("density", baselines.density, infeasible)),
        Method("fifo", "heuristic", heuristic("fifo", baselines.fifo, infeasible)),
        Method("las", "heuristic", heuristic("las", baselines.las, infeasible)),
        Method("drf", "heuristic", heuristic("drf", baselines.drf, infeasible)),
        Method("bound", "bound", run_bound),
        Method("columns", "bound", run_columns),
        Method(
            "horizon",
            "bound",
            bound_by(lambda instance, search: relaxation.horizon(instance, tick=search.tick), infeasible),
        ),
        Method(
            "aggregated",
            "bound",
            bound_by(lambda instance, search: relaxation.aggregated(instance, tick=search.tick), infeasible),
        ),
    )
}
