"""A cost table as a multiple-choice knapsack: a mixed-integer linear program in PuLP.

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

from dlsched.algorithms.cost_table import CostTable
from dlsched.core.labels import plain_labels

if TYPE_CHECKING:
    import pulp

Decode = Callable[[Mapping[str, float]], dict[str, int]]
"""From values of the variables to units by job, in the order of the table; those not named are 0."""


def build_choice_program(
    name: str, table: CostTable, ids: Sequence[str], capacity: int, *, tick: Callable[[], None] | None = None
) -> tuple["pulp.LpProblem", Decode]:
    """Build the model and the function that reads a choice from values of its variables.

    Parameters
    ----------
    name, table, ids, capacity
        The model's name, the costs, a name for every job of the table, and C.
    tick
        Called before every job; it may raise to stop.
    """
    import pulp

    labels = plain_labels(ids, "j")
    problem = pulp.LpProblem(name, pulp.LpMinimize)
    counts, costs, starts = table.counts.tolist(), table.costs.tolist(), table.starts.tolist()
    chosen: dict[str, tuple[str, int]] = {}
    objective, used, choices = [], [], []
    for job, label, begin, end in zip(ids, labels, starts[:-1], starts[1:], strict=True):
        if tick is not None:
            tick()
        choice = []
        for count, cost in zip(counts[begin:end], costs[begin:end], strict=True):
            variable = pulp.LpVariable(f"x_{label}_{count}", 0, 1, pulp.LpInteger)
            chosen[variable.name] = (job, count)
            objective.append((variable, cost))
            used.append((variable, count))
            choice.append((variable, 1))
        choices.append(pulp.LpConstraint(pulp.LpAffineExpression(choice), pulp.LpConstraintEQ, f"choice_{label}", 1))
    problem.setObjective(pulp.LpAffineExpression(objective))
    problem.addConstraint(pulp.LpConstraint(pulp.LpAffineExpression(used), pulp.LpConstraintLE, "capacity", capacity))
    for row in choices:
        problem.addConstraint(row)

    def decode(values: Mapping[str, float]) -> dict[str, int]:
        given = dict(chosen[variable] for variable, value in values.items() if value > 0.5)
        return {job: given[job] for job in ids if job in given}

    return problem, decode


def start_values(ids: Sequence[str], units: Mapping[str, int]) -> dict[str, float]:
    """Return units by job as values of the model's variables; those not named are 0."""
    labels = plain_labels(ids, "j")
    return {f"x_{label}_{units[job]}": 1.0 for job, label in zip(ids, labels, strict=True)}
