"""Every method and its statuses, agreement of exact routes, and what changes of an instance do to the optimum."""

import contextlib

import pytest
from conftest import profile
from hypothesis import given
from hypothesis import strategies as st

import dlsched
from dlsched import Limits, TerminationStatus, ring_allocation
from dlsched.core.errors import SolverError, UsageError
from dlsched.core.gap import meets
from dlsched.core.limits import Stopped
from dlsched.core.search import Search
from dlsched.ring_allocation import Allocation, Instance, check, example, generate, solve
from dlsched.ring_allocation.methods import METHODS
from dlsched.testing import brute_force, brute_force_allocation, ring_allocation_instances

from .jobs import build

ROUTES = [(method.name, solver) for method in METHODS.values() for solver in method.solvers or (None,)]
EXACT = [(name, solver) for name, solver in ROUTES if METHODS[name].kind == "exact"]
every_exact_route = pytest.mark.parametrize(("name", "solver"), EXACT)

ROOMY = Instance(name="roomy", gpus=16, jobs=example().jobs)
"""The example's jobs on sixteen GPUs, so that ``fixed`` has an answer too."""


def hard():
    """An instance whose optimum is not the LP bound, with branching to do."""
    return generate(preset="mixed", jobs=12, seed=5)


@pytest.mark.parametrize("name", ["fixed", "equal"])
def test_no_solution(name):
    """Eight GPUs a job, or an equal share above the smallest, do not fit although others do."""
    instance = build(16, {1: 3.0, 8: 1.0}, {9: 1.0})
    result = solve(instance, method=name)
    assert result.status is TerminationStatus.NO_SOLUTION
    assert result.solution is None
    assert solve(instance).status is TerminationStatus.OPTIMAL


@every_exact_route
@pytest.mark.parametrize(
    ("limits", "status"),
    [
        (Limits(time_s=0), TerminationStatus.TIME_LIMIT),
        (Limits(nodes=0), TerminationStatus.NODE_LIMIT),
        (Limits(time_s=0, nodes=50), TerminationStatus.TIME_LIMIT),
    ],
    ids=["no time", "no nodes", "no time, some nodes"],
)
def test_no_room_to_search(name, solver, limits, status):
    """A zero limit starts no search: its status, with a heuristic's checked answer and no claim of optimality."""
    result = solve(hard(), method=name, solver=solver, limits=limits)
    assert result.status is status
    assert result.solution is not None
    assert not ring_allocation.check(hard(), result.solution)
    assert result.limits == limits


@pytest.mark.parametrize("name", ["exact", "dp"])
def test_node_limit_of_our_own_algorithms(name):
    """Two nodes are too few: what is held is checked, and a bound, if any, is true."""
    full = solve(hard(), method=name)
    result = solve(hard(), method=name, limits=Limits(nodes=2))
    assert result.status is TerminationStatus.NODE_LIMIT
    assert result.objective >= full.objective
    if result.bound is not None:
        assert result.bound <= full.objective
    enough = solve(hard(), method=name, limits=Limits(nodes=10**6))
    assert (enough.status, enough.objective) == (TerminationStatus.OPTIMAL, full.objective)


@pytest.mark.parametrize("solver", METHODS["milp"].solvers)
def test_node_limit_of_solvers(solver):
    """One node: optimal all the same or stopped by it; bound and answer on their sides of the optimum."""
    result = solve(hard(), method="milp", solver=solver, limits=Limits(nodes=1))
    best = solve(hard()).objective
    assert result.status in (TerminationStatus.NODE_LIMIT, TerminationStatus.OPTIMAL)
    assert result.objective >= best * (1 - 1e-12)
    if result.bound is not None:
        assert result.bound <= best * (1 + 1e-9)


def test_names():
    """``knapsack`` is ``exact``; other names are misuse, with the list of those there are."""
    assert solve(example(), method="knapsack").method == "exact"
    with pytest.raises(UsageError, match="found 'simplex', allowed: exact, dp, milp"):
        solve(example(), method="simplex")


@pytest.mark.parametrize(
    ("name", "solver"),
    [("exact", "highs"), ("doubling", "cbc"), ("minlp", "highs"), ("milp", "cplex"), ("minlp", "gurobi")],
)
def test_solvers_that_a_method_cannot_use(name, solver):
    """Misuse that says which it can."""
    with pytest.raises(UsageError, match="solver"):
        solve(example(), method=name, solver=solver)


def test_a_negative_seed_is_misuse():
    """As every other number out of range."""
    with pytest.raises(UsageError, match="seed"):
        solve(example(), seed=-1)


@every_exact_route
def test_a_start_is_kept_and_checked(name, solver):
    """A feasible start is held when there is no time; one that breaks a rule is misuse."""
    start = Allocation({"a": 1, "b": 1})
    result = solve(example(), method=name, solver=solver, start=start, limits=Limits(time_s=0))
    assert result.objective <= ring_allocation.objective(example(), start)
    assert solve(example(), method=name, solver=solver, start=start).status is TerminationStatus.OPTIMAL
    with pytest.raises(UsageError, match="start: found a solution that breaks capacity"):
        solve(example(), method=name, solver=solver, start=Allocation({"a": 4, "b": 4}))


@every_exact_route
def test_progress_is_reported(name, solver):
    """The callback sees rising times and objectives that only improve, ending at the result's."""
    seen = []
    result = solve(hard() if name != "minlp" else example(), method=name, solver=solver, progress=seen.append)
    assert seen
    assert [p.elapsed_s for p in seen] == sorted(p.elapsed_s for p in seen)
    objectives = [p.objective for p in seen if p.objective is not None]
    assert objectives == sorted(objectives, reverse=True)
    assert objectives[-1] == result.objective


@pytest.mark.parametrize("error", [UsageError, SolverError, ValueError])
def test_a_progress_callback_that_raises_spoils_nothing(error):
    """After it the next solve gets its own answer, whichever solver runs in the child process."""

    def refuse(progress):
        if progress.doing == "incumbent":
            raise error("enough")

    with contextlib.suppress(error):
        solve(hard(), method="milp", solver="scip", progress=refuse)
    result = solve(example(), method="milp", solver="scip")
    assert result.status is TerminationStatus.OPTIMAL
    assert meets(result.objective, brute_force(example())[0])


@pytest.mark.parametrize(("name", "solver"), [route for route in EXACT if route[0] != "minlp"])
def test_interrupted(name, solver):
    """Ctrl-C while it runs: status ``interrupted`` with the best checked answer so far."""

    def interrupt(progress):
        if progress.objective is not None:
            raise KeyboardInterrupt

    result = solve(hard(), method=name, solver=solver, progress=interrupt)
    assert result.status is TerminationStatus.INTERRUPTED
    assert result.solution is not None


def test_dynamic_programming_says_what_it_would_need():
    """A hundred jobs on 2**40 useful GPUs: it stops before any memory is taken, with the answer of hull."""
    instance = build(2**45, *[{1: 2.0, 2: 1.9, 2**40: 1.0}] * 100)
    result = solve(instance, method="dp")
    assert result.status is TerminationStatus.MEMORY_LIMIT
    assert "GiB, allowed: 1.0 GiB" in result.message
    assert result.objective >= solve(instance).objective


def stopped_at(call, method):
    """Result of a method whose clock runs out at the given call of ``tick``."""
    calls = []

    def tick(self, nodes=0):
        calls.append(nodes)
        if len(calls) >= call:
            raise Stopped(TerminationStatus.TIME_LIMIT)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Search, "tick", tick)
        return solve(hard(), method=method, limits=Limits(time_s=3600)), len(calls)


@pytest.mark.parametrize("method", ["exact", "dp", "milp", "doubling", "marginal", "hull"])
def test_whenever_it_is_stopped_an_answer_is_held(method):
    """At the first call of tick, some calls later, and near the end: a checked answer, and a bound that is one, if any."""
    best = solve(hard()).objective
    _, calls = stopped_at(10**9, method)
    for call in sorted({1, 2, min(3, calls), max(1, calls // 2), calls}):
        result, _ = stopped_at(call, method)
        assert result.status in (TerminationStatus.TIME_LIMIT, TerminationStatus.OPTIMAL)
        assert not ring_allocation.check(hard(), result.solution)
        assert result.objective >= best * (1 - 1e-12)
        assert result.bound is None or result.bound <= best * (1 + 1e-12)


def test_bounds_that_are_stopped_hold_nothing():
    """Neither a bound nor an answer, and the reason."""
    for method in ("lagrange", "lp"):
        result, _ = stopped_at(3, method)
        assert (result.status, result.bound, result.solution) == (TerminationStatus.TIME_LIMIT, None, None)


def test_the_library_and_the_family_are_one():
    """``dlsched.solve`` and ``ring_allocation.solve`` give the same answer; ``check`` too."""
    first, second = dlsched.solve(example()), solve(example())
    assert first.solution == second.solution
    assert dlsched.check(example(), first.solution) == [] == ring_allocation.check(example(), first.solution)


def test_strategies_draw_the_awkward_cases():
    """Among 120 instances: infeasible, tight, ties, identical jobs, laws, restarts, counts without 1, beyond C, no epochs."""
    seen = set()

    @profile(120)
    @given(ring_allocation_instances())
    def look(instance):
        jobs = instance.jobs
        tables = [job.epoch_time_s for job in jobs if job.epoch_time_s is not None]
        seen.update(
            name
            for name, holds in {
                "infeasible": instance.minimum_gpus > instance.gpus,
                "just fits": instance.minimum_gpus == instance.gpus,
                "a GPU a job": instance.gpus == len(jobs) > 1,
                "identical jobs": len(jobs) > 1 and len({job.model_copy(update={"id": "any"}) for job in jobs}) == 1,
                "ties": any(len(set(table.times_s)) < len(table) for table in tables),
                "not monotone": any(list(table.times_s) != sorted(table.times_s, reverse=True) for table in tables),
                "without 1": any(table.counts[0] > 1 for table in tables),
                "one count": any(len(table) == 1 for table in tables),
                "beyond C": any(table.counts[-1] > instance.gpus for table in tables),
                "law": len(tables) < len(jobs),
                "no overhead": any(job.speed_law is not None and job.speed_law.theta[1] == 0 for job in jobs),
                "no epochs": any(job.epochs == 0 for job in jobs),
                "current not allowed": any(
                    job.current_gpus is not None and job.current_gpus not in instance.counts(index)
                    for index, job in enumerate(jobs)
                ),
                "restart": any(job.current_gpus is not None and job.restart_s > 0 for job in jobs),
            }.items()
            if holds
        )

    look()
    assert len(seen) == 14, sorted(seen)


@profile(30)
@given(ring_allocation_instances(feasible=True), st.data())
def test_a_perturbed_allocation_breaks_the_expected_rule(instance, data):
    """One job dropped, one invented, one count not allowed, one GPU too many: the checker names the rule and the place."""
    gpus = dict(brute_force_allocation(instance)[1].gpus)
    index = data.draw(st.integers(0, len(instance.jobs) - 1))
    victim, counts = instance.jobs[index].id, instance.counts(index)

    def rules(changed):
        return {(violation.rule, violation.where) for violation in check(instance, Allocation(changed))}

    assert rules(gpus) == set()
    assert rules({job: count for job, count in gpus.items() if job != victim}) == {("choice", victim)}
    assert ("choice", "nobody") in rules(gpus | {"nobody": 1})
    assert ("choice", victim) in rules(gpus | {victim: counts[-1] + 1})
    free = instance.gpus - sum(gpus.values())
    larger = [count for count in counts if count - gpus[victim] > free]
    if larger:
        violations = check(instance, Allocation(gpus | {victim: larger[0]}))
        assert [(v.rule, v.where, v.amount) for v in violations] == [
            ("capacity", "", float(larger[0] - gpus[victim] - free))
        ]


@pytest.mark.parametrize("name", sorted(METHODS))
def test_counting_proves_infeasibility_whatever_the_limits(name):
    """Two jobs that need a GPU each do not fit one; without any nodes the answer is the same."""
    jobs = [{"id": name, "epochs": 1, "epoch_time_s": {"1": 3.0}} for name in "ab"]
    result = solve(Instance(name="full", gpus=1, jobs=jobs), method=name, limits=Limits(nodes=0))
    assert result.status is TerminationStatus.INFEASIBLE and result.solution is None
