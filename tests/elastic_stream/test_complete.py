"""Models with all streams: side constraints and other objectives, held against all streams that there are."""

import random
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import pulp
import pytest
from documented import assert_named, documented

from dlsched.catalogue.solvers import able
from dlsched.core.errors import UsageError
from dlsched.core.status import TerminationStatus
from dlsched.elastic_stream import Instance, check, example, objective
from dlsched.elastic_stream.checker import flow_times, follow_all
from dlsched.elastic_stream.formulations.milp import build_milp
from dlsched.solvers.milp import solve_milp

from .streams import stream

TICK = 10.0
SECOND = able("milp")[-1]


class Run(NamedTuple):
    """A way to run a job: its counts by slot, when it starts and ends, seconds, and its restarts."""

    held: tuple[int, ...]
    start_s: Fraction
    end_s: Fraction
    restarts: int


def runs(instance: Instance, index: int, slots: int) -> list[Run]:
    """All ways to run a job alone within that many slots, from the definitions, in exact arithmetic."""
    job, tick = instance.jobs[index], Fraction(instance.tick_s)
    found: list[Run] = []

    def follow(held: tuple[int, ...], left: Fraction, periods: int) -> None:
        slot = len(held)
        if slot == slots:
            return
        before = held[-1] if held else 0
        follow((*held, 0), left, periods)
        if slot * tick < job.arrival_s:
            return
        for count in instance.counts(index):
            opens = count != before
            pause = Fraction(job.restart_s) if opens and periods else Fraction(0)
            time = Fraction(job.speed.epoch_time_s(count))
            now = (*held, count)
            if pause + left * time <= tick:
                first = next(at for at, units in enumerate(now) if units)
                padded = (*now, *(0 for _ in range(slots - len(now))))
                found.append(Run(padded, first * tick, slot * tick + pause + left * time, periods + opens - 1))
            else:
                follow(now, left - (tick - pause) / time, periods + opens)

    follow((), Fraction(job.work), 0)
    return found


def draw(numbers: random.Random) -> tuple[Instance, int]:
    """A small instance, and its slots."""
    units, count = numbers.randint(1, 3), numbers.choice([1, 2, 2, 2, 3])
    slots = numbers.randint(4, 5) if count < 3 else 4
    jobs = []
    for _ in range(count):
        allowed = numbers.sample(range(1, units + 1), numbers.randint(1, min(2, units)))
        times = {n: float(numbers.choice([5, 6, 8, 10, 12, 20])) for n in allowed}
        more = {"restart_s": float(numbers.choice([0, 0, 2, 5])), "weight": float(numbers.choice([1, 1, 2]))}
        arrival = float(numbers.choice([0, 0, 3, 10]))
        jobs.append((arrival, numbers.choice([0.5, 1.0, 1.0, 2.0, 2.5]), times, more))
    return stream(*jobs, units=units, tick_s=TICK), slots


def side(numbers: random.Random, instance: Instance, slots: int, v):
    """A side constraint: its rows, and whether a stream, a run of every job, keeps it."""
    index, other = (numbers.randrange(len(instance.jobs)) for _ in range(2))
    a, b = instance.jobs[index].id, instance.jobs[other].id
    slot, count = numbers.randrange(slots), numbers.choice(list(instance.counts(index)))
    at_s = float(numbers.choice([0, 10, 17, 20, 25, 30]))
    times = range(slots)

    def held(job, t):
        return pulp.lpSum(x for (name, at, _), x in v.units.items() if (name, at) == (job, t))

    x = v.units[a, slot, count] if (a, slot, count) in v.units else pulp.LpAffineExpression()
    number = numbers.randint(0, 2)
    return numbers.choice(
        [
            ("forbid", [x <= 0], lambda r: r[index].held[slot] != count),
            ("require", [x >= 1], lambda r: r[index].held[slot] == count),
            (
                "together",
                [held(a, t) == held(b, t) for t in times],
                lambda r: all((r[index].held[t] > 0) == (r[other].held[t] > 0) for t in times),
            ),
            (
                "apart",
                [held(a, t) + held(b, t) <= 1 for t in times],
                lambda r: not any(r[index].held[t] and r[other].held[t] for t in times) and index != other,
            ),
            ("before", [v.ends[a] <= v.starts[b]], lambda r: r[index].end_s <= r[other].start_s),
            ("at most", [v.restarts[a] <= number], lambda r: r[index].restarts <= number),
            ("at least", [v.restarts[a] >= number], lambda r: r[index].restarts >= number),
            ("not before", [v.starts[a] >= at_s], lambda r: r[index].start_s >= at_s),
            ("until", [v.ends[a] <= at_s], lambda r: r[index].end_s <= at_s),
        ]
    )


def agrees(seed: int) -> tuple[str, str]:
    """Draw an instance, side constraints and an objective; hold two solvers against all streams."""
    numbers = random.Random(seed)
    instance, slots = draw(numbers)
    ways = [runs(instance, index, slots) for index in range(len(instance.jobs))]
    built = build_milp(instance, complete=True, horizon_s=slots * TICK)
    v, model = built.variables, built.model
    held = [side(numbers, instance, slots, v) for _ in range(numbers.choice([1, 1, 2]))]
    for _, rows, _ in held:
        for row in rows:
            model += row
    ids, own = [job.id for job in instance.jobs], numbers.random() < 0.4
    weights = [[numbers.choice([-2, -1, 1, 2, 3]) for _ in range(3)] for _ in ids]
    if not own:
        kinds = v.starts, v.ends, v.restarts
        model.setObjective(
            pulp.lpSum(
                w * kind[name]
                for name, held in zip(ids, weights, strict=True)
                for w, kind in zip(held, kinds, strict=True)
            )
        )

    def value(stream):
        if own:
            flows = zip(instance.jobs, stream, strict=True)
            return sum(job.weight * (run.end_s - Fraction(job.arrival_s)) for job, run in flows) / Fraction(
                instance.total_weight
            )
        return sum(
            w[0] * run.start_s + w[1] * run.end_s + w[2] * run.restarts for w, run in zip(weights, stream, strict=True)
        )

    allowed = [
        stream
        for stream in product(*ways)
        if all(sum(run.held[t] for run in stream) <= instance.units for t in range(slots))
        and all(keeps(stream) for *_, keeps in held)
    ]
    best = min(map(value, allowed), default=None)
    for solver in ("highs", SECOND):
        outcome = solve_milp(model, solver=solver, isolated=False)
        if best is None:
            assert outcome.status is TerminationStatus.INFEASIBLE
            continue
        assert outcome.status is TerminationStatus.OPTIMAL
        assert outcome.objective == pytest.approx(float(best), rel=1e-6, abs=1e-4)
        made = built.decode(outcome.values)
        assert not check(instance, made)
        flows, ran = flow_times(instance, made), follow_all(instance, made)
        for index, job in enumerate(instance.jobs):
            end_s = flows[index] + job.arrival_s
            assert end_s == pytest.approx(evaluated(v.ends[job.id], outcome.values), abs=1e-4)
            assert ran[index].restarts == pytest.approx(evaluated(v.restarts[job.id], outcome.values), abs=1e-5)
            first_s = made.periods[job.id][0].start_s
            assert first_s == pytest.approx(evaluated(v.starts[job.id], outcome.values), abs=1e-4)
        if own:
            assert objective(instance, made) == pytest.approx(float(best), rel=1e-9)
    status = "infeasible" if best is None else "optimal"
    if own:
        result = built.solve()
        assert str(result.status) == status
        assert result.objective == (best and pytest.approx(float(best), rel=1e-9))
    return status, held[0][0]


def evaluated(expression, values) -> float:
    """The value of an affine expression."""
    return sum(factor * values.get(variable.name, 0.0) for variable, factor in expression.items()) + expression.constant


@pytest.mark.parametrize("seed", range(6))
def test_side_constraints_are_brute_force(seed):
    """Two solvers, the model with rows of a user, and all streams that keep them."""
    agrees(seed)


@pytest.mark.long
def test_300_side_constraints():
    """As above; infeasible ones among them, and every kind."""
    found = [agrees(seed) for seed in range(300)]
    assert sum(status == "optimal" for status, _ in found) > 120
    assert sum(status == "infeasible" for status, _ in found) > 15
    assert len({kind for _, kind in found if kind}) == 9


def by_hand(**fields):
    """A job of 2 epochs, 10 s each on one unit and 20 s on two, with a pause of 4 s, on two units."""
    return stream((0.0, 2.0, {1: 10.0, 2: 20.0}, {"restart_s": 4.0}), units=2, tick_s=TICK, **fields)


def test_the_stream_is_that_of_the_values():
    """Slot 0 on one unit, slot 2 on the slower two, slots 3 and 4 on one: as it is said, though none of it is any good.

    Two epochs: 1 in slot 0; in slot 2 (10 - 4) / 20 = .3; in slot 3 (10 - 4) / 10 = .6; the last .1 takes 1 s of slot 4.
    """
    instance = by_hand()
    built = build_milp(instance, complete=True, horizon_s=60.0)
    values = dict.fromkeys(("x_j0_0_1", "x_j0_2_2", "x_j0_3_1", "x_j0_4_1"), 1.0)
    made = built.decode(values)
    assert made.periods == {"j0": ((0.0, 10.0, 1), (20.0, 30.0, 2), (30.0, 41.0, 1))}
    assert not check(instance, made) and objective(instance, made) == 41.0
    model = built.model
    for name, value in values.items():
        model += built.variables.units["j0", int(name[5]), int(name[7])] == value
    for sense in (pulp.LpMinimize, pulp.LpMaximize):  # nothing of it is free
        model.sense = sense
        outcome = solve_milp(model, isolated=False)
        assert outcome.objective == pytest.approx(41.0)
        assert evaluated(built.variables.restarts["j0"], outcome.values) == pytest.approx(2)


def test_a_job_ends_in_the_last_slot_that_it_holds():
    """2 epochs on one unit fill two slots: it can hold no third one after them."""
    built = build_milp(by_hand(), complete=True, horizon_s=60.0)
    model, units = built.model, built.variables.units
    for slot in range(3):
        model += units["j0", slot, 1] == 1
    assert solve_milp(model, isolated=False).status is TerminationStatus.INFEASIBLE


def test_the_horizon_is_the_slowest_run_after_the_last_arrival():
    """40 s on two units and 5 s, after an arrival at 12 s: slots 2 to 6; or as many as are asked for."""
    instance = stream((0.0, 2.0, {1: 10.0, 2: 20.0}), (12.0, 1.0, {1: 5.0}), units=2, tick_s=TICK)
    for horizon_s, last in ((None, 6), (95.0, 9), (20.5, 2)):
        units = build_milp(instance, complete=True, horizon_s=horizon_s).variables.units
        assert {slot for job, slot, _ in units if job == "j1"} == set(range(2, last + 1))
        assert {count for job, _, count in units if job == "j0"} == {1, 2}
    with pytest.raises(UsageError, match=r"horizon_s: found 20.0, allowed: more than 20.0 s, a first slot"):
        build_milp(instance, complete=True, horizon_s=20.0)
    with pytest.raises(UsageError, match="with complete=True only"):
        build_milp(instance, horizon_s=95.0)
    with pytest.raises(UsageError, match=r"would have 2000\d\d binary variables"):
        build_milp(instance, complete=True, horizon_s=TICK * 66_668)


def test_jobs_without_work_end_when_they_arrive():
    """They have no slots."""
    built = build_milp(stream((3.0, 0.0, {1: 10.0}), (0.0, 1.0, {1: 5.0}), units=1, tick_s=TICK), complete=True)
    v = built.variables
    assert v.starts["j0"].constant == v.ends["j0"].constant == 3.0 and not v.restarts["j0"]
    outcome = solve_milp(built.model, isolated=False)
    assert built.decode(outcome.values).periods == {"j1": ((0.0, 5.0, 1),)}


def test_times_at_a_late_clock_are_the_instances():
    """At 1.7e9 s ends and starts are of that clock, and numbers in rows stay small."""
    late_s = 1.7e9
    instance = stream((late_s, 1.0, {1: 15.0}), (late_s, 1.0, {1: 5.0}), units=1, tick_s=TICK)
    built = build_milp(instance, complete=True)
    model, v = built.model, built.variables
    model += v.ends["j0"] <= v.starts["j1"]
    outcome = solve_milp(model, isolated=False)
    assert outcome.objective == pytest.approx((15 + 25) / 2)
    assert evaluated(v.starts["j1"], outcome.values) == pytest.approx(late_s + 20, rel=1e-15)
    assert max(abs(value) for row in model.constraints.values() for value in row.values()) < 100


def test_every_row_is_documented():
    """Rows and variables of the complete model of the example are those of the README."""
    model = build_milp(example(), complete=True).model
    assert_named(["OBJ", *model.constraints], documented("elastic_stream", "milp, complete", "Rows"))
    names = [variable.name for variable in model.variables()]
    assert_named(names, documented("elastic_stream", "milp, complete", "Variables"))
