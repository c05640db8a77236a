"""Models with all schedules: side constraints and other objectives, held against all schedules at whole seconds.

All times drawn are whole. For given layouts and a given order on the GPUs, rows bound differences of times by whole numbers,
so some best schedule has whole times.
"""

import random
from itertools import product
from typing import NamedTuple

import pulp
import pytest

from dlsched.catalogue.solvers import able
from dlsched.core.errors import UsageError
from dlsched.core.status import TerminationStatus
from dlsched.solvers.milp import solve_milp
from dlsched.srpt_mapping import Instance, check
from dlsched.srpt_mapping.checker import completion_times, iteration_time
from dlsched.srpt_mapping.formulations.milp import build_milp
from dlsched.srpt_mapping.solution import Share

from . import builders
from .builders import gang as job

SECOND = able("milp")[-1]


class Placed(NamedTuple):
    """A job's start, end and GPUs by server."""

    start_s: int
    end_s: int
    usage: tuple[int, ...]


def made(sizes: list[int], *jobs: dict, nic: float = 2.0) -> Instance:
    """Jobs j0, j1 ..; GPUs inside a server exchange 4 bytes a second."""
    return builders.made(sizes, *({"id": f"j{n}"} | job for n, job in enumerate(jobs)), inside=4.0, nic=nic)


def evaluated(expression, values) -> float:
    """The value of an affine expression."""
    return sum(factor * values.get(variable.name, 0.0) for variable, factor in expression.items()) + expression.constant


def draw(numbers: random.Random) -> Instance:
    """Two or three jobs on one or two servers; one may have begun."""
    sizes = numbers.choice([[1], [2], [1, 1], [2, 1], [2, 2]])
    first = float(numbers.choice([0, 0, 5]))
    jobs = []
    for _ in range(numbers.choice([2, 2, 3])):
        gpus = numbers.randint(1, min(2, sum(sizes)))
        exchanged = numbers.choice([0.0, 4.0]) if gpus == 2 else 0.0
        jobs.append(job(first + numbers.choice([0, 0, 1, 2]), float(numbers.randint(1, 3)), gpus, exchanged))
    if numbers.random() < 0.25:
        begun = [{"stage": 0, "server": "s0", "replicas": 1}]
        jobs[0] = job(min(each["release_s"] for each in jobs), 2.0, 1, begun=begun)
    return made(sizes, *jobs)


def ways(instance: Instance, index: int, horizon_s: int) -> list[Placed]:
    """All ways to place a job alone, at whole seconds, that end by the horizon."""
    job, found = instance.jobs[index], []
    for usage in product(*(range(server.gpus + 1) for server in instance.servers)):
        named = list(zip(instance.servers, usage, strict=True))
        placement = tuple(Share(0, server.id, count) for server, count in named if count)
        if sum(usage) != job.gpus:
            continue
        length_s = job.iterations * iteration_time(instance, job, placement)
        assert length_s == int(length_s)
        release_s = int(job.release_s)
        starts_s = range(release_s, horizon_s - int(length_s) + 1)
        if job.begun is not None:
            starts_s = range(release_s, release_s + 1)
            if placement != tuple(Share(each.stage, each.server, each.replicas) for each in job.begun):
                continue
        found += [Placed(start_s, start_s + int(length_s), usage) for start_s in starts_s]
    return found


def fits(instance: Instance, schedule: tuple[Placed, ...]) -> bool:
    """Whether at every start the jobs that run fit on the servers."""
    for start_s, *_ in schedule:
        running = [each.usage for each in schedule if each.start_s <= start_s < each.end_s]
        used = map(sum, zip(*running, strict=True))
        if any(count > server.gpus for count, server in zip(used, instance.servers, strict=True)):
            return False
    return True


def side(numbers: random.Random, instance: Instance, v):
    """A side constraint: its rows, and whether a schedule keeps it."""
    index, other = numbers.sample(range(len(instance.jobs)), 2)
    a, b = instance.jobs[index].id, instance.jobs[other].id
    m = numbers.randrange(len(instance.servers))
    server = instance.servers[m].id
    at_s = int(instance.jobs[0].release_s) + numbers.randint(0, 7)
    most = numbers.randint(0, 2)
    servers = range(len(instance.servers))

    def on(job, s):
        return v.placed[instance.jobs[job].id, instance.servers[s].id]

    return numbers.choice(
        [
            ("forbid", [v.placed[a, server] <= 0], lambda r: not r[index].usage[m]),
            ("require", [v.placed[a, server] >= 1], lambda r: r[index].usage[m] > 0),
            (
                "together",
                [on(index, s) == on(other, s) for s in servers],
                lambda r: all((r[index].usage[s] > 0) == (r[other].usage[s] > 0) for s in servers),
            ),
            (
                "apart",
                [on(index, s) + on(other, s) <= 1 for s in servers],
                lambda r: not any(r[index].usage[s] and r[other].usage[s] for s in servers),
            ),
            ("before", [v.ends[a] <= v.starts[b]], lambda r: r[index].end_s <= r[other].start_s),
            (
                "at most",
                [pulp.lpSum(on(job, m) for job in range(len(instance.jobs))) <= most],
                lambda r: sum(each.usage[m] > 0 for each in r) <= most,
            ),
            ("not before", [v.starts[a] >= at_s], lambda r: r[index].start_s >= at_s),
            ("until", [v.ends[a] <= at_s], lambda r: r[index].end_s <= at_s),
        ]
    )


def agrees(seed: int) -> tuple[str, str]:
    """Draw an instance, side constraints and an objective; hold two solvers against all schedules."""
    numbers = random.Random(seed)
    instance = draw(numbers)
    horizon_s = max(int(each.release_s) for each in instance.jobs) + numbers.randint(8, 10)
    try:
        built = build_milp(instance, complete=True, horizon_s=float(horizon_s))
    except UsageError as error:
        assert error.where == ("horizon_s",)
        assert not all(ways(instance, index, horizon_s) for index in range(len(instance.jobs)))
        return "too early", ""
    v, model = built.variables, built.model
    held = [side(numbers, instance, v) for _ in range(numbers.randint(1, 2))]
    for _, rows, _ in held:
        for row in rows:
            model += row
    own = numbers.random() < 0.4
    weights = [1] * len(instance.jobs) if own else [numbers.choice([-1, 1, 1, 2]) for _ in instance.jobs]
    unit = built.unit if own else 1.0
    if not own:
        model.setObjective(pulp.lpSum(w * v.ends[each.id] for w, each in zip(weights, instance.jobs, strict=True)))
    found = product(*(ways(instance, index, horizon_s) for index in range(len(instance.jobs))))
    value = min(
        (
            sum(w * each.end_s for w, each in zip(weights, schedule, strict=True))
            for schedule in found
            if all(keeps(schedule) for *_, keeps in held) and fits(instance, schedule)
        ),
        default=None,
    )
    for solver in ("highs", SECOND):
        outcome = solve_milp(model, solver=solver, isolated=False)
        if value is None:
            assert outcome.status is TerminationStatus.INFEASIBLE
            continue
        assert outcome.status is TerminationStatus.OPTIMAL
        assert outcome.objective * unit == pytest.approx(value, rel=1e-6, abs=1e-4)
        schedule = built.decode(outcome.values)
        assert not check(instance, schedule)
        ends = completion_times(instance, schedule)
        for each in instance.jobs:
            assert schedule.jobs[each.id].start_s == pytest.approx(
                evaluated(v.starts[each.id], outcome.values), abs=1e-4
            )
            assert ends[each.id] == pytest.approx(evaluated(v.ends[each.id], outcome.values), abs=1e-4)
            there = {share.server for share in schedule.jobs[each.id].placement}
            for server in instance.servers:
                assert evaluated(v.placed[each.id, server.id], outcome.values) == pytest.approx(
                    int(server.id in there), abs=1e-5
                )
    status = "infeasible" if value is None else "optimal"
    if own:
        result = built.solve()
        assert str(result.status) == status
        assert result.objective == (value and pytest.approx(value, rel=1e-6))
    return status, held[0][0]


@pytest.mark.parametrize("seed", range(6))
def test_side_constraints_are_brute_force(seed):
    """Two solvers, the model with rows of a user, and all schedules that keep them."""
    agrees(seed)


@pytest.mark.long
def test_300_side_constraints():
    """As above; infeasible ones among them, and every kind."""
    found = [agrees(seed) for seed in range(300)]
    assert sum(status == "optimal" for status, _ in found) > 150
    assert sum(status == "infeasible" for status, _ in found) > 15
    assert len({kind for _, kind in found if kind}) == 8


def test_three_short_jobs_that_may_not_begin_before_a_long_one_ends():
    """100, 1, 1 and 1 s on two servers of one GPU, the short ones from 100 s on: 100 + 101 + 101 + 102 = 404."""
    instance = made([1, 1], job(0, 100, 1), job(0, 1, 1), job(0, 1, 1), job(0, 1, 1))
    for complete, total_s in ((True, 404.0), (False, None)):
        built = build_milp(instance, complete=complete)
        model = built.model
        for name in ("j1", "j2", "j3"):
            model += built.variables.starts[name] >= 100
        outcome = solve_milp(built.model, isolated=False)
        if total_s is None:  # what one optimum does not need is left out
            assert outcome.status is TerminationStatus.INFEASIBLE
            continue
        assert outcome.objective * built.unit == pytest.approx(total_s)
        schedule = built.decode(outcome.values)
        assert not check(instance, schedule)
        assert sum(completion_times(instance, schedule).values()) == pytest.approx(total_s)


def test_starts_are_the_values_pushed_by_no_more_than_tolerance():
    """A job starts at 7 s though its GPU is free; another one 1e-7 s before the GPU is free, and waits for it."""
    built = build_milp(made([1], job(2, 1, 1), job(2, 3, 1)), complete=True, horizon_s=20.0)
    schedule = built.decode({"z_j0_0": 1.0, "z_j1_0": 1.0, "w_j0": 5.0, "w_j1": 5.9999999, "y_j0_j1": 1.0})
    assert [schedule.jobs[name].start_s for name in ("j0", "j1")] == [7.0, 8.0]


def test_the_horizon_is_of_complete_models_and_late_enough():
    """A job of 3 s, released at 5 s."""
    instance = made([1], job(5, 3, 1))
    with pytest.raises(UsageError, match=r"horizon_s: found 9.0, allowed: with complete=True only"):
        build_milp(instance, horizon_s=9.0)
    with pytest.raises(UsageError, match=r"horizon_s: found 7.0, allowed: 8.0 s or later, when job 'j0' can end"):
        build_milp(instance, complete=True, horizon_s=7.0)
    assert build_milp(instance, complete=True, horizon_s=8.0).variables.placed["j0", "s0"]


def test_a_model_without_solution_names_its_horizon():
    """Not before 100 s, a job of 3 s released at 5 s does not end by 8.003 s; by 103 s it does, and flows for 98 s."""
    instance = made([1], job(5, 3, 1))
    found = []
    for horizon_s in (None, 103.0):
        built = build_milp(instance, complete=True, horizon_s=horizon_s)
        built.model += built.variables.starts["j0"] >= 100
        found.append(built.solve())
    assert str(found[0].status) == "infeasible"
    assert found[0].message == "the model has no solution in which all jobs end by 8.003 s; horizon_s sets a later time"
    assert (str(found[1].status), found[1].objective) == ("optimal", 103.0)
