"""ring_allocation as models: a multiple-choice knapsack (PuLP), and a non-linear integer program (Pyomo).

*Knapsack*: the program of ``allocation.choice_program`` on the cost table. Solvers get it as arrays (``build_arrays``),
without the counts that no better answer can have.

*Non-linear program*: remaining time is epochs over speed, as in the paper.

====================  ===============================================================================================
name                  mathematics
====================  ===============================================================================================
``w[j]``              v_j = (w_j - l_j) / g, an integer: GPUs beyond the least open count l_j, in units of g
``x[j,n]``            1 if w_j is the count n of j's table
``kept[j]``           1 if w_j is the current count (laws that would be charged a restart, where both ways are open)
objective             minimise sum_j omega_j (Q_j / f_j(w_j) + rho_j (1 - kept_j)), f_j(w) = 1 / tau_j(w)
``capacity``          sum_j v_j <= floor((C - sum_j l_j) / g)
``choice``            sum_n x_jn = 1, for tables
``count``             v_j = sum_n ((n - l_j) / g) x_jn, for tables
``kept_least/most``   w_j is the current count when kept_j = 1
====================  ===============================================================================================

g divides all differences of open counts of a job. The speed of a law enters as the non-linear function it is. Of a table
exactly one x is 1, so Q_j / f_j(w_j) = sum_n (Q_j / f_j(n)) x_jn is linear. A law with two open counts is written as a table.

Source: Capes et al. 2018 (arXiv 1908.08082). Only the abstract was available, which calls the problem a non-convex,
non-linear, NP-hard integer program; the program itself is our reconstruction.

SCIP's tolerances are absolute. So the model has only the counts that an answer no worse than ``hull``'s can have, jobs with
one such count are constants, and the unit of times is a power of two that makes the largest 2^16 to 2^17.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from dlsched.allocation.choice_program import build_choice_arrays, build_choice_program
from dlsched.allocation.counts import ids
from dlsched.allocation.reduction import on_grid, open_pairs
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.ring_allocation.costs import complete_table, cost_table, undominated_table
from dlsched.ring_allocation.instance import Instance, Job
from dlsched.ring_allocation.solution import Allocation
from dlsched.solvers.formulation import Formulation, extendable
from dlsched.solvers.linear import LinearModel

if TYPE_CHECKING:
    import pulp
    import pyomo.environ as pyo


LARGEST = 200_000
"""Largest number of columns of a complete model; PuLP takes several seconds and several hundred megabytes."""


@extendable("milp")
def build_milp(
    instance: Instance,
    *,
    complete: bool = False,
    drop_dominated: bool = False,
    start: Allocation | None = None,
    tick: Tick = no_tick,
) -> Formulation["pulp.LpProblem", Allocation]:
    """Build the model to export; ``variables.gpus[job, n]`` is 1 if the job gets n GPUs.

    ``complete`` keeps every allocation: all allowed counts that fit beside the smallest counts of the other jobs; otherwise a law
    has only the counts that some optimal allocation may need. ``drop_dominated`` omits counts that cost no less than a smaller
    count of the same job; the optimum stays. ``tick`` is called before every job. UsageError: both of them, or more pairs than
    ``costs.LARGEST_TABLE``, with ``complete`` than ``LARGEST``.
    """
    if complete and drop_dominated:
        raise UsageError("complete keeps all counts, drop_dominated omits some: use one of them")
    if complete:
        table = complete_table(instance, most_pairs=LARGEST, tick=tick)
    else:
        table = undominated_table(instance, tick=tick) if drop_dominated else cost_table(instance, tick=tick)
    counts = None if start is None else start.gpus
    return build_choice_program(
        "ring_allocation", table, ids(instance), instance.gpus, Allocation, means="gpus", start=counts, tick=tick
    )


def build_arrays(
    instance: Instance, *, start: Allocation | None = None, tick: Tick = no_tick
) -> Formulation[LinearModel, Allocation]:
    """Build the model for solvers, of ``allocation.reduction.open_pairs``; UsageError as ``build_milp``, or if infeasible."""
    table = open_pairs(cost_table(instance, tick=tick), instance.gpus, tick=tick)
    counts = None if start is None else start.gpus
    return build_choice_arrays(table, ids(instance), instance.gpus, Allocation, start=counts, tick=tick)


LARGEST_COUNT = 2**20
"""Largest v_j, GPUs beyond the least count over their common divisor: SCIP's integers are whole to 1e-6 only."""

_POWER = 17  # of two, of the largest time in units: SCIP's tolerances are absolute


def build_minlp(instance: Instance, *, tick: Tick = no_tick) -> Formulation["pyo.ConcreteModel | None", Allocation]:
    """Build the model of a feasible instance; None stands for it where every job is constant, at ``constant`` x ``unit`` seconds.

    ``tick`` is called before every job. UsageError: infeasible, or counts over ``LARGEST_COUNT`` x their common divisor apart.
    """
    table = open_pairs(cost_table(instance, tick=tick), instance.gpus, tick=tick)
    grid, room, unit = on_grid(table, instance.gpus)
    if int(grid.counts.max()) > LARGEST_COUNT:
        allowed = f"up to {LARGEST_COUNT}; use exact or milp"
        raise UsageError(
            where="method minlp", found=f"counts that are {grid.counts.max()} x {unit} GPUs apart", allowed=allowed
        )
    # jobs with one open count are constants; the unit follows from the largest cost of the others
    jobs = [
        _Open(job, unit, *(array[begin:end].tolist() for array in (table.counts, grid.counts - 1, table.costs)))
        for job, begin, end in zip(instance.jobs, table.starts.tolist(), table.starts.tolist()[1:], strict=False)
    ]
    free = [index for index, job in enumerate(jobs) if len(job.counts) > 1]
    largest = max((max(jobs[index].costs) for index in free), default=0.0)
    unit_s = math.ldexp(1.0, math.frexp(largest)[1] - _POWER) if largest > 0 else 1.0
    constant_s = math.fsum(job.costs[0] for job in jobs if len(job.counts) == 1)

    def decode(values: Mapping[str, float]) -> Allocation:
        return Allocation({job.job.id: job.count_of(index, values) for index, job in enumerate(jobs)})

    model = _program(jobs, free, room - table.jobs, unit_s, tick) if free else None
    return Formulation(model, decode, unit_s, constant_s)


def laws(model: "pyo.ConcreteModel") -> int:
    """Number of non-linear terms: jobs without a row ``choice``."""
    return len(model.w) - len(model.choice)


class _Open(NamedTuple):
    """A job, and the counts still open to it, each with its units beyond the least and its cost."""

    job: Job
    unit: int
    counts: list[int]
    beyond: list[int]
    costs: list[float]

    @property
    def is_law(self) -> bool:
        """Whether its time enters as a law: every count between the least and the largest is allowed."""
        return self.job.speed_law is not None and self.unit == 1 and len(self.counts) > 2

    def count_of(self, index: int, values: Mapping[str, float]) -> int:
        """Return the job's count, read from values of the variables."""
        if len(self.counts) == 1:
            return self.counts[0]
        if self.is_law:
            return self.counts[0] + round(values[f"w[{index}]"])
        return next(n for n in self.counts if values[f"x[{index},{n}]"] > 0.5)

    @property
    def may_keep(self) -> bool:
        """Whether the job could go on without the restart that its other counts are charged."""
        return self.job.restart_s > 0 and self.job.current_gpus in self.counts


def _program(jobs: list[_Open], free: list[int], spare: int, unit_s: float, tick: Tick) -> "pyo.ConcreteModel":
    """The program of the jobs that have a choice; ``spare``: what all v_j may add up to."""
    import pyomo.environ as pyo

    laws = [index for index in free if jobs[index].is_law]
    model = pyo.ConcreteModel("ring_allocation")
    model.w = pyo.Var(free, domain=pyo.Integers)
    model.x = pyo.Var(
        [(index, n) for index in free if not jobs[index].is_law for n in jobs[index].counts], domain=pyo.Binary
    )
    model.kept = pyo.Var([index for index in laws if jobs[index].may_keep], domain=pyo.Binary)
    for rows in ("choice", "count", "kept_least", "kept_most"):
        model.add_component(rows, pyo.ConstraintList())
    terms = []
    for index in free:
        tick()
        model.w[index].setlb(0)
        model.w[index].setub(jobs[index].beyond[-1])
        terms.append((_law_time if jobs[index].is_law else _table_time)(model, index, jobs[index], unit_s))
    model.capacity = pyo.Constraint(expr=sum(model.w[index] for index in free) <= spare)
    model.time_left = pyo.Objective(expr=sum(terms), sense=pyo.minimize)
    return model


def _table_time(model: "pyo.ConcreteModel", index: int, job: _Open, unit_s: float) -> "pyo.Expression":
    """Time of a table, linear; adds its rows."""
    x = [model.x[index, n] for n in job.counts]
    model.choice.add(sum(x) == 1)
    model.count.add(model.w[index] == sum(units * chosen for units, chosen in zip(job.beyond, x, strict=True)))
    return sum(cost / unit_s * chosen for cost, chosen in zip(job.costs, x, strict=True))


def _law_time(model: "pyo.ConcreteModel", index: int, job: _Open, unit_s: float) -> "pyo.Expression":
    """Time of a law, epochs over speed plus restart; adds its rows."""
    law = job.job.speed_law
    assert law is not None
    theta0, theta1, theta2, theta3 = law.theta
    scale, sent, least = job.job.weight * job.job.epochs / unit_s, theta2 * law.model_bytes, job.counts[0]
    # the law, ordered by powers of w
    w = least + model.w[index]
    time = scale * (theta0 * law.samples - sent) / w + scale * theta1 * (w - 1) + scale * (sent + theta3)
    current = job.job.current_gpus
    restart = job.job.weight * job.job.restart_s / unit_s if current is not None else 0.0
    if not job.may_keep:
        return time + restart
    assert current is not None
    kept, others = model.kept[index], [count for count in job.counts if count != current]
    model.kept_least.add(w >= current * kept + others[0] * (1 - kept))
    model.kept_most.add(w <= current * kept + others[-1] * (1 - kept))
    return time + restart * (1 - kept)
