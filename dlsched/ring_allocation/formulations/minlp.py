"""ring_allocation as a non-linear integer program in Pyomo: time left is epochs over speed, as in the paper.

====================  ===============================================================================================
name                  mathematics
====================  ===============================================================================================
``w[j]``              GPUs of job j, an integer
``speed[j]``          f_j(w_j), epochs per second: for a table, one of its speeds; for a law, 1 / tau_j(w_j)
``x[j,n]``            1 if w_j is the count n of j's table
``kept[j]``           1 if w_j is the current count (jobs that would be charged a restart only)
objective             minimise sum_j omega_j (Q_j / f_j(w_j) + rho_j (1 - kept_j))
``capacity``          sum_j w_j <= C
``choice``            sum_n x_jn = 1, for tables
``count``             w_j = sum_n n x_jn, for tables
``table``             f_j = sum_n f_j(n) x_jn, for tables
``kept_least/most``   w_j is the current count when kept_j = 1
====================  ===============================================================================================

Source: Capes et al. 2018 (arXiv 1908.08082). Only the abstract was available, which calls the problem a non-convex,
non-linear, NP-hard integer program; the program itself is our reconstruction. Times are divided by the largest cost at
the smallest counts, which keeps SCIP's absolute tolerances meaningful.
"""

from collections.abc import Callable, Mapping
from typing import Any

from dlsched.ring_allocation.instance import Instance, Job
from dlsched.ring_allocation.solution import Allocation

Decode = Callable[[Mapping[str, float]], Allocation]


def build_minlp(instance: Instance, *, tick: Callable[[], None] | None = None) -> tuple[Any, Decode, float]:
    """Build the Pyomo model, its decoder, and the number of seconds that its objective counts as one.

    ``tick`` is called before every job; it may raise to stop.
    """
    import pyomo.environ as pyo

    model = pyo.ConcreteModel("ring_allocation")
    jobs = range(len(instance.jobs))
    unit_s = _unit_s(instance)
    model.w = pyo.Var(jobs, domain=pyo.Integers)
    model.speed = pyo.Var([j for j in jobs if instance.jobs[j].epoch_time_s is not None])
    model.x = pyo.Var([(j, n) for j in jobs for n in _table_counts(instance, instance.jobs[j])], domain=pyo.Binary)
    model.kept = pyo.Var([j for j in jobs if _may_restart(instance.jobs[j])], domain=pyo.Binary)
    model.capacity = pyo.Constraint(expr=sum(model.w[j] for j in jobs) <= instance.gpus)
    for rows in ("choice", "count", "table", "kept_least", "kept_most"):
        model.add_component(rows, pyo.ConstraintList())
    terms = []
    for place, job in enumerate(instance.jobs):
        if tick is not None:
            tick()
        terms.append(job.weight / unit_s * _time_left(model, instance, place, job))
    model.time_left = pyo.Objective(expr=sum(terms), sense=pyo.minimize)

    def decode(values: Mapping[str, float]) -> Allocation:
        return Allocation({job.id: round(values[f"w[{place}]"]) for place, job in enumerate(instance.jobs)})

    return model, decode, unit_s


def _time_left(model: Any, instance: Instance, place: int, job: Job) -> Any:
    """Expression of epochs / speed + restart; adds the rows of one job."""
    counts = instance.counts(place)
    w = model.w[place]
    w.setlb(counts[0])
    w.setub(max(counts[0], min(counts[-1], instance.gpus)))
    if job.epoch_time_s is not None:
        speeds = {n: 1.0 / job.epoch_time_s[n] for n in _table_counts(instance, job)}
        speed = model.speed[place]
        speed.setlb(min(speeds.values()))
        speed.setub(max(speeds.values()))
        model.choice.add(sum(model.x[place, n] for n in speeds) == 1)
        model.count.add(w == sum(n * model.x[place, n] for n in speeds))
        model.table.add(speed == sum(speeds[n] * model.x[place, n] for n in speeds))
        time = job.epochs / speed
    else:
        assert job.speed_law is not None
        theta0, theta1, theta2, theta3 = job.speed_law.theta
        sent = theta2 * job.speed_law.model_bytes
        time = job.epochs * ((theta0 * job.speed_law.samples - sent) / w + theta1 * (w - 1) + sent + theta3)
    if not _may_restart(job):
        return time
    kept, current = model.kept[place], job.current_gpus
    assert current is not None
    if current not in counts or current > instance.gpus:
        kept.fix(0)
        return time + job.restart_s
    model.kept_least.add(w >= current * kept + counts[0] * (1 - kept))
    model.kept_most.add(w <= current * kept + min(counts[-1], instance.gpus) * (1 - kept))
    return time + job.restart_s * (1 - kept)


def _table_counts(instance: Instance, job: Job) -> list[int]:
    """Counts of a table that the cluster has GPUs for, and in any case the smallest; none for a law."""
    if job.epoch_time_s is None:
        return []
    counts = job.epoch_time_s.counts
    return [n for n in counts if n <= instance.gpus or n == counts[0]]


def _may_restart(job: Job) -> bool:
    return job.current_gpus is not None and job.restart_s > 0


def _unit_s(instance: Instance) -> float:
    most = 0.0
    for place, job in enumerate(instance.jobs):
        most = max(most, job.weight * (job.epochs * job.speed.epoch_time_s(instance.counts(place)[0]) + job.restart_s))
    return most or 1.0
