"""What drawn instances of ring_allocation are, and what the checker and the optimum do when they change."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched import TerminationStatus
from dlsched.ring_allocation import Allocation, Instance, check, solve
from dlsched.testing import brute_force_allocation, ring_allocation_instances


def profile(examples):
    """Deterministic, without a clock."""
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None)


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


@profile(25)
@given(ring_allocation_instances(), st.integers(1, 10))
def test_more_gpus_never_hurt(instance, more):
    """With more GPUs and the same jobs the proven optimum does not rise, and a feasible instance stays so."""
    head = {key: value for key, value in instance.as_data().items() if key != "format"}
    larger = solve(Instance(**(head | {"gpus": instance.gpus + more})))
    smaller = solve(instance)
    if smaller.objective is not None:
        assert larger.status is TerminationStatus.OPTIMAL
        assert larger.objective <= smaller.objective * (1 + 1e-12)
