"""The search of our own and CP-SAT against brute force and each other; statuses, limits, and what more servers or jobs do."""

import math
import random

import pytest
from conftest import profile
from hypothesis import given

from dlsched import srpt_mapping
from dlsched.algorithms.start_tree import Tree
from dlsched.core.errors import UsageError
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.srpt_mapping import exact, solve
from dlsched.srpt_mapping.certificate import verify
from dlsched.srpt_mapping.checker import check, completion_times, objective
from dlsched.srpt_mapping.heuristics import POLICIES
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.layouts import layouts, mode_jobs, timed
from dlsched.srpt_mapping.solution import Schedule
from dlsched.testing.srpt_mapping import brute_force_srpt, srpt_mapping_instances

from . import builders
from .builders import fields_of, gang
from .small_clusters import draw as small_cluster

CLOSE = 1e-9  # relative
SOLVED = 1e-6  # relative, of what objective and bound may differ by


def drawn(seed, jobs, servers=3, most=2):
    """Jobs of one to four GPUs and one or two stages that arrive while others run."""
    rng = random.Random(seed)
    sizes = [rng.randint(1, most) for _ in range(servers)]
    entries = []
    for number in range(jobs):
        gpus = rng.randint(1, min(4, sum(sizes)))
        first = rng.randint(1, gpus)
        stages = [
            {
                "replicas": count,
                "compute_s": rng.uniform(0.5, 2),
                "output_bytes": rng.uniform(0, 6) * (index == 0 and first < gpus),
                "parameter_bytes": rng.uniform(0, 6),
            }
            for index, count in enumerate([first, gpus - first] if first < gpus else [gpus])
        ]
        job = {"id": f"j{number}", "release_s": rng.choice([0.0, rng.uniform(0, 15)]), "stages": stages}
        entries.append(job | {"iterations": rng.uniform(1, 8)})
    return Instance(
        name=f"drawn-{seed}",
        intra_bandwidth_bytes_per_s=16,
        nic_bandwidth_bytes_per_s=4,
        servers=[{"id": f"s{index}", "gpus": size} for index, size in enumerate(sizes)],
        jobs=entries,
    )


def made(sizes, *jobs, ring=0.0):
    """Jobs of one stage: release, seconds of the only iteration, GPUs."""
    return builders.made(sizes, *(gang(release, 1, stages=[(gpus, s, 0, ring)]) for release, s, gpus in jobs))


# a long job at 0 and a short one at 1 s: the long one waits, 2 + 12 instead of 10 + 11
LONG_FIRST = made([1], (0, 10, 1), (1, 1, 1))
OPEN = drawn(0, 7)  # neither policies nor the bound decide it, and the search takes hundreds of nodes


def branched(instance):
    """Sum, schedule and nodes of the search alone, which starts without any answer."""
    found = layouts(instance)
    best, nodes = [], []

    def better(picked):
        best.append(timed(instance, [(job, found[job][mode]) for job, mode in picked]))

    sizes, jobs = [server.gpus for server in instance.servers], mode_jobs(instance, found)
    Tree(sizes, jobs, math.inf, tick=lambda count=0: nodes.append(count), better=better).run()
    assert all(check(instance, each) == [] for each in best)
    least = min(best, key=lambda each: objective(instance, each))  # timing may improve an earlier one further
    return objective(instance, least), least, sum(nodes)


@profile(25)
@given(srpt_mapping_instances(feasible=True))
def test_the_search_alone_is_brute_force(instance):
    """Without a policy's answer and without the bound it finds the optimum."""
    assert branched(instance)[0] == pytest.approx(brute_force_srpt(instance)[0], rel=CLOSE)


@profile(20)
@given(srpt_mapping_instances(max_jobs=4, max_servers=2, max_gpus=3, max_stages=2, feasible=True))
def test_the_search_alone_with_four_jobs(instance):
    """One job more."""
    assert branched(instance)[0] == pytest.approx(brute_force_srpt(instance)[0], rel=CLOSE)


@pytest.mark.parametrize(("seed", "jobs"), [(0, 5), (1, 5), (2, 6), (3, 5), (4, 6), (5, 5), (6, 5), (7, 5)])
def test_search_and_intervals_agree_beyond_brute_force(seed, jobs):
    """Five and six jobs on three servers: two searches with nothing in common but the layouts."""
    instance = drawn(seed, jobs)
    by_search, by_intervals = branched(instance)[0], solve(instance, method="intervals", limits=Limits(time_s=60))
    assert by_intervals.status is TerminationStatus.OPTIMAL
    assert by_search == pytest.approx(by_intervals.objective, rel=1e-8)
    exact = solve(instance)
    assert exact.status is TerminationStatus.OPTIMAL
    assert exact.objective == pytest.approx(by_search, rel=SOLVED)


def test_by_hand():
    """The optimum starts the long job after the short one that arrives later."""
    for method in ("exact", "intervals", "milp"):
        result = solve(LONG_FIRST, method=method)
        assert (result.status, result.objective) == (TerminationStatus.OPTIMAL, pytest.approx(14.0, rel=SOLVED))
        assert result.solution.jobs["a"].start_s == pytest.approx(2.0, rel=1e-6)


def test_a_length_that_vanishes_beside_its_start():
    """At 3e6 s a job of 1e-11 s ends when it starts, in floats: the others still change places, 2e5 + 1.2e6 + 3e6."""
    instance = made([1], (0, 1e6, 1), (1e5, 1e5, 1), (3e6, 1e-11, 1))
    assert brute_force_srpt(instance)[0] == 4.4e6
    for method in ("intervals", "exact"):
        assert solve(instance, method=method).objective == pytest.approx(4.4e6, rel=CLOSE)


def test_cpsat_ends_where_the_start_is_bad():
    """Three jobs of all GPUs, and a policy's answer far from the optimum: tiny, whatever the digits of its times."""
    first = [(1, 2.0, 26.9866, 4.62285), (2, 2.0, 4.0, 37.9378), (1, 5.91578, 0.0, 1.0)]
    others = [
        gang(0, 1.231212, stages=[(2, 7.48057, sent, 4.0), (1, 2.0, 4.0, 37.9378), (1, 1.0, 0.0, 0.0)])
        for sent in (47.7443, 7.48057)
    ]
    instance = builders.made([2, 2], gang(4, 15.0362, predicted=0.01, stages=first), *others, inside=64, nic=1)
    result = solve(instance, method="intervals", limits=Limits(time_s=10))
    assert result.status is TerminationStatus.OPTIMAL
    assert result.objective == pytest.approx(brute_force_srpt(instance)[0], rel=SOLVED)


@pytest.mark.parametrize("seed", [111, 155])
def test_cpsat_neither_aborts_nor_hangs(seed):
    """Two small clusters: with times of more than 32 bits one ran on and the other died."""
    instance = small_cluster(seed)
    result = solve(instance, method="intervals", limits=Limits(time_s=20))
    assert result.status is TerminationStatus.OPTIMAL
    assert result.objective == pytest.approx(branched(instance)[0], rel=SOLVED)


def test_cpsat_does_not_creep():
    """Six gangs in 2,000 conflicts: where CP-SAT probes between restarts it moves times on by single units, and does not end."""
    instance = srpt_mapping.generate(preset="mixed", jobs=6, gpus=8, seed=4, load=3.0)
    result = solve(instance, method="intervals", limits=Limits(nodes=2000))
    assert result.status is TerminationStatus.OPTIMAL
    assert result.objective == pytest.approx(branched(instance)[0], rel=SOLVED)


def test_what_policies_leave_open():
    """OPEN is such an instance: a search proves more than the certificate, and improves on every policy."""
    result = solve(OPEN)
    assert result.bound_source.startswith(("dlsched branching", "CP-SAT"))
    policies = [solve(OPEN, method=name).objective for name in POLICIES]
    assert result.objective < min(policies) * (1 - 1e-3)


@pytest.mark.parametrize("method", ["exact", "intervals", "milp"])
def test_no_time_and_no_nodes(method):
    """A policy's answer with the status; infeasible is infeasible all the same."""
    for limits, status in (
        (Limits(time_s=0), TerminationStatus.TIME_LIMIT),
        (Limits(nodes=0), TerminationStatus.NODE_LIMIT),
    ):
        result = solve(OPEN, method=method, limits=limits)
        assert result.status is status
        assert check(OPEN, result.solution) == []
        assert result.objective == objective(OPEN, result.solution)
        larger = made([1, 1], (0, 1, 3))
        assert solve(larger, method=method, limits=limits).status is TerminationStatus.INFEASIBLE


@pytest.mark.parametrize("nodes", [1, 5, 11, 12, 20, 60])
def test_a_node_limit_keeps_answer_and_bound(nodes):
    """Among the policies, the layouts or the search: what is held, and never more nodes."""
    optimum = solve(OPEN).objective
    result = solve(OPEN, limits=Limits(nodes=nodes))
    assert result.status is TerminationStatus.NODE_LIMIT
    assert check(OPEN, result.solution) == []
    assert result.bound <= optimum * (1 + CLOSE) <= result.objective * (1 + 2 * CLOSE)
    assert verify(OPEN, result.certificate) >= result.certificate.value


def test_without_limits_the_search_ends_and_says_so(monkeypatch):
    """After ``TURNS`` turns; with a limit it goes on."""
    monkeypatch.setattr(exact, "TURNS", 1)
    monkeypatch.setattr(exact, "LOOKS", 1)
    monkeypatch.setattr(exact, "GLANCE", 1)
    result = solve(OPEN)
    assert result.status is TerminationStatus.FEASIBLE
    assert "the search ended after 1 turns; with a limit on time or nodes it goes on" in result.message
    assert solve(OPEN, limits=Limits(time_s=60)).status is TerminationStatus.OPTIMAL
    assert solve(OPEN, limits=Limits(nodes=10**6)).status is TerminationStatus.OPTIMAL


def test_our_own_search_comes_first(monkeypatch):
    """Ten gangs are proven by `exact` before the heuristics that know all jobs have a turn."""
    called = []
    for name in ("plan_incumbent", "anneal_incumbent"):
        monkeypatch.setattr(exact, name, lambda *_, name=name: called.append(name))
    instance = srpt_mapping.generate(preset="mixed", jobs=10, gpus=16, seed=2)
    assert solve(instance).status is TerminationStatus.OPTIMAL and called == []


@pytest.mark.parametrize(("preset", "seed"), [("mixed", 1), ("mixed", 3), ("data-parallel", 0)])
def test_no_heuristic_is_better(preset, seed):
    """Thirteen gangs on eight GPUs that want three times as many: within one limit on nodes, no heuristic's answer is better."""
    instance = srpt_mapping.generate(preset=preset, jobs=13, gpus=8, seed=seed, load=3.0)
    exact = solve(instance, limits=Limits(nodes=4000))
    assert check(instance, exact.solution) == []
    for method in srpt_mapping.FAMILY.methods.values():
        if method.kind == "heuristic" and method.runs_unasked(instance):
            other = solve(instance, method=method.name, limits=Limits(nodes=4000))
            assert exact.objective <= other.objective * (1 + CLOSE), method.name


@pytest.mark.parametrize("after", [1, 4, 12, 40])
def test_an_interrupt_keeps_the_best_answer(after):
    """Ctrl-C among the policies or in the search; the answer is the best that was reported."""
    reported = []

    def progress(now):
        reported.append(now.objective)
        if now.nodes >= after and now.objective is not None:
            raise KeyboardInterrupt

    result = solve(OPEN, progress=progress)
    assert result.status is TerminationStatus.INTERRUPTED
    assert check(OPEN, result.solution) == []
    assert result.objective == min(each for each in reported if each is not None)
    assert result.bound <= result.objective


def test_too_many_layouts():
    """Twelve servers of eight GPUs for jobs of sixteen: exact proves its answer by prices, and says so; intervals refuses."""
    instance = made([8] * 12, (0, 2, 16), (0, 9, 96), (1, 3, 16), ring=9.0)
    result = solve(instance)
    assert result.status is TerminationStatus.OPTIMAL
    assert result.bound_source == "certificate"
    assert result.message.startswith("layouts: found ")
    assert result.message.endswith(", allowed: 20,000; so the schedules were not searched")
    assert check(instance, result.solution) == []
    for method in ("intervals", "milp"):
        with pytest.raises(UsageError, match=r"layouts: found .* allowed: 20,000"):
            solve(instance, method=method)


def test_a_start_is_kept():
    """The best answer known from before, with a search that has no nodes; and one that breaks a rule is refused."""
    best = solve(OPEN)
    for method in ("exact", "intervals", "milp"):
        assert solve(OPEN, method=method, start=best, limits=Limits(nodes=0)).objective == best.objective
    early = {job: (0.0, start.placement) for job, start in best.solution.jobs.items()}
    with pytest.raises(UsageError, match="start: found a solution that breaks"):
        solve(OPEN, start=Schedule(early))


def test_twice_the_same():
    """Same schedule, same nodes, same sum."""
    for method in ("exact", "intervals"):
        first, second = solve(OPEN, method=method), solve(OPEN, method=method)
        assert first.solution == second.solution
        assert (first.objective, first.bound) == (second.objective, second.bound)
    assert branched(OPEN) == branched(OPEN)


def with_lists(instance, **changes):
    """The instance with other servers or jobs."""
    data = fields_of(instance)
    return Instance(**data | {key: change(data[key]) for key, change in changes.items()})


@profile(15)
@given(srpt_mapping_instances(feasible=True))
def test_another_server_never_hurts(instance):
    """Of any size: every old schedule remains, while more GPUs in a server may hurt."""
    before = branched(instance)[0]
    for gpus in (1, 2):
        more = with_lists(instance, servers=lambda servers, gpus=gpus: [*servers, {"id": "new", "gpus": gpus}])
        assert branched(more)[0] <= before * (1 + CLOSE)


@profile(15)
@given(srpt_mapping_instances(feasible=True))
def test_another_job_costs_at_least_its_own_end(instance):
    """Without the last job, the others do as well as with it: the sum falls by its end or more."""
    if len(instance.jobs) == 1:
        return
    before, schedule, _ = branched(instance)
    fewer = branched(with_lists(instance, jobs=lambda jobs: jobs[:-1]))[0]
    last = completion_times(instance, schedule)[instance.jobs[-1].id]
    assert fewer <= (before - last) * (1 + CLOSE) + CLOSE * before


@profile(15)
@given(srpt_mapping_instances(feasible=True))
def test_the_search_does_not_depend_on_the_order(instance):
    """Jobs and servers reversed: the same sum."""
    turned = with_lists(instance, jobs=lambda jobs: jobs[::-1], servers=lambda servers: servers[::-1])
    assert branched(turned)[0] == pytest.approx(branched(instance)[0], rel=CLOSE)


def test_identical_jobs():
    """Eight of one second and one GPU on two: 2 (1 + 2 + 3 + 4), found in few nodes as twins keep their order."""
    value, _, nodes = branched(made([1, 1], *[(0, 1, 1)] * 8))
    assert value == 20.0
    assert nodes < 200


@pytest.mark.parametrize("method", ["exact", "intervals"])
def test_an_answer_is_held_before_anything_long_begins(method):
    """A node limit of 1 ends before the bound and the layouts are through; a policy's answer is there."""
    instance = srpt_mapping.generate(preset="mixed", jobs=30, gpus=16, seed=3)
    result = srpt_mapping.solve(instance, method=method, limits=Limits(nodes=1))
    assert result.solution is not None


@pytest.mark.parametrize("wide", [True, False])
def test_many_servers_or_stages_are_refused_not_overflown(wide):
    """400 servers for a job of all, or jobs of 400 stages over two: policies answer, prices prove it, nothing is searched."""
    job = gang(0.0, 1.0, stages=[(1, 1.0, 1.0)] * 399 + [(1, 1.0)])
    instance = builders.made([1] * 399 + [2] if wide else [250, 250], job, job, nic=1.0)
    result = srpt_mapping.solve(instance, limits=Limits(nodes=14))  # thirteen policies, and an order of annealing
    assert result.status is TerminationStatus.OPTIMAL and result.bound_source == "certificate"
    assert "were not searched" in result.message
