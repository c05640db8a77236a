"""elastic_stream with ticks as a time-indexed mixed-integer linear program in PuLP.

Slot t lasts from t D to (t + 1) D. Times are counted in slots, progress in parts of the job's work: a slot on w units is
worth g = D / (work_j tau_j(w)) of it, a restart costs h = restart_j / (work_j tau_j(w)) of it.

=========================  ===========================================================================================
name                       mathematics
=========================  ===========================================================================================
``x_<job>_<t>_<n>``        job j holds n units in slot t, binary
``u_<job>_<t>_<n>``        part of the slot that it uses, 0 .. 1
``y_<job>_<t>_<n>``        a period that begins with a pause begins in t, 0 .. 1
``first_<job>_<t>_<n>``    its first period begins in t, binary
``started_<job>_<t>``      it has held units by the end of t, 0 .. 1
``end_<job>``              C_j / D - s_j, slots from the first one of the job, s_j, to its end
objective                  minimise sum_j (D end_j + v_j) / J, v_j the seconds from r_j to s_j
``one_<job>_<t>``          sum_n x_jtn <= 1
``used_<job>_<t>_<n>``     u_jtn <= x_jtn
``start_<job>_<t>_<n>``    y_jtn >= x_jtn - x_j,t-1,n - first_jtn
``pause_<job>_<t>_<n>``    u_jtn >= (restart_j / D) y_jtn
``opens_<job>_<t>_<n>``    first_jtn <= x_jtn
``holds_<job>_<t>``        started_jt >= sum_n x_jtn
``stays_<job>_<t>``        started_jt >= started_j,t-1
``once_<job>_<t>``         sum_n first_jtn + started_j,t-1 <= 1
``work_<job>``             sum_tn (g u_jtn - h y_jtn) = 1
``last_<job>_<t>``         end_j >= (t - s_j) sum_n x_jtn + sum_n u_jtn
``progress_<job>``         end_j >= sum_t (1 - P_jt) + G_j, a valid inequality, see below
``capacity_<t>``           sum_jn n x_jtn <= C
=========================  ===========================================================================================

Rows with ``y``, ``first`` and ``started`` are left out for jobs without a restart.

*work* is an equation: of more than the whole work the used part of the last slot can be cut.

Ends count from the job's own first slot, so that numbers stay small however late it is.

*progress.* P_jt is the progress by the end of slot t, R >= g the most that a slot can do.
If j ends in slot f using part u of it, 1 - P_j,f-k <= R (u + k - 1) for k >= 1 and <= 1, so
end_j = f - s_j + u >= sum_t (1 - P_jt) + u + sum_k max(0, 1 - R (u + k - 1)); G_j is the least of the last two terms
over u in 0 .. 1. It binds what a mixture of slots would get for nothing, and makes the relaxation strong.

*Horizon.* Some stream is known whose flow times add up to U: jobs one by one, or better. In an optimal one job j has flow
time at most U less the least flow times of all others; later slots have no variables.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dlsched.core.errors import UsageError
from dlsched.core.labels import plain_labels
from dlsched.elastic_stream import slotted
from dlsched.elastic_stream.checker import infeasible
from dlsched.elastic_stream.clock import HAIR, slots_for
from dlsched.elastic_stream.figures import fastest_s
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.slotted import stream_of, useful_times
from dlsched.elastic_stream.solution import Stream

if TYPE_CHECKING:
    import pulp

Decode = Callable[[Mapping[str, float]], Stream]

LARGEST_COLUMNS = 200_000
"""Binary variables that ``build_milp`` is willing to make."""

_ROUNDING = 1e-9
_MOST_GAIN = 1e6  # of a slot over a job's work, for solvers' tolerances


@dataclass(frozen=True, slots=True)
class Window:
    """Slots in which a job may run, its useful counts, and its seconds per epoch on them."""

    first: int
    last: int
    time_s: Mapping[int, float]

    @property
    def columns(self) -> int:
        """Pairs of a slot and a count."""
        return (self.last - self.first + 1) * len(self.time_s)


def refusal(instance: Instance) -> str | None:
    """Return a sentence that says why the program does not hold for an instance, or None."""
    reason = infeasible(instance) or slotted.refusal(instance)
    if reason is not None or instance.tick_s is None:
        return reason
    for place, job in enumerate(instance.jobs):
        shortest_s = fastest_s(instance, place)
        if job.work and shortest_s * _MOST_GAIN < instance.tick_s:
            return f"jobs[{place}]: found {shortest_s!r} s of work, allowed: at least {1 / _MOST_GAIN:g} of tick_s"
    return None


def windows(instance: Instance, total_flow_s: float | None = None) -> list[Window]:
    """Slots and counts of every job with work, in the order of the file, empty for jobs without.

    Parameters
    ----------
    instance
        A feasible one with ``tick_s``.
    total_flow_s
        Sum of the flow times of a known stream with decisions at ticks; None: jobs one by one.
    """
    tick_s = instance.tick_s
    assert tick_s is not None
    times = [useful_times(instance, place) for place in range(len(instance.jobs))]
    first = [instance.first_slot(place) for place in range(len(times))]
    least_s = [
        instance.wait_s(place) + job.work * min(time.values()) if time else 0.0
        for place, (job, time) in enumerate(zip(instance.jobs, times, strict=True))
    ]
    most_s = min(_one_by_one_s(instance, first, times), math.inf if total_flow_s is None else total_flow_s)
    spare_s = max(0.0, most_s - math.fsum(least_s)) + _ROUNDING * most_s
    found = []
    for job, time, start in zip(instance.jobs, times, first, strict=True):
        slots = math.ceil((job.work * min(time.values(), default=0.0) + spare_s) / tick_s - _ROUNDING)
        found.append(Window(start, start + max(1, slots) - 1, time))
    return found


def _one_by_one_s(instance: Instance, first: list[int], times: list[dict[int, float]]) -> float:
    """Sum of flow times when jobs run alone, each at its fastest count, in order of arrival."""
    tick_s = instance.tick_s
    assert tick_s is not None
    flows_s, slot = [], 0
    for place in sorted(range(len(first)), key=lambda place: (first[place], place)):
        if not times[place]:
            continue
        needed_s = instance.jobs[place].work * min(times[place].values())
        begin = max(slot, first[place])
        flows_s.append(instance.wait_s(place) + (begin - first[place]) * tick_s + needed_s)
        slot = begin + slots_for(needed_s, HAIR * needed_s, tick_s)
    return math.fsum(flows_s)


def build_milp(
    instance: Instance, *, total_flow_s: float | None = None, tick: Callable[[], None] | None = None
) -> tuple["pulp.LpProblem", Decode]:
    """Build the model and the function that reads a stream from values of its variables.

    Parameters
    ----------
    instance
        A feasible one with ``tick_s`` and shorter restarts.
    total_flow_s
        As in ``windows``.
    tick
        Called before every slot of every job; it may raise to stop.

    Raises
    ------
    UsageError
        ``refusal`` has a reason, or there are more than ``LARGEST_COLUMNS``.
    """
    import pulp

    reason = refusal(instance)
    if reason is not None:
        raise UsageError(reason)
    spans = windows(instance, total_flow_s)
    columns = sum(span.columns for span in spans)
    if columns > LARGEST_COLUMNS:
        raise UsageError(
            f"the program would have {columns} binary variables, allowed: {LARGEST_COLUMNS} (a longer tick_s)"
        )
    labels = plain_labels([job.id for job in instance.jobs], "j")
    problem = pulp.LpProblem("elastic_stream", pulp.LpMinimize)
    held: dict[str, tuple[int, int, int]] = {}
    capacity: dict[int, list[tuple[Any, float]]] = {}
    objective: list[tuple[Any, float]] = []
    share_s = (instance.tick_s or 0.0) / len(instance.jobs)
    for place, (label, span) in enumerate(zip(labels, spans, strict=True)):
        if span.time_s:
            end = _add_job(problem, instance, place, label, span, held, capacity, tick or _nothing)
            objective.append((end, share_s))
    waited_s = math.fsum(map(instance.wait_s, range(len(instance.jobs))))
    problem.setObjective(pulp.LpAffineExpression(objective, waited_s / len(instance.jobs)))
    for slot in sorted(capacity):
        row = pulp.LpAffineExpression(capacity[slot])
        problem.addConstraint(pulp.LpConstraint(row, pulp.LpConstraintLE, f"capacity_{slot}", instance.units))

    def decode(values: Mapping[str, float]) -> Stream:
        given: list[dict[int, int]] = [{} for _ in instance.jobs]
        for name, (place, slot, count) in held.items():
            if values.get(name, 0.0) > 0.5:
                given[place][slot] = count
        return stream_of(instance, given)

    return problem, decode


def _add_job(
    problem: "pulp.LpProblem",
    instance: Instance,
    place: int,
    label: str,
    span: Window,
    held: dict[str, tuple[int, int, int]],
    capacity: dict[int, list[tuple[Any, float]]],
    tick: Callable[[], None],
) -> "pulp.LpVariable":
    """Add variables and rows of one job; return the variable of its end."""
    import pulp

    job, tick_s = instance.jobs[place], instance.tick_s
    assert tick_s is not None

    def add(name: str, terms: list[tuple[Any, float]], sense: int, right: float) -> None:
        problem.addConstraint(pulp.LpConstraint(pulp.LpAffineExpression(terms), sense, name, right))

    def part(name: str) -> "pulp.LpVariable":
        return pulp.LpVariable(name, 0, 1)

    gain = {count: tick_s / (job.work * time_s) for count, time_s in span.time_s.items()}
    loss = {count: job.restart_s / (job.work * time_s) for count, time_s in span.time_s.items()}
    slots = range(span.first, span.last + 1)
    end = pulp.LpVariable(f"end_{label}", 0, len(slots))
    work: list[tuple[Any, float]] = []
    progress: list[tuple[Any, float]] = [(end, 1.0)]
    before: dict[int, Any] = {}
    started = None
    for slot in slots:
        tick()
        x, u = {}, {}
        opening: list[tuple[Any, float]] = []
        for count in span.time_s:
            name = f"{label}_{slot}_{count}"
            x[count] = pulp.LpVariable(f"x_{name}", 0, 1, pulp.LpInteger)
            u[count] = part(f"u_{name}")
            held[x[count].name] = (place, slot, count)
            capacity.setdefault(slot, []).append((x[count], count))
            add(f"used_{name}", [(u[count], 1.0), (x[count], -1.0)], pulp.LpConstraintLE, 0.0)
            done = [(u[count], gain[count])]
            if job.restart_s > 0:
                y = part(f"y_{name}")
                first = pulp.LpVariable(f"first_{name}", 0, 1, pulp.LpInteger)
                same = [(before[count], 1.0)] if before else []
                start = [(y, 1.0), (x[count], -1.0), *same, (first, 1.0)]
                add(f"start_{name}", start, pulp.LpConstraintGE, 0.0)
                add(f"pause_{name}", [(u[count], 1.0), (y, -job.restart_s / tick_s)], pulp.LpConstraintGE, 0.0)
                add(f"opens_{name}", [(first, 1.0), (x[count], -1.0)], pulp.LpConstraintLE, 0.0)
                opening.append((first, 1.0))
                done.append((y, -loss[count]))
            work += done
            progress += [(variable, value * (span.last - slot + 1)) for variable, value in done]
        add(f"one_{label}_{slot}", [(each, 1.0) for each in x.values()], pulp.LpConstraintLE, 1.0)
        last = [
            (end, 1.0),
            *((each, -float(slot - span.first)) for each in x.values()),
            *((each, -1.0) for each in u.values()),
        ]
        add(f"last_{label}_{slot}", last, pulp.LpConstraintGE, 0.0)
        if job.restart_s > 0:
            now = part(f"started_{label}_{slot}")
            add(f"holds_{label}_{slot}", [(now, 1.0), *((each, -1.0) for each in x.values())], pulp.LpConstraintGE, 0.0)
            earlier: list[tuple[Any, float]] = [] if started is None else [(started, 1.0)]
            if started is not None:
                add(f"stays_{label}_{slot}", [(now, 1.0), (started, -1.0)], pulp.LpConstraintGE, 0.0)
            add(f"once_{label}_{slot}", [*opening, *earlier], pulp.LpConstraintLE, 1.0)
            started = now
        before = x
    add(f"work_{label}", work, pulp.LpConstraintEQ, 1.0)
    least = len(slots) + _ending(max(gain.values()))
    add(f"progress_{label}", progress, pulp.LpConstraintGE, least)
    return end


def _nothing() -> None:
    pass


def _ending(most: float) -> float:
    """G: the least of u + sum_k max(0, 1 - most (u + k - 1)) over 0 <= u <= 1, a little less for rounding.

    The sum is piecewise linear in u; it bends where 1 / most - (k - 1) = u, which one k puts into 0 .. 1.
    """
    whole = math.floor(1 / most)

    def value(u: float) -> float:
        return u + math.fsum(max(0.0, 1 - most * (u + k)) for k in range(whole + 2))

    return min(map(value, (0.0, min(1.0, max(0.0, 1 / most - whole)), 1.0))) * (1 - _ROUNDING)
