"""matching_placement over configurations: their listing, and a mixed-integer linear program in PuLP.

A configuration c of a job says how many workers of each type it gets; J_i(c) is the time that the job then takes.

============================  ====================================================================
name                          mathematics
============================  ====================================================================
``x_<job>_<c1>_<c2>_...``     x_ic = 1 if job i gets c1 workers of the first type ..., binary
objective                     minimise (1/S) sum_ic J_i(c) x_ic, mean seconds; ``alpha_fair``: maximise sum_ic U_i(c) x_ic;
                              ``max_rho``: minimise ``rho``, a variable >= 0
``choice_<job>``              sum_c x_ic = 1
``stock_<type>``              sum_ic c_g x_ic <= s_g
``largest_<job>``             ``max_rho`` only: sum_c J_i(c) / J_i(equal share) x_ic <= rho
============================  ====================================================================

With more than ``SPELT`` types one number stands for the counts, sum_g c_g (s_1 + 1) ... (s_{g-1} + 1). A job without a
configuration has one column, ``x_<job>_none``, that is 0: the model is infeasible. A type that no column uses has no row.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from dlsched.algorithms.count_vectors import all_vectors, number_of_vectors, undominated
from dlsched.core.errors import SolverError, UsageError
from dlsched.core.limits import Tick, TooMany, no_tick
from dlsched.core.messages import plain_labels
from dlsched.core.search import Search
from dlsched.core.status import Sense, TerminationStatus
from dlsched.matching_placement.arrays import Arrays, Counts, arrays, counts_of, placement
from dlsched.matching_placement.configurations.thresholds import HAIR
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.objectives import objective_of
from dlsched.matching_placement.solution import Placement
from dlsched.solvers.formulation import Decided, Formulation, Key, Variables, extendable
from dlsched.solvers.milp import solve_milp
from dlsched.solvers.outcome import Outcome

if TYPE_CHECKING:
    import pulp


def count_configurations(data: Arrays, job: int) -> int:
    """Number of configurations of a job, without listing them; cost O(G max_i)."""
    return number_of_vectors(data.stock[data.able(job)], int(data.least[job]), int(data.most[job]))


def configurations(data: Arrays, job: int) -> Counts:
    """List the configurations of a job, shape (N, G), in lexicographic order."""
    able = data.able(job)
    rows = all_vectors(data.stock[able], int(data.least[job]), int(data.most[job]))
    counts = np.zeros((len(rows), data.types), dtype=np.int64)
    counts[:, able] = rows
    return counts


LARGEST = 200_000
"""Largest number of columns; measured, 18,000 are built in .4 s."""
LARGEST_CELLS = 4_000_000
"""Largest number of columns times types: counts that the columns hold."""
SPELT = 8
"""Largest number of types with which a column's name spells its counts."""


@extendable("milp")
def build_milp(
    instance: Instance,
    *,
    complete: bool = False,
    columns: Sequence[Counts] | None = None,
    drop_dominated: bool = False,
    most: float = np.inf,
    within: bool = False,
    tick: Tick = no_tick,
) -> "Formulation[pulp.LpProblem, Placement]":
    """Build the model; ``variables.counts[job, type]`` is the number of workers of that type that the job gets.

    ``complete`` keeps every placement, up to which workers of a type a job gets: all configurations, as by default, but it
    refuses the arguments that leave some out. ``columns``: configurations of every job, shape (N_i, G), without repetition;
    None: all. ``drop_dominated`` leaves out those no faster than another with no more workers of any type, ``most`` those
    that cost more (``Arrays.cost``): with the total cost of a known placement no better one is lost, and vast costs do not
    drown the others. ``within`` asks for any placement: no objective, and neither ``rho`` nor its rows. UsageError: more than
    ``LARGEST`` columns, or ``LARGEST_CELLS`` counts in them; or ``complete`` beside what leaves out placements.
    """
    import pulp

    if complete and (columns is not None or drop_dominated or most < np.inf):
        raise UsageError(
            "complete keeps all placements; columns, drop_dominated and most exclude some: use one or the other"
        )

    data = arrays(instance)
    sizes = require_size(data, columns, tick)
    labels = plain_labels([job.id for job in instance.jobs], "j")
    configuration_of: dict[str, tuple[int, list[int]]] = {}
    objective, choices, largest = [], [], []
    rho = pulp.LpVariable("rho", 0) if data.bottleneck and not within else None
    stock: list[list[tuple[pulp.LpVariable, int]]] = [[] for _ in instance.types]
    counted: dict[Key, pulp.LpAffineExpression] = {}
    for job, (label, size) in enumerate(zip(labels, sizes, strict=True)):
        # columns of this job, its part of every row; positions at which its terms of the stock rows begin
        choice, ratios = [], [(rho, -1.0)]
        begins = [len(used) for used in stock]
        for row, worth in zip(*_columns(data, job, columns, size, drop_dominated, most), strict=True):
            tick()
            variable = pulp.LpVariable(_name(data, label, row), 0, 1, pulp.LpInteger)
            configuration_of[variable.name] = job, row
            objective.append((variable, worth))
            ratios.append((variable, worth))
            choice.append((variable, 1))
            for kind, count in enumerate(row):
                if count:
                    stock[kind].append((variable, count))
        for type_, used, begin in zip(instance.types, stock, begins, strict=True):
            counted[instance.jobs[job].id, type_] = pulp.LpAffineExpression(used[begin:])
        choice = choice or [(pulp.LpVariable(f"x_{label}_none", 0, 0, pulp.LpInteger), 1)]
        choices.append(pulp.LpConstraint(pulp.LpAffineExpression(choice), pulp.LpConstraintEQ, f"choice_{label}", 1))
        if rho is not None:
            terms = pulp.LpAffineExpression(ratios)
            largest.append(pulp.LpConstraint(terms, pulp.LpConstraintLE, f"largest_{label}", 0))
    maximised = objective_of(instance).sense is Sense.MAXIMIZE
    problem = pulp.LpProblem("matching_placement", pulp.LpMaximize if maximised else pulp.LpMinimize)
    problem.setObjective(pulp.LpAffineExpression([] if within else objective if rho is None else [(rho, 1)]))
    for row in [*choices, *largest]:
        problem.addConstraint(row)
    for label, used, most_used in zip(plain_labels(list(instance.types), "g"), stock, data.stock.tolist(), strict=True):
        if used:
            terms = pulp.LpAffineExpression(used)
            problem.addConstraint(pulp.LpConstraint(terms, pulp.LpConstraintLE, f"stock_{label}", most_used))

    def decode(values: Mapping[str, float]) -> Placement:
        counts = np.zeros((data.jobs, data.types), dtype=np.int64)
        for name, (job, row) in configuration_of.items():
            if values.get(name, 0.0) > 0.5:
                counts[job] = row
        return placement(instance, counts)

    def counts_in(solution: Placement) -> Decided:
        counts = counts_of(instance, solution).ravel().tolist()
        pairs = product((job.id for job in instance.jobs), instance.types)
        return {"counts": dict(zip(pairs, map(float, counts), strict=True))}

    return Formulation(problem, decode, variables=Variables(counts=counted), chosen=counts_in)


def require_size(data: Arrays, columns: Sequence[Counts] | None, tick: Tick) -> list[int]:
    """Number of columns of every job; the errors of ``build_milp``."""
    sizes = [0] * data.jobs
    allowed = min(LARGEST, LARGEST_CELLS // data.types)
    for job in range(data.jobs):
        tick()
        sizes[job] = count_configurations(data, job) if columns is None else len(columns[job])
        if sum(sizes) > allowed:
            raise UsageError(
                f"the model has {sum(sizes)} columns or more, a job's worker counts by type, allowed: up to {allowed}"
            )
    return sizes


def _columns(
    data: Arrays, job: int, columns: Sequence[Counts] | None, size: int, drop_dominated: bool, most: float
) -> tuple[list[list[int]], list[float]]:
    """Configurations of a job, and their parts of the mean, the utilities or the ratios."""
    if not size:
        return [], []
    counts = configurations(data, job) if columns is None else columns[job]
    costs = data.cost(job, counts)
    if drop_dominated:
        best = undominated(counts, costs)
        counts, costs = counts[best], costs[best]
    counts, costs = counts[costs <= most], costs[costs <= most]
    return counts.tolist(), data.costs.parts(job, costs, data.times(job, counts)).tolist()


def _name(data: Arrays, label: str, row: list[int]) -> str:
    """Name of a column; one number stands for many counts."""
    if len(row) <= SPELT:
        return f"x_{label}_{'_'.join(map(str, row))}"
    # mixed radix: the digit of a type runs from 0 to its stock
    number = 0
    for count, most in zip(reversed(row), reversed(data.stock.tolist()), strict=True):
        number = number * (most + 1) + count
    return f"x_{label}_{number}"


def by_programs(instance: Instance, search: Search[Placement]) -> TerminationStatus:
    """Bisect the ratios that configurations can have, below the incumbent's; UsageError as ``build_milp``."""
    data = arrays(instance)
    require_size(data, None, search.tick)
    listed = [configurations(data, job) for job in range(data.jobs)]
    ratios = np.unique(np.concatenate([data.cost(job, counts) for job, counts in enumerate(listed)]))
    incumbent = data.total(counts_of(instance, search.incumbent))
    ratios = ratios[ratios < incumbent * (1 - HAIR)]
    first, last = 0, len(ratios)  # ratios[last] is feasible, or the incumbent's; those before first are not
    middle = last - 1
    while first < last:
        outcome = _solve_within(instance, data, listed, float(ratios[middle]), search)
        if outcome.status is TerminationStatus.INFEASIBLE:
            first = middle + 1
            search.prove(float(ratios[first]) if first < len(ratios) else incumbent, source=outcome.solver)
        elif outcome.values is not None:
            last = middle
        else:
            search.say(outcome.message)
            return outcome.status
        middle = (first + last) // 2
    if search.proven:
        return TerminationStatus.OPTIMAL
    return search.optimal(search.solver_version or "no smaller ratio")


def within(instance: Instance, data: Arrays, listed: Sequence[Counts], search: Search[Placement]) -> Counts | None:
    """A placement of the configurations listed, by HiGHS, or None. TooMany: too many for a program. SolverError: undecided."""
    if sum(map(len, listed)) > LARGEST:
        raise TooMany
    outcome = _solve_within(instance, data, listed, np.inf, search)
    if outcome.status is TerminationStatus.INFEASIBLE:
        return None
    if outcome.values is None:
        raise SolverError(f"{outcome.solver} ended with {outcome.status} {outcome.message}")
    return counts_of(instance, search.incumbent)


def _solve_within(
    instance: Instance, data: Arrays, listed: Sequence[Counts], rho: float, search: Search[Placement]
) -> Outcome:
    """Ask a solver for a placement within a ratio, and offer it to the search."""
    columns = [counts[data.cost(job, counts) <= rho] for job, counts in enumerate(listed)]
    search.report(f"{search.solver or 'highs'} on {sum(map(len, columns))} configurations")
    built = build_milp(instance, columns=columns, drop_dominated=True, within=True, tick=search.tick)
    outcome = solve_milp(built.model, solver=search.solver or "highs", limits=search.left)
    search.budget.nodes += outcome.nodes or 0
    search.solver_version = outcome.solver
    if outcome.values is not None:
        search.offer(built.decode(outcome.values), source=outcome.solver)
    return outcome
