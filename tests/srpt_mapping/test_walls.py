"""Pools, groups with a limit and classes: by hand, refusals, the checker's rules, and all methods against brute force."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched import srpt_mapping
from dlsched.core.errors import InstanceError
from dlsched.core.limits import Limits
from dlsched.srpt_mapping import certificate
from dlsched.srpt_mapping.checker import check, infeasible
from dlsched.srpt_mapping.heuristics import POLICIES
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.solution import Schedule
from dlsched.testing.srpt_mapping import brute_force_srpt, srpt_mapping_instances

SETTINGS = settings(max_examples=60, derandomize=True, deadline=None, database=None)


def instance_of(servers, *jobs, groups=()):
    """Servers as (GPUs, pools); jobs a, b .. as (release, iterations, GPUs, other fields); iterations of 1 s."""
    return Instance(
        name="walls",
        intra_bandwidth_bytes_per_s=8.0,
        nic_bandwidth_bytes_per_s=4.0,
        servers=[{"id": f"s{n}", "gpus": gpus, "pools": pools} for n, (gpus, pools) in enumerate(servers)],
        groups=[{"id": name, "limit": limit} for name, limit in groups],
        jobs=[
            {
                "id": name,
                "release_s": release,
                "iterations": iterations,
                "stages": [{"replicas": gpus, "compute_s": 1.0, "output_bytes": 0, "parameter_bytes": 0}],
                **others,
            }
            for name, (release, iterations, gpus, others) in zip("abcdef", jobs, strict=False)
        ],
    )


def starts(schedule):
    """Starts by job."""
    return {job: start.start_s for job, start in schedule.jobs.items()}


IN_P, IN_Q = {"pool": "p"}, {"pool": "q"}
TWO_POOLS = [(2, ["p"]), (2, ["q"])]


def test_pools_have_queues_of_their_own():
    """Pool q is idle while b waits for a in p; c, behind b, starts in q at once, under a strict queue too."""
    instance = instance_of(TWO_POOLS, (0, 4, 2, IN_P), (1, 4, 2, IN_P), (2, 3, 2, IN_Q))
    for policy in ("fifo", "fifo-backfill", "easy", "conservative", "shortest-first", "least-work"):
        schedule = POLICIES[policy](instance)
        assert check(instance, schedule) == []
        assert starts(schedule) == {"a": 0.0, "b": 4.0, "c": 2.0}, policy


def test_a_job_without_a_pool_runs_anywhere():
    """It takes GPUs of both pools."""
    instance = instance_of(TWO_POOLS, (0, 4, 4, {}))
    assert starts(POLICIES["fifo"](instance)) == {"a": 0.0}


def test_a_full_group_keeps_nobody_waiting():
    """Three tasks of which two run at once, on 8 GPUs: the third waits for the first end, d passes it."""
    task = {"group": "g"}
    jobs = (0, 5, 1, task), (0, 4, 1, task), (0, 3, 1, task), (1, 1, 1, {})
    instance = instance_of([(8, [])], *jobs, groups=[("g", 2)])
    for policy in ("fifo", "fifo-backfill", "easy", "conservative"):
        schedule = POLICIES[policy](instance)
        assert check(instance, schedule) == []
        assert starts(schedule) == {"a": 0.0, "b": 0.0, "c": 4.0, "d": 1.0}, policy


def test_larger_priorities_come_first():
    """On one GPU: b, of a higher class, passes a, which waits; of one class the first released."""
    instance = instance_of([(1, [])], (0, 2, 1, {}), (1, 2, 1, {}), (1, 2, 1, {"priority": 1}))
    for policy in ("fifo", "fifo-backfill", "easy", "conservative"):
        assert starts(POLICIES[policy](instance)) == {"a": 0.0, "b": 4.0, "c": 2.0}, policy


def test_the_checker_names_both_rules():
    """A job outside its pool, and a third job of a group of two."""
    task = {"group": "g"}
    instance = instance_of(TWO_POOLS, (0, 4, 1, IN_P), *[(0, 4, 1, task)] * 3, groups=[("g", 2)])
    places = {"a": "s1", "b": "s0", "c": "s0", "d": "s1"}
    schedule = Schedule({name: (0.0, [(0, server, 1)]) for name, server in places.items()})
    assert [(each.rule, each.where, each.amount) for each in check(instance, schedule)] == [
        ("pool", "a", 1.0),
        ("limit", "g", 1.0),
    ]


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"pool": "r"}, r"jobs\[0\]\.pool"),
        ({"priority": 2**40}, r"jobs\[0\]\.priority"),
        ({"pool": "p", "begun": [{"stage": 0, "server": "s1", "replicas": 1}]}, r"jobs\[0\]\.begun\[0\]\.server"),
    ],
)
def test_wrong_fields_are_named(fields, where):
    """An unknown pool, a priority that is out of range, and a job that has begun outside its pool."""
    with pytest.raises(InstanceError, match=where):
        instance_of(TWO_POOLS, (0, 4, 1, fields))


def test_begun_jobs_of_a_group_are_counted():
    """Two have begun of a group of one."""
    begun = {"group": "g", "begun": [{"stage": 0, "server": "s0", "replicas": 1}]}
    with pytest.raises(InstanceError, match=r"jobs\[1\]\.group"):
        instance_of([(2, [])], (0, 4, 1, begun), (0, 4, 1, begun), groups=[("g", 1)])


def test_a_job_larger_than_its_pool():
    """It is infeasible though the cluster has GPUs enough."""
    assert "pool 'p'" in infeasible(instance_of(TWO_POOLS, (0, 4, 3, IN_P)))


def test_each_pool_has_a_machine_of_its_own():
    """Two jobs of 2 s in p end at 2 and 4 s, as if q were not there; SRPT on all four GPUs would allow 1 and 2 s."""
    instance = instance_of(TWO_POOLS, (0, 2, 2, IN_P), (0, 2, 2, IN_P))
    assert srpt_mapping.machine(instance).value == pytest.approx(6.0)
    assert certificate.verify(instance, srpt_mapping.machine(instance)) == 6


@pytest.mark.parametrize("method", ["exact", "intervals", "milp"])
@SETTINGS
@given(data=st.data())
def test_exact_methods_against_brute_force(method, data):
    """Optima equal those of brute force, policies are no better, bounds no larger."""
    begun = data.draw(st.booleans())
    instance = data.draw(srpt_mapping_instances(max_servers=2, max_stages=2, begun=begun, walls=True))
    best = brute_force_srpt(instance)
    result = srpt_mapping.solve(instance, method=method, limits=Limits(nodes=20_000))
    if best is None:
        assert result.status == "infeasible"
        return
    assert result.status == "optimal" and math.isclose(result.objective, best[0], rel_tol=1e-6)
    for policy in POLICIES.values():
        schedule = policy(instance)
        assert check(instance, schedule) == []
        assert srpt_mapping.objective(instance, schedule) >= best[0] * (1 - 1e-9)
    for bound in (srpt_mapping.machine, srpt_mapping.length, srpt_mapping.combined, srpt_mapping.prices):
        value = bound(instance)
        assert value.value <= best[0] * (1 + 1e-9)
        assert certificate.verify(instance, value) >= value.value
    for heuristic in ("plan", "annealing"):
        found = srpt_mapping.solve(instance, method=heuristic, limits=Limits(nodes=300))
        assert found.objective >= best[0] * (1 - 1e-9)


@SETTINGS
@given(instance=srpt_mapping_instances(walls=True, begun=True, feasible=True))
def test_parts_are_separate(instance):
    """Every job and its servers are in one part; jobs of one limited group are in one."""
    parts = instance.parts
    assert sorted(job for jobs, _ in parts for job in jobs) == list(range(len(instance.jobs)))
    part_of = {job: number for number, (jobs, _) in enumerate(parts) for job in jobs}
    servers_of = [set(servers) for _, servers in parts]
    for index, job in enumerate(instance.jobs):
        assert set(instance.servers_of(job)) <= servers_of[part_of[index]]
    limited = [part_of[index] for index, job in enumerate(instance.jobs) if any(instance.slots(job))]
    assert len(set(limited)) <= 1
