"""A cost table as a multiple-choice knapsack: a mixed-integer linear program, in PuLP or as arrays.

==================  ==================================================================
name                mathematics
==================  ==================================================================
``x_<job>_<n>``     x_jn = 1 if job j gets n units, binary
objective           minimise sum_jn cost_j(n) x_jn
``choice_<job>``    sum_n x_jn = 1
``capacity``        sum_jn n x_jn <= C
==================  ==================================================================
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.reduction import on_grid
from dlsched.core.limits import Tick, no_tick
from dlsched.core.messages import plain_labels
from dlsched.core.result import SolutionT
from dlsched.core.status import Sense
from dlsched.solvers.formulation import Decided, Formulation, Key, Variables
from dlsched.solvers.linear import LinearModel

if TYPE_CHECKING:
    import pulp


def build_choice_program(
    name: str,
    table: CostTable,
    ids: Sequence[str],
    capacity: int,
    solution: Callable[[dict[str, int]], SolutionT],
    *,
    means: str = "units",
    start: Mapping[str, int] | None = None,
    tick: Tick = no_tick,
) -> Formulation["pulp.LpProblem", SolutionT]:
    """Build the model in PuLP, with names ``ids`` of the jobs; ``solution`` converts counts by job, in the order of the table.

    ``means`` names the variables among ``Formulation.variables``, whose keys are job and count; ``start``: counts to start from.
    """
    import pulp

    labels = plain_labels(ids, "j")
    problem = pulp.LpProblem(name, pulp.LpMinimize)
    counts, costs, starts = table.counts.tolist(), table.costs.tolist(), table.starts.tolist()
    chosen: dict[str, tuple[str, int]] = {}
    variables: dict[Key, pulp.LpVariable] = {}
    objective, used, choices = [], [], []
    for job, label, begin, end in zip(ids, labels, starts[:-1], starts[1:], strict=True):
        tick()
        choice = []
        for count, cost in zip(counts[begin:end], costs[begin:end], strict=True):
            variable = pulp.LpVariable(f"x_{label}_{count}", 0, 1, pulp.LpInteger)
            chosen[variable.name] = (job, count)
            variables[job, count] = variable
            objective.append((variable, cost))
            used.append((variable, count))
            choice.append((variable, 1))
        choices.append(pulp.LpConstraint(pulp.LpAffineExpression(choice), pulp.LpConstraintEQ, f"choice_{label}", 1))
    problem.setObjective(pulp.LpAffineExpression(objective))
    problem.addConstraint(pulp.LpConstraint(pulp.LpAffineExpression(used), pulp.LpConstraintLE, "capacity", capacity))
    for row in choices:
        problem.addConstraint(row)

    def decode(values: Mapping[str, float]) -> SolutionT:
        counts = dict(chosen[name] for name, value in values.items() if value > 0.5 and name in chosen)
        return solution({job: counts[job] for job in ids if job in counts})

    def counts_in(answer: SolutionT) -> Decided:
        return {means: {(job, count): 1.0 for job, count in getattr(answer, means).items()}}

    begun = None if start is None else start_values(ids, start)
    return Formulation(problem, decode, start=begun, variables=Variables(**{means: variables}), chosen=counts_in)


def build_choice_arrays(
    table: CostTable,
    ids: Sequence[str],
    capacity: int,
    solution: Callable[[dict[str, int]], SolutionT],
    *,
    start: Mapping[str, int] | None = None,
    tick: Tick = no_tick,
) -> Formulation[LinearModel, SolutionT]:
    """Build the model as arrays for solvers, since PuLP takes seconds for ten thousand jobs; the smallest counts must fit.

    The row ``capacity`` counts units of ``reduction.on_grid``, beyond all but one of every job's least.
    """
    grid, room, _ = on_grid(table, capacity)
    labels = plain_labels(ids, "j")
    counts, starts = table.counts.tolist(), table.starts.tolist()
    names: list[str] = []
    for label, begin, end in zip(labels, starts, starts[1:], strict=False):
        tick()
        names += [f"x_{label}_{count}" for count in counts[begin:end]]
    model = LinearModel(
        sense=Sense.MINIMIZE,
        names=names,
        costs=table.costs,
        constant=0.0,
        lower=np.zeros(table.pairs),
        upper=np.ones(table.pairs),
        integer=np.ones(table.pairs, dtype=bool),
        row_names=["capacity", *(f"choice_{label}" for label in labels)],
        # The row ``capacity`` comes first, then ``choice``: every pair has one entry in each.
        row_starts=np.concatenate(([0], table.pairs + table.starts)),
        columns=np.tile(np.arange(table.pairs), 2),
        coefficients=np.concatenate((grid.counts.astype(np.float64), np.ones(table.pairs))),
        row_lower=np.concatenate(([-np.inf], np.ones(table.jobs))),
        row_upper=np.concatenate(([float(room)], np.ones(table.jobs))),
    )
    jobs = np.repeat(np.arange(table.jobs), table.lengths).tolist()

    def decode(values: Mapping[str, float]) -> SolutionT:
        chosen = [index for index, name in enumerate(names) if values.get(name, 0.0) > 0.5]
        return solution({ids[jobs[index]]: counts[index] for index in chosen})

    return Formulation(model, decode, start=None if start is None else start_values(ids, start))


def start_values(ids: Sequence[str], counts: Mapping[str, int]) -> dict[str, float]:
    """Return counts by job as values of the model's variables; all other variables are 0."""
    labels = plain_labels(ids, "j")
    return {f"x_{label}_{counts[job]}": 1.0 for job, label in zip(ids, labels, strict=True)}
