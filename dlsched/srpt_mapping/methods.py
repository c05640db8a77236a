"""Methods of srpt_mapping by name, as the catalogue lists them, and how the less simple ones run."""

from dlsched.catalogue.srpt_mapping import LISTED
from dlsched.core.family import Run, bound_in_ticks, heuristic, methods_of
from dlsched.core.limits import Tick, no_tick
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.solvers.conclude import settled, solve_and_conclude
from dlsched.srpt_mapping import bounds
from dlsched.srpt_mapping.exact import (
    Closing,
    anneal_incumbent,
    offer_policies,
    plan_incumbent,
    prove_all_prices,
    prove_packing,
    prove_prices,
    warm,
)
from dlsched.srpt_mapping.formulations.milp import build_milp
from dlsched.srpt_mapping.heuristics import fifo, one_by_one
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.layouts import layouts
from dlsched.srpt_mapping.slices import SLICE_RULES
from dlsched.srpt_mapping.solution import Schedule


def run_intervals(instance: Instance, search: Search[Schedule]) -> TerminationStatus:
    """Run CP-SAT with intervals, block by block, in finer units until proven; UsageError: too many layouts."""
    warm(instance, search)
    closing = Closing(instance, layouts(instance, tick=search.tick), search)
    try:
        status = TerminationStatus.OPTIMAL
        for index in closing.open():
            status = closing.by_intervals(index)
            if status not in (TerminationStatus.OPTIMAL, TerminationStatus.FEASIBLE):
                return status
            if status is TerminationStatus.FEASIBLE:
                search.say("rounding to whole numbers leaves a gap in the finest unit of time")
    finally:
        closing.conclude()
    return settled(search, status, search.solver_version or "certificate")


def run_milp(instance: Instance, search: Search[Schedule]) -> TerminationStatus:
    """The mixed-integer linear program over layouts; UsageError: too many layouts or rows."""
    warm(instance, search)
    return solve_and_conclude(search, build_milp(instance, tick=search.tick))


def run_annealing(instance: Instance, search: Search[Schedule]) -> TerminationStatus:
    """Run every policy, then simulated annealing over orders from the best one; stops at a limit."""
    warm(instance, search)
    anneal_incumbent(instance, search, offer_policies(instance, search, nodes=0)[0])
    return TerminationStatus.FEASIBLE


def run_plan(instance: Instance, search: Search[Schedule]) -> TerminationStatus:
    """Run every policy, then place and anneal orders from these and from prices; UsageError: too many jobs."""
    warm(instance, search)
    plan_incumbent(instance, search, offer_policies(instance, search, nodes=0))
    return TerminationStatus.FEASIBLE


def run_bound(instance: Instance, search: Search[Schedule]) -> TerminationStatus:
    """The best of all bounds, or the best so far if a limit stops it."""
    search.certify(bounds.combined(instance, tick=search.tick))
    prove_all_prices(instance, search)
    return TerminationStatus.FEASIBLE


def run_packing(instance: Instance, search: Search[Schedule]) -> TerminationStatus:
    """The bound of the best prices of single jobs found, or the best so far if a limit stops it; UsageError: too large."""
    prove_packing(instance, search)
    return TerminationStatus.FEASIBLE


def run_prices(instance: Instance, search: Search[Schedule]) -> TerminationStatus:
    """The bound of the best prices found, or the best so far if a limit stops it."""
    prove_prices(instance, search)
    return TerminationStatus.FEASIBLE


def _run_slices(rule: str) -> Run[Instance, Schedule]:
    """Backfilling in the order of release, with a rule that places jobs on slices."""

    def policy(instance: Instance, *, tick: Tick = no_tick) -> Schedule | None:
        return fifo(instance, backfill=True, slices=rule, tick=tick)

    return heuristic(rule, policy, one_by_one)


run_first_fit, run_best_fit, run_dot_product, run_fgd = map(_run_slices, SLICE_RULES)

METHODS = methods_of(
    LISTED, heuristic=lambda name, function: heuristic(name, function, one_by_one), bound=bound_in_ticks
)
