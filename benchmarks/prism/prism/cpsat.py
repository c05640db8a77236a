"""prism by CP-SAT, in integers: placements of less and less pressure, until CP-SAT proves that there is none of less.

With loads a_i / D, sizes b_i / E and memory c / E, a GPU has less pressure than p / q if and only if
sum_i (q E a_i + p D b_i) x_ig <= p D c - 1. Nothing here is shared with the search over sets but the instance and the checker.
"""

from fractions import Fraction
from math import lcm

from dlsched.certificates import rounded_down
from dlsched.core.errors import UsageError
from dlsched.core.result import FrozenMapping
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from prism.checker import largest_pressure
from prism.instance import Instance
from prism.solution import Placement

_LARGEST = 2**50
"""Sums of rows stay below this."""


def require(instance: Instance) -> None:
    """Refuse instances whose rows could leave what CP-SAT adds up (UsageError)."""
    loads, sizes = _scaled(instance)
    (per_load, a), (per_gb, b) = loads, sizes
    largest = per_gb * per_load * sum(a) * (sum(b) + b[-1])
    if largest > _LARGEST:
        found = f"loads and sizes that are integers only when scaled by {per_load} and {per_gb}"
        raise UsageError(where="method cpsat", found=found, allowed="numbers with fewer digits")


def run(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """Ask for a placement below the incumbent until there is none; a node is a conflict."""
    from ortools.sat.python import cp_model

    from dlsched.solvers import cpsat

    (per_load, loads), (per_gb, (*sizes, memory)) = _scaled(instance)
    search.solver_version = cpsat.version()
    while True:
        model = cp_model.CpModel()
        # model i is on one of the first i + 1 GPUs: GPUs are alike
        on = [[model.new_bool_var("") for _ in range(min(i + 1, instance.gpus))] for i in range(len(loads))]
        for choices in on:
            model.add_exactly_one(choices)
        if search.solution is None:
            items, room = sizes, memory - 1
        else:
            p, q = largest_pressure(instance, search.solution).as_integer_ratio()
            items = [q * per_gb * load + p * per_load * size for load, size in zip(loads, sizes, strict=True)]
            room = p * per_load * memory - 1
        for gpu in range(instance.gpus):
            model.add(
                sum(item * choices[gpu] for item, choices in zip(items, on, strict=True) if gpu < len(choices)) <= room
            )
        limits = search.left
        code, solver, _ = cpsat.run(model, limits)
        search.budget.nodes += solver.num_conflicts
        if code == cp_model.INFEASIBLE:
            if search.solution is None:
                return TerminationStatus.INFEASIBLE
            search.prove(rounded_down(largest_pressure(instance, search.solution)), source=search.solver_version)
            return TerminationStatus.OPTIMAL
        if code not in (cp_model.FEASIBLE, cp_model.OPTIMAL):
            return cpsat.status_of(code, limits, solver)
        gpus = [next(gpu for gpu, choice in enumerate(choices) if solver.value(choice)) for choices in on]
        ids = [each.id for each in instance.jobs]
        search.offer(Placement(FrozenMapping(dict(zip(ids, gpus, strict=True)))), source=search.solver_version)


def _scaled(instance: Instance) -> tuple[tuple[int, list[int]], tuple[int, list[int]]]:
    """Denominator and integers of the loads, and of the sizes with the memory last."""
    loads = [model.load for model in instance.jobs]
    sizes = [Fraction(size) for size in (*(model.size_gb for model in instance.jobs), instance.memory_gb)]
    per_load, per_gb = (lcm(*(number.denominator for number in each)) for each in (loads, sizes))
    return (per_load, [int(load * per_load) for load in loads]), (per_gb, [int(size * per_gb) for size in sizes])
