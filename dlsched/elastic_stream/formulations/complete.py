"""All streams of elastic_stream with ticks up to a horizon, as a time-indexed mixed-integer linear program in PuLP.

The values of ``x`` are a stream, and every stream with decisions at ticks is one choice of them: each slot that a job holds
before its last one is used whole, pauses are counted both ways, idling and slow counts are choices. So rows of a user
find all that they allow. g, h and the slots of a job are those of ``formulations.milp``, and so are names and rows that
both have.

=========================  ===========================================================================================
name                       mathematics
=========================  ===========================================================================================
``x_<job>_<t>_<n>``        job j holds n units in slot t, binary; every allowed count, every slot up to the horizon
``u_<job>_<t>_<n>``        part of the slot that it uses, 0 .. 1
``y_<job>_<t>_<n>``        a period that begins with a pause begins in t, 0 .. 1; for jobs without a restart time too
``started_<job>_<t>``      s_jt: it has held units by the end of t, 0 .. 1
``ended_<job>_<t>``        e_jt: it has ended by the end of t, 0 .. 1; 1 in the last slot
``end_<job>``              C_j / D - s_j, slots from the first one of the job, s_j, to its end
``one_<job>_<t>``          sum_n x_jtn <= 1
``used_<job>_<t>_<n>``     u_jtn <= x_jtn
``whole_<job>_<t>_<n>``    u_jtn >= x_jtn - e_jt, all of a slot before the last one
``over_<job>_<t>``         sum_n x_jtn <= 1 - e_j,t-1
``after_<job>_<t>``        e_jt >= e_j,t-1
``closes_<job>_<t>``       e_jt - e_j,t-1 <= sum_n x_jtn
``does_<job>_<t>``         sum_n (u_jtn - (restart_j / D) y_jtn) >= ``LEAST_USE`` (e_jt - e_j,t-1)
``start_<job>_<t>_<n>``    y_jtn >= x_jtn - x_j,t-1,n - (s_jt - s_j,t-1)
``held_<job>_<t>_<n>``     y_jtn <= x_jtn
``new_<job>_<t>_<n>``      y_jtn <= 1 - x_j,t-1,n
``later_<job>_<t>``        sum_n y_jtn <= 1 - (s_jt - s_j,t-1)
``pause_<job>_<t>_<n>``    u_jtn >= (restart_j / D) y_jtn
``holds_<job>_<t>``        s_jt >= sum_n x_jtn
``stays_<job>_<t>``        s_jt >= s_j,t-1
``begins_<job>_<t>``       s_jt <= s_j,t-1 + sum_n x_jtn
``work_<job>``             sum_tn (g u_jtn - h y_jtn) = 1
``last_<job>``             end_j = 1 + sum_t (1 - e_jt) + sum_tn (u_jtn - x_jtn)
``progress_<job>``         as in ``formulations.milp``; valid for every stream
``capacity_<t>``           sum_jn n x_jtn <= C
=========================  ===========================================================================================

*Left out* are streams in which some job uses less than ``LEAST_USE`` of its last slot: solvers could not tell them from those
in which it ended a slot earlier.
"""

import math
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick
from dlsched.core.messages import plain_labels
from dlsched.core.ticks import HAIR, end_in_slots, left_after, slots_for
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Stream
from dlsched.solvers.formulation import Decided, Key, Variables

if TYPE_CHECKING:
    import pulp

    Terms = list[tuple[pulp.LpVariable, float]]

LEAST_USE = 1e-5
"""Part of its last slot that a job uses at least, beyond a pause; of a job that one slot can hold, of what it needs."""

_ROUNDING = 1e-9


def times_s(instance: Instance) -> list[dict[int, float]]:
    """Seconds per epoch of every job on all counts that the cluster has; empty for a job without work."""
    return [
        {count: job.speed.epoch_time_s(count) for count in instance.counts(index)} if job.work else {}
        for index, job in enumerate(instance.jobs)
    ]


def slots_of(instance: Instance, horizon_s: float | None) -> list[range]:
    """Slots of every job with work: from its first to those that begin before the horizon.

    None: room for all jobs one by one on their slowest counts, after the last first slot. UsageError: a job has no slot.
    """
    tick_s = instance.tick_s
    assert tick_s is not None
    working = [index for index, job in enumerate(instance.jobs) if job.work]
    firsts = [instance.first_slot(index) for index in range(len(instance.jobs))]
    if horizon_s is None:
        until = max((firsts[index] for index in working), default=0)
        for index in working:
            longest_s = instance.jobs[index].work * max(times_s(instance)[index].values())
            until += slots_for(longest_s, HAIR * longest_s, tick_s)
    else:
        until = math.ceil(horizon_s / tick_s - _ROUNDING) if math.isfinite(horizon_s) else 0
        late = max((firsts[index] for index in working), default=-1)
        if until <= late:
            raise UsageError(where="horizon_s", found=horizon_s, allowed=f"more than {late * tick_s} s, a first slot")
    return [range(first, until) if job.work else range(0) for first, job in zip(firsts, instance.jobs, strict=True)]


class SlotProgram:
    """A model of the units of jobs by slot, to which jobs are added one by one, and what its variables mean."""

    def __init__(self, name: str, instance: Instance, tick: Tick) -> None:
        import pulp

        self.instance, self.tick = instance, tick
        self.model = pulp.LpProblem(name, pulp.LpMinimize)
        self.units: dict[Key, pulp.LpVariable] = {}
        self._held: dict[str, tuple[int, int, int]] = {}  # by name of x: job, slot and count
        self._capacity: defaultdict[int, Terms] = defaultdict(list)

    def hold(self, index: int, slot: int, count: int, x: "pulp.LpVariable") -> None:
        """Note that ``x`` is 1 if the job holds so many units in the slot."""
        self.units[self.instance.jobs[index].id, slot, count] = x
        self._held[x.name] = index, slot, count
        self._capacity[slot].append((x, count))

    def add_row(self, name: str, terms: "Terms", sense: int, right: float) -> None:
        """Add a constraint."""
        import pulp

        self.model.addConstraint(pulp.LpConstraint(pulp.LpAffineExpression(terms), sense, name, right))

    def minimise(self, ends: "Mapping[int, pulp.LpVariable]") -> None:
        """Complete the model, given the ends of jobs with work: its objective, and the rows ``capacity``."""
        import pulp

        jobs, total = self.instance.jobs, self.instance.total_weight
        share_s = (self.instance.tick_s or 0.0) / total
        waited_s = math.fsum(job.weight * float(self.instance.wait_s(index)) for index, job in enumerate(jobs))
        weighed = [(end, share_s * jobs[index].weight) for index, end in ends.items()]
        self.model.setObjective(pulp.LpAffineExpression(weighed, waited_s / total))
        for slot in sorted(self._capacity):
            self.add_row(f"capacity_{slot}", self._capacity[slot], pulp.LpConstraintLE, self.instance.units)

    def plan(self, values: Mapping[str, float]) -> list[dict[int, int]]:
        """Units of every job by slot that values of the variables stand for."""
        plan: list[dict[int, int]] = [{} for _ in self.instance.jobs]
        for name, (index, slot, count) in self._held.items():
            if values.get(name, 0.0) > 0.5:
                plan[index][slot] = count
        return plan


class CompleteProgram(SlotProgram):
    """The model of all streams."""

    def __init__(self, instance: Instance, slots: list[range], tick: Tick) -> None:
        import pulp

        super().__init__("elastic_stream_complete", instance, tick)
        self.slots = slots
        self.starts: dict[Key, pulp.LpAffineExpression] = {}
        self.ends: dict[Key, pulp.LpAffineExpression] = {}
        self.restarts: dict[Key, pulp.LpAffineExpression] = {}
        ends = {}
        labels = plain_labels([job.id for job in instance.jobs], "j")
        for index, (job, label, times) in enumerate(zip(instance.jobs, labels, times_s(instance), strict=True)):
            if times:
                ends[index] = self._add_job(index, label, times)
            else:
                self.starts[job.id] = pulp.LpAffineExpression(constant=job.arrival_s)
                self.ends[job.id] = pulp.LpAffineExpression(constant=job.arrival_s)
                self.restarts[job.id] = pulp.LpAffineExpression()
        self.minimise(ends)

    @property
    def variables(self) -> Variables:
        """Units by job, slot and count; starts and ends in seconds of the instance's clock, and restarts, by job."""
        return Variables(units=self.units, starts=self.starts, ends=self.ends, restarts=self.restarts)

    def chosen(self, stream: Stream) -> Decided:
        """Units of the jobs in a stream, by job, slot and count."""
        tick_s = self.instance.tick_s
        assert tick_s is not None
        periods = ((job, period) for job, spans in stream.periods.items() for period in spans)
        slots = (
            ((job, slot, period.units), 1.0)
            for job, period in periods
            for slot in range(round(period.start_s / tick_s), math.ceil(period.end_s / tick_s - _ROUNDING))
        )
        return {"units": dict(slots)}

    def decode(self, values: Mapping[str, float]) -> Stream:
        """The stream that the values of ``x`` are."""
        plan = self.plan(values)
        return Stream({job.id: self._periods(index, plan[index]) for index, job in enumerate(self.instance.jobs)})

    def _periods(self, index: int, counts: dict[int, int]) -> list[tuple[float, float, int]]:
        """Periods of a job; the last one ends with its work if that is done in its last slot."""
        job, tick_s = self.instance.jobs[index], self.instance.tick_s
        assert tick_s is not None
        slots = sorted(counts)
        firsts = [slot for slot in slots if counts.get(slot - 1) != counts[slot]]
        remaining = job.work
        periods: list[tuple[float, float, int]] = []
        for first, following in pairwise([*firsts, math.inf]):
            lasts = sum(first <= slot < following for slot in slots)
            time_s, pause_s = job.speed.epoch_time_s(counts[int(first)]), job.restart_s if periods else 0.0
            needed_s = pause_s + remaining * time_s
            end_s = (first + lasts) * tick_s
            if following == math.inf and slots_for(needed_s, HAIR * (pause_s + job.work * time_s), tick_s) == lasts:
                end_s = end_in_slots(int(first), lasts, needed_s, tick_s)
            periods.append((first * tick_s, end_s, counts[int(first)]))
            remaining = left_after(remaining, lasts * tick_s - pause_s, time_s)
        return periods

    def _add_job(self, index: int, label: str, times: Mapping[int, float]) -> "pulp.LpVariable":
        """Add variables and rows of one job; return the variable of its end."""
        from pulp import LpAffineExpression, LpConstraintEQ, LpConstraintGE, LpConstraintLE, LpInteger, LpVariable

        job, tick_s, add, slots = self.instance.jobs[index], self.instance.tick_s, self.add_row, self.slots[index]
        assert tick_s is not None
        part_of = {count: tick_s / (job.work * time_s) for count, time_s in times.items()}
        gain = {count: (1 + HAIR) * value for count, value in part_of.items()}
        paused = job.restart_s / tick_s
        most = max(gain.values())
        unit = min(1.0, most)  # of the row of work: it counts slots on the fastest count, or parts of a short job
        end = LpVariable(f"end_{label}", 0, len(slots))
        work: Terms = []
        progress: Terms = [(end, 1.0)]
        all_u: Terms = []
        all_x: Terms = []
        pauses: Terms = []
        starting: Terms = []
        open_: Terms = []
        before: dict[int, LpVariable] = {}
        begun: Terms = []  # s_j,t-1
        done: Terms = []  # e_j,t-1
        # ``begun`` and ``done`` are s and e of the slot before, ``before`` its x; all empty in the job's first slot.
        for slot in slots:
            self.tick()
            names = {count: f"{label}_{slot}_{count}" for count in times}
            x = {count: LpVariable(f"x_{name}", 0, 1, LpInteger) for count, name in names.items()}
            u = {count: LpVariable(f"u_{name}", 0, 1) for count, name in names.items()}
            y = {count: LpVariable(f"y_{name}", 0, 1) for count, name in names.items()}
            started = LpVariable(f"started_{label}_{slot}", 0, 1)
            ended = LpVariable(f"ended_{label}_{slot}", 0 if slot < slots[-1] else 1, 1)
            holding: Terms = [(each, 1.0) for each in x.values()]
            unheld: Terms = [(each, -1.0) for each in x.values()]
            opens: Terms = [(started, 1.0), *_less(begun)]
            closes: Terms = [(ended, 1.0), *_less(done)]
            for count, name in names.items():
                same: Terms = [(before[count], 1.0)] if before else []
                add(f"used_{name}", [(u[count], 1.0), (x[count], -1.0)], LpConstraintLE, 0.0)
                add(f"whole_{name}", [(u[count], 1.0), (x[count], -1.0), (ended, 1.0)], LpConstraintGE, 0.0)
                add(f"start_{name}", [(y[count], 1.0), (x[count], -1.0), *same, *opens], LpConstraintGE, 0.0)
                add(f"held_{name}", [(y[count], 1.0), (x[count], -1.0)], LpConstraintLE, 0.0)
                if same:
                    add(f"new_{name}", [(y[count], 1.0), *same], LpConstraintLE, 1.0)
                if paused:
                    add(f"pause_{name}", [(u[count], 1.0), (y[count], -paused)], LpConstraintGE, 0.0)
                part: Terms = [(u[count], gain[count])]
                part += [(y[count], -paused * part_of[count])] if paused else []
                work += [(variable, value / unit) for variable, value in part]
                progress += [(variable, value * (slots[-1] - slot + 1)) for variable, value in part]
                self.hold(index, slot, count, x[count])
            here: Terms = [(each, 1.0) for each in u.values()]
            # Largest gain of a slot over 1, so that ``does`` compares parts of the slot or, of short jobs, of the work.
            used = [*here, *((each, -paused) for each in y.values())]
            does = [(each, value * max(1.0, most)) for each, value in used]
            does += [(each, -LEAST_USE * value) for each, value in closes]
            add(f"one_{label}_{slot}", holding, LpConstraintLE, 1.0)
            add(f"does_{label}_{slot}", does, LpConstraintGE, 0.0)
            add(f"closes_{label}_{slot}", [*closes, *unheld], LpConstraintLE, 0.0)
            add(f"later_{label}_{slot}", [*((each, 1.0) for each in y.values()), *opens], LpConstraintLE, 1.0)
            add(f"holds_{label}_{slot}", [(started, 1.0), *unheld], LpConstraintGE, 0.0)
            add(f"begins_{label}_{slot}", [*opens, *unheld], LpConstraintLE, 0.0)
            if done:
                add(f"over_{label}_{slot}", [*holding, *done], LpConstraintLE, 1.0)
                add(f"after_{label}_{slot}", closes, LpConstraintGE, 0.0)
                add(f"stays_{label}_{slot}", opens, LpConstraintGE, 0.0)
            all_u, all_x = all_u + here, all_x + holding
            pauses += [(each, 1.0) for each in y.values()]
            starting.append((started, -1.0))
            open_.append((ended, -1.0))
            before, begun, done = x, [(started, 1.0)], [(ended, 1.0)]
        add(f"work_{label}", work, LpConstraintEQ, 1.0 / unit)
        add(f"progress_{label}", progress, LpConstraintGE, len(slots) + ending(most))
        add(f"last_{label}", [(end, 1.0), *_less(open_), *_less(all_u), *all_x], LpConstraintEQ, 1.0 + len(slots))
        first_s = slots[0] * tick_s
        released_s = job.arrival_s + float(self.instance.wait_s(index))
        self.starts[job.id] = LpAffineExpression(starting, len(slots)) * tick_s + first_s
        self.ends[job.id] = LpAffineExpression([(end, tick_s)], released_s)
        self.restarts[job.id] = LpAffineExpression(pauses)
        return end


def _less(terms: "Terms") -> "Terms":
    """The negative terms of a sum."""
    return [(variable, -value) for variable, value in terms]


def ending(most: float) -> float:
    """G: the least of u + sum_k max(0, 1 - most (u + k - 1)) over 0 <= u <= 1, a little less for rounding."""
    whole = math.floor(1 / most)

    def value(u: float) -> float:
        return u + math.fsum(max(0.0, 1 - most * (u + k)) for k in range(whole + 2))

    return min(map(value, (0.0, min(1.0, max(0.0, 1 / most - whole)), 1.0))) * (1 - _ROUNDING)
