"""elastic_stream with ticks as a time-indexed mixed-integer linear program in PuLP.

Slot t lasts from t D to (t + 1) D. Times are counted in slots, progress in parts of the job's work: a slot on w units is
worth g = (1 + HAIR) D / (work_j tau_j(w)) of it, as work may exceed its slots by a hair (``core/ticks.py``), so no rounding
asks for a slot more; a restart costs h = restart_j / (work_j tau_j(w)) of it. Ends count from the job's own first slot, so
that numbers stay small however late it is.

=========================  ===========================================================================================
name                       mathematics
=========================  ===========================================================================================
``x_<job>_<t>_<n>``        job j holds n units in slot t, binary
``u_<job>_<t>_<n>``        part of the slot that it uses, 0 .. 1
``y_<job>_<t>_<n>``        a period that begins with a pause begins in t, 0 .. 1
``first_<job>_<t>_<n>``    its first period begins in t, binary
``started_<job>_<t>``      it has held units by the end of t, 0 .. 1
``end_<job>``              C_j / D - s_j, slots from the first one of the job, s_j, to its end
objective                  minimise sum_j omega_j (D end_j + v_j) / sum_j omega_j, v_j the seconds from r_j to s_j
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

Rows with ``y``, ``first`` and ``started`` are left out for jobs without a restart. *work* is an equation: of more than the
whole work the used part of the last slot can be cut.

*progress.* P_jt is the progress by the end of slot t, R >= g the most that a slot can do. If j ends in slot f using part
u of it, 1 - P_j,f-k <= R (u + k - 1) for k >= 1 and <= 1, so end_j = f - s_j + u >= sum_t (1 - P_jt) + u +
sum_k max(0, 1 - R (u + k - 1)); G_j is the least of the last two terms over u in 0 .. 1. It makes the relaxation strong.

*Horizon.* Some stream is known whose weighted flow times add up to U: jobs one by one, or better. In an optimal one the flow
time of job j is at most U less the least ones of all others, over its weight; later slots have no variables.
"""

import math
from collections.abc import Mapping
from operator import add, mul
from typing import TYPE_CHECKING, NamedTuple

from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.core.messages import plain_labels
from dlsched.core.ticks import HAIR, slots_for
from dlsched.elastic_stream.checker import infeasible
from dlsched.elastic_stream.formulations.complete import CompleteProgram, SlotProgram, ending, slots_of, times_s
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.slots import refusal as slots_refusal
from dlsched.elastic_stream.slots import stream_of, useful_times_s
from dlsched.elastic_stream.solution import Stream
from dlsched.solvers.formulation import Formulation, Variables, extendable

if TYPE_CHECKING:
    import pulp

    Terms = list[tuple[pulp.LpVariable, float]]

LARGEST_COLUMNS = 200_000
"""Binary variables that ``build_milp`` is willing to make."""

_ROUNDING = 1e-9
_MOST_GAIN = 1e6  # of a slot over a job's work, for solvers' tolerances


class Window(NamedTuple):
    """Slots in which a job may run, its useful counts, and its seconds per epoch on them."""

    first: int
    last: int
    time_s: Mapping[int, float]


def refusal(instance: Instance) -> str | None:
    """The reason why the program does not hold for an instance, or None."""
    reason = infeasible(instance) or slots_refusal(instance)
    if reason is not None or instance.tick_s is None:
        return reason
    for index, job in enumerate(instance.jobs):
        shortest_s = instance.fastest_s(index)
        if job.work and shortest_s * _MOST_GAIN < instance.tick_s:
            return f"jobs[{index}]: found {shortest_s!r} s of work, allowed: at least {1 / _MOST_GAIN:g} of tick_s"
    return None


def windows(instance: Instance, total_flow_s: float | None = None) -> list[Window]:
    """Slots and counts of every job with work, of an instance with a stream whose flow times add up to ``total_flow_s``."""
    tick_s = instance.tick_s
    assert tick_s is not None
    indices = range(len(instance.jobs))
    fastest_s = list(map(instance.fastest_s, indices))
    first = list(map(instance.first_slot, indices))
    wait_s = [float(instance.wait_s(index)) for index in indices]
    most_s = math.inf if total_flow_s is None else total_flow_s
    weights = [job.weight for job in instance.jobs]
    most_s = min(math.fsum(map(mul, weights, _one_by_one_s(tick_s, first, wait_s, fastest_s))), most_s)
    least_s = math.fsum(map(mul, weights, map(add, wait_s, fastest_s)))
    # No job of an optimal stream ends later than all the others' least flow times leave of the known total.
    spare_s = max(0.0, most_s - least_s) + _ROUNDING * most_s
    slots = [
        max(1, math.ceil((runs_s + spare_s / weight) / tick_s - _ROUNDING))
        for runs_s, weight in zip(fastest_s, weights, strict=True)
    ]
    times_s = useful_times_s(instance)
    return [Window(first[index], first[index] + slots[index] - 1, times_s[index]) for index in indices]


def _one_by_one_s(tick_s: float, first: list[int], wait_s: list[float], fastest_s: list[float]) -> list[float]:
    """Flow times when jobs run one by one in order of arrival, each at its fastest count; 0 without work."""
    flows_s, slot = [0.0] * len(first), 0
    for index in sorted(range(len(first)), key=first.__getitem__):
        if fastest_s[index]:
            begin = max(slot, first[index])
            flows_s[index] = wait_s[index] + (begin - first[index]) * tick_s + fastest_s[index]
            slot = begin + slots_for(fastest_s[index], HAIR * fastest_s[index], tick_s)
    return flows_s


@extendable("milp")
def build_milp(
    instance: Instance,
    *,
    total_flow_s: float | None = None,
    complete: bool = False,
    horizon_s: float | None = None,
    tick: Tick = no_tick,
) -> "Formulation[pulp.LpProblem, Stream]":
    """Build the model of a feasible instance with ``tick_s`` and shorter restarts.

    ``total_flow_s``: as in ``windows``; not with ``complete``. ``complete``: all streams with decisions at ticks remain,
    idling and slow counts too (``formulations.complete``); otherwise one optimum. ``horizon_s``, with ``complete``: slots
    that begin before this time; None: room for all jobs one by one, on their slowest counts without pauses, after the last
    first slot. ``tick`` is called for every slot of every job. UsageError: ``refusal`` has a reason, there are more than
    ``LARGEST_COLUMNS``, or the arguments do not go together.
    """
    reason = refusal(instance)
    if reason is not None:
        raise UsageError(reason)
    if horizon_s is not None and not complete:
        raise UsageError(where="horizon_s", found=horizon_s, allowed="with complete=True only")
    if complete:
        slots = slots_of(instance, horizon_s)
        _require_few(sum(len(usable) * len(times) for usable, times in zip(slots, times_s(instance), strict=True)))
        whole = CompleteProgram(instance, slots, tick)
        until_s = None if not any(slots) else max(usable.stop for usable in slots) * (instance.tick_s or 0.0)
        return Formulation(whole.model, whole.decode, variables=whole.variables, chosen=whole.chosen, horizon_s=until_s)
    spans = windows(instance, total_flow_s)
    _require_few(sum((span.last - span.first + 1) * len(span.time_s) for span in spans))
    program = _Program("elastic_stream", instance, tick)
    labels = enumerate(plain_labels([job.id for job in instance.jobs], "j"))
    ends = {index: program.add_job(index, label, spans[index]) for index, label in labels if spans[index].time_s}
    program.minimise(ends)
    return Formulation(program.model, program.decode, variables=Variables(units=program.units))


def _require_few(columns: int) -> None:
    if columns > LARGEST_COLUMNS:
        allowed = f"{LARGEST_COLUMNS} (a longer tick_s)"
        raise UsageError(f"the program would have {columns} binary variables, allowed: {allowed}")


class _Program(SlotProgram):
    """The model, job by job."""

    def decode(self, values: Mapping[str, float]) -> Stream:
        """The stream of values of the variables; work left by rounding is done later."""
        return stream_of(self.instance, self.plan(values))

    def add_job(self, index: int, label: str, span: Window) -> "pulp.LpVariable":
        """Add variables and rows of one job; return the variable of its end."""
        from pulp import LpConstraintEQ, LpConstraintGE, LpConstraintLE, LpInteger, LpVariable

        job, tick_s, add = self.instance.jobs[index], self.instance.tick_s, self.add_row
        assert tick_s is not None
        gain = {count: (1 + HAIR) * tick_s / (job.work * time_s) for count, time_s in span.time_s.items()}
        loss = {count: job.restart_s / (job.work * time_s) for count, time_s in span.time_s.items()}
        slots = range(span.first, span.last + 1)
        end = LpVariable(f"end_{label}", 0, len(slots))
        work: Terms = []
        progress: Terms = [(end, 1.0)]
        before: dict[int, LpVariable] = {}
        earlier: Terms = []
        # Slots x counts, then the rows of a slot; those of starts only for jobs that pause.
        for slot in slots:
            self.tick()
            x, u = {}, {}
            opening: Terms = []
            for count in span.time_s:
                name = f"{label}_{slot}_{count}"
                x[count] = LpVariable(f"x_{name}", 0, 1, LpInteger)
                u[count] = LpVariable(f"u_{name}", 0, 1)
                self.hold(index, slot, count, x[count])
                add(f"used_{name}", [(u[count], 1.0), (x[count], -1.0)], LpConstraintLE, 0.0)
                done = [(u[count], gain[count])]
                if job.restart_s > 0:
                    y = LpVariable(f"y_{name}", 0, 1)
                    first = LpVariable(f"first_{name}", 0, 1, LpInteger)
                    same = [(before[count], 1.0)] if before else []
                    start = [(y, 1.0), (x[count], -1.0), *same, (first, 1.0)]
                    add(f"start_{name}", start, LpConstraintGE, 0.0)
                    add(f"pause_{name}", [(u[count], 1.0), (y, -job.restart_s / tick_s)], LpConstraintGE, 0.0)
                    add(f"opens_{name}", [(first, 1.0), (x[count], -1.0)], LpConstraintLE, 0.0)
                    opening.append((first, 1.0))
                    done.append((y, -loss[count]))
                work += done
                progress += [(variable, value * (span.last - slot + 1)) for variable, value in done]
            add(f"one_{label}_{slot}", [(each, 1.0) for each in x.values()], LpConstraintLE, 1.0)
            late = [(each, -float(slot - span.first)) for each in x.values()]
            late += [(each, -1.0) for each in u.values()]
            add(f"last_{label}_{slot}", [(end, 1.0), *late], LpConstraintGE, 0.0)
            if job.restart_s > 0:
                now = LpVariable(f"started_{label}_{slot}", 0, 1)
                holds = [(now, 1.0), *((each, -1.0) for each in x.values())]
                add(f"holds_{label}_{slot}", holds, LpConstraintGE, 0.0)
                if earlier:
                    add(f"stays_{label}_{slot}", [(now, 1.0), (earlier[0][0], -1.0)], LpConstraintGE, 0.0)
                add(f"once_{label}_{slot}", [*opening, *earlier], LpConstraintLE, 1.0)
                earlier = [(now, 1.0)]
            before = x
        add(f"work_{label}", work, LpConstraintEQ, 1.0)
        add(f"progress_{label}", progress, LpConstraintGE, len(slots) + ending(max(gain.values())))
        return end
