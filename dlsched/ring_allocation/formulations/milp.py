"""ring_allocation as a multiple-choice knapsack: a mixed-integer linear program in PuLP.

==================  ==================================================================
name                mathematics
==================  ==================================================================
``x_<job>_<n>``     x_jn = 1 if job j gets n GPUs, binary
objective           minimise sum_jn cost_j(n) x_jn
``choice_<job>``    sum_n x_jn = 1
``capacity``        sum_jn n x_jn <= C
==================  ==================================================================
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from dlsched.algorithms.dominance import undominated
from dlsched.core.labels import plain_labels
from dlsched.ring_allocation.costs import cost_table
from dlsched.ring_allocation.instance import Instance
from dlsched.ring_allocation.solution import Allocation

if TYPE_CHECKING:
    import pulp

Decode = Callable[[Mapping[str, float]], Allocation]


def build_milp(
    instance: Instance,
    *,
    drop_dominated: bool = False,
    tick: Callable[[], None] | None = None,
) -> tuple["pulp.LpProblem", Decode]:
    """Build the model and the function that reads an allocation from values of its variables.

    Parameters
    ----------
    instance
        Any valid instance.
    drop_dominated
        Leave out counts that cost no less than a smaller count of the same job; the optimum stays.
    tick
        Called before every job; it may raise to stop.

    Raises
    ------
    UsageError
        More pairs than ``costs.LARGEST_TABLE``.
    """
    import pulp

    table = cost_table(instance)
    if drop_dominated:
        table = table.subset(undominated(table))
    labels = plain_labels([job.id for job in instance.jobs], "j")
    problem = pulp.LpProblem("ring_allocation", pulp.LpMinimize)
    counts, costs, starts = table.counts.tolist(), table.costs.tolist(), table.starts.tolist()
    chosen: dict[str, tuple[str, int]] = {}
    objective, capacity, choices = [], [], []
    for job, label, begin, end in zip(instance.jobs, labels, starts[:-1], starts[1:], strict=True):
        if tick is not None:
            tick()
        choice = []
        for count, cost in zip(counts[begin:end], costs[begin:end], strict=True):
            variable = pulp.LpVariable(f"x_{label}_{count}", 0, 1, pulp.LpInteger)
            chosen[variable.name] = (job.id, count)
            objective.append((variable, cost))
            capacity.append((variable, count))
            choice.append((variable, 1))
        choices.append(pulp.LpConstraint(pulp.LpAffineExpression(choice), pulp.LpConstraintEQ, f"choice_{label}", 1))
    problem.setObjective(pulp.LpAffineExpression(objective))
    problem.addConstraint(
        pulp.LpConstraint(pulp.LpAffineExpression(capacity), pulp.LpConstraintLE, "capacity", instance.gpus)
    )
    for row in choices:
        problem.addConstraint(row)

    def decode(values: Mapping[str, float]) -> Allocation:
        given = dict(chosen[name] for name, value in values.items() if value > 0.5)
        return Allocation({job.id: given[job.id] for job in instance.jobs if job.id in given})

    return problem, decode


def start_values(instance: Instance, allocation: Allocation) -> dict[str, float]:
    """Return an allocation as values of the model's variables; those not named are 0."""
    labels = plain_labels([job.id for job in instance.jobs], "j")
    return {f"x_{label}_{allocation.gpus[job.id]}": 1.0 for job, label in zip(instance.jobs, labels, strict=True)}
