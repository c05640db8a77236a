"""Brute force by hand and against arguments of other kinds, its usages against the layouts, and what is drawn."""

import itertools
import random

import pytest
from conftest import profile
from hypothesis import given

from dlsched.srpt_mapping.checker import check, infeasible, objective
from dlsched.srpt_mapping.layouts import layouts
from dlsched.srpt_mapping.solution import Schedule
from dlsched.testing import brute_force_srpt, srpt_mapping_instances
from dlsched.testing.srpt_mapping import _usages

from .builders import made


def test_short_jobs_go_first():
    """Two GPUs: b and c side by side for a second, then a for four: 1 + 1 + 5."""
    value, schedule = brute_force_srpt(made([2], (0, 4, 2), (0, 1, 1), (0, 1, 1)))
    assert value == 7.0
    assert {job: start.start_s for job, start in schedule.jobs.items()} == {"a": 1.0, "b": 0.0, "c": 0.0}


def test_a_job_leaves_its_best_server_to_others():
    """One GPU is on each of two servers, two on a third; only there are two replicas fast: 2 + 3 s, not 9 + 3."""
    instance = made([2, 1], (0, 1, 2), (0, 1.5, 1), ring=8.0)
    # a inside: 1 + 8 / 8 = 2 s an iteration; on both servers: 1 + 8 / min(2 / 2, 2 / 1) = 9 s; b: 1 s an iteration
    value, schedule = brute_force_srpt(instance)
    assert value == 2.0 + 1.5
    assert schedule.jobs["a"].placement == ((0, "s0", 2),)
    assert schedule.jobs["b"].placement == ((0, "s1", 1),)


def test_a_gang_runs_inside_a_server_before_or_after_the_others():
    """Three jobs of 2 s on three GPUs: a goes first, or last where it comes late, but not on both servers for 9 s."""
    at_once, late = [made([2, 1], (release, 1, 2), (0, 2, 1), (0, 2, 1), ring=8.0) for release in (0, 1)]
    value, _ = brute_force_srpt(at_once)  # a on s0 and b on s1 to 2 s, then c to 4 s; or b and c, then a
    assert value == 8.0
    value, schedule = brute_force_srpt(late)
    assert value == 8.0
    assert schedule.jobs["a"].start_s == 2.0


def test_it_waits_for_a_short_job_that_arrives_soon():
    """One GPU: a of 10 s at 0, b of 1 s at 1: a waits; 2 + 12, not 10 + 11."""
    value, schedule = brute_force_srpt(made([1], (0, 10, 1), (1, 1, 1)))
    assert value == 14.0
    assert schedule.jobs["a"].start_s == 2.0


def test_what_does_not_fit_and_what_is_too_large():
    """None for a job of three GPUs on two; eight jobs of many ways are refused, and so is a job of very many placements."""
    assert brute_force_srpt(made([1, 1], (0, 1, 3))) is None
    with pytest.raises(ValueError, match="more than 2000000 schedules"):
        brute_force_srpt(made([2, 2], *[(0, 1, 2)] * 8))
    with pytest.raises(ValueError, match="more than 2000000 placements of job 'a'"):
        brute_force_srpt(made([4] * 12, (0, 1, 20)))


@pytest.mark.parametrize("seed", range(10))
def test_on_a_grid_of_times_every_schedule_is_tried(seed):
    """Whole numbers and nothing to exchange: all starts at whole seconds with all usages, each checked by the checker."""
    rng = random.Random(seed)
    sizes = rng.choice([[1], [2], [3], [1, 1], [2, 1]])
    count = 3 if len(sizes) == 1 else 2
    jobs = [(rng.randint(0, 2), rng.randint(1, 3), rng.randint(1, sum(sizes))) for _ in range(count)]
    instance = made(sizes, *jobs)
    last = 2 + sum(length for _, length, _ in jobs)
    ways = [
        [
            (float(start), [(0, f"s{index}", used) for index, used in enumerate(usage) if used])
            for start in range(release, last - length + 1)
            for usage in itertools.product(*(range(size + 1) for size in sizes))
            if sum(usage) == gpus
        ]
        for release, length, gpus in jobs
    ]
    schedules = (Schedule(dict(zip("abc", way, strict=False))) for way in itertools.product(*ways))
    assert brute_force_srpt(instance)[0] == min(
        objective(instance, each) for each in schedules if not check(instance, each)
    )


@pytest.mark.parametrize("seed", range(10))
def test_jobs_of_all_gpus_are_one_machine(seed):
    """One after another: the best order of permutations that serve them as early as possible."""
    rng = random.Random(seed)
    sizes = [rng.randint(1, 3) for _ in range(rng.randint(1, 2))]
    jobs = [(rng.choice([0, 1, 2.5]), rng.choice([1, 2, rng.uniform(1, 5)]), sum(sizes)) for _ in range(4)]
    sums = []
    for order in itertools.permutations(jobs):
        ends = list(itertools.accumulate(order, lambda now, job: max(now, job[0]) + job[1], initial=0.0))
        sums.append(sum(ends))
    assert brute_force_srpt(made(sizes, *jobs))[0] == pytest.approx(min(sums), rel=1e-12)


@profile(60)
@given(srpt_mapping_instances(feasible=True))
def test_usages_are_the_layouts(instance):
    """The package's layouts have the same GPUs by server, and the same least seconds of an iteration."""
    for job, held in zip(instance.jobs, layouts(instance), strict=True):
        found = {usage: alpha for usage, (alpha, _) in _usages(instance, job).items()}
        assert len(held) == len(found)
        assert {layout.usage: layout.iteration_s for layout in held} == pytest.approx(found, rel=1e-12)


@profile(60)
@given(srpt_mapping_instances())
def test_alone_every_job_has_its_fastest_layout(instance):
    """None if and only if the checker says infeasible; no job ends before its release and its least length."""
    found = brute_force_srpt(instance)
    assert (found is None) == (infeasible(instance) is not None)
    if found is None:
        return
    alone = [
        job.release_s + job.iterations * min(layout.iteration_s for layout in held)
        for job, held in zip(instance.jobs, layouts(instance), strict=True)
    ]
    assert found[0] >= sum(alone) * (1 - 1e-12)
    if len(alone) == 1:
        assert found[0] == pytest.approx(alone[0], rel=1e-12)


@profile(40)
@given(srpt_mapping_instances(feasible=True, exchange=False, predicted=False))
def test_strategies_keep_their_promises(instance):
    """Feasible, nothing to exchange, no predictions."""
    assert infeasible(instance) is None
    stages = [stage for job in instance.jobs for stage in job.stages]
    assert all(stage.output_bytes == stage.parameter_bytes == 0 for stage in stages)
    assert all(job.predicted_iterations is None for job in instance.jobs)


def test_strategies_draw_the_awkward_cases():
    """Among 150 instances each of them is there."""
    seen = set()

    @profile(150)
    @given(srpt_mapping_instances())
    def look(instance):
        jobs, sizes = instance.jobs, [server.gpus for server in instance.servers]
        stages = [stage for job in jobs for stage in job.stages]
        sent = [stage.output_bytes + stage.parameter_bytes for stage in stages]
        several = len(jobs) > 1
        cases = {
            "infeasible": infeasible(instance) is not None,
            "identical jobs": several
            and len({job.model_copy(update={"id": "any"}).model_dump_json() for job in jobs}) == 1,
            "ties of releases": several and len({job.release_s for job in jobs}) == 1,
            "releases": len({job.release_s for job in jobs}) == 3,
            "sizes": len(set(sizes)) > 1,
            "three servers": len(sizes) == 3,
            "all GPUs": any(job.gpus == instance.total_gpus > 1 for job in jobs),
            "one stage": any(len(job.stages) == 1 for job in jobs),
            "three stages": any(len(job.stages) == 3 for job in jobs),
            "three replicas": any(stage.replicas == 3 for stage in stages),
            "nothing sent": not any(sent),
            "much sent": any(each > 10 * instance.nic_bandwidth_bytes_per_s for each in sent),
            "slow inside": instance.intra_bandwidth_bytes_per_s < max(instance.shares),
            "wrong": any(job.predicted != job.iterations for job in jobs),
            "predicted right": any(job.predicted_iterations == job.iterations for job in jobs),
        }
        seen.update(name for name, holds in cases.items() if holds)

    look()
    assert len(seen) == 15, sorted(seen)


def test_strategies_refuse_nothing_to_draw():
    """At least one of each."""

    @profile(1)
    @given(srpt_mapping_instances(max_jobs=0))
    def look(instance):
        raise AssertionError

    with pytest.raises(ValueError, match="must be at least 1"):
        look()
