"""The checker by hand: what a placement costs, every rule by name and amount, theorem A, and the fairness index."""

import math

import pytest
from hypothesis import given, settings
from scipy.optimize import linprog

from dlsched.core.errors import UsageError
from dlsched.matching_placement.checker import (
    batch_split,
    check,
    completion_times,
    equal_share_time,
    figures,
    jain_index,
    job_time,
    objective,
)
from dlsched.matching_placement.solution import Placement
from dlsched.testing import brute_force_placement, matching_placement_instances

from .draw import entry, made

SETTINGS = settings(max_examples=70, derandomize=True, deadline=None, database=None)
INSTANCE = made(
    {"v0": "V", "v1": "V", "t0": "T", "x0": "X"},
    entry({"V": 4.0, "T": 2.0}, 12, iterations=10, gradient=6),
    entry({"V": 1.0, "X": 3.0, "Y": 9.0}, 8, iterations=2, gradient=4, min_workers=2, max_workers=2),
    bandwidth={"V": 4.0, "T": 2.0, "X": 8.0},
)


def test_objective_by_hand():
    """Compute Pi / R; exchange 2 (n - 1) D / (n r) at the slowest worker's bandwidth; their mean over the jobs."""
    placement = Placement({"a": ["v0", "t0"], "b": ["x0", "v1"]})
    # a: 10 (12 / 6 + 2 * 1/2 * 6 / 2) = 50; b: 2 (8 / 4 + 2 * 1/2 * 4 / 4) = 6
    assert completion_times(INSTANCE, placement) == {"a": 50.0, "b": 6.0}
    assert objective(INSTANCE, placement) == 28.0
    assert check(INSTANCE, placement) == []
    assert batch_split(INSTANCE.jobs[0], [INSTANCE.workers[0], INSTANCE.workers[2]]) == [8.0, 4.0]
    alone = completion_times(INSTANCE, Placement({"a": ["t0"], "b": ["x0", "v1"]}))
    assert alone["a"] == 60.0  # nothing to exchange


def test_jain_index_by_hand():
    """Equal share of a: R = (4 + 4 + 2) / 2 = 5, n = 2, r = 2; of b: R = (1 + 1 + 3) / 2, n = 2, r = 4."""
    placement = Placement({"a": ["v0", "t0"], "b": ["x0", "v1"]})
    shares = [10 * (12 / 5 + 6 / 2), 2 * (8 / 2.5 + 4 / 4)]
    assert [equal_share_time(INSTANCE, job) for job in INSTANCE.jobs] == pytest.approx(shares, rel=1e-15)
    p, q = 50 / shares[0], 6 / shares[1]
    assert jain_index(INSTANCE, placement) == pytest.approx((p + q) ** 2 / (2 * (p * p + q * q)), rel=1e-14)
    assert figures(INSTANCE, placement)["idle_workers"] == 0


def rules(workers):
    """Broken rules as (rule, where, amount)."""
    return [(found.rule, found.where, found.amount) for found in check(INSTANCE, Placement(workers))]


@pytest.mark.parametrize(
    ("workers", "expected"),
    [
        ({"a": ["v0"], "b": ["x0", "v0"]}, [("one_job", "v0", 1.0)]),
        ({"a": ["v0", "v0"], "b": ["x0", "v1"]}, [("one_job", "v0", 1.0)]),
        ({"a": ["v0", "w9"], "b": ["x0", "v1"]}, [("one_job", "w9", None)]),
        ({"a": ["v0", "x0"], "b": ["v1", "x0"]}, [("able", "a", None), ("one_job", "x0", 1.0)]),
        ({"a": ["t0"], "b": ["v0", "v1", "x0"]}, [("served", "b", 1.0)]),
        ({"a": ["t0"], "b": ["x0"]}, [("served", "b", 1.0)]),
        ({"a": ["t0"]}, [("served", "b", 2.0)]),
        ({"a": [], "b": ["x0", "v0"]}, [("served", "a", 1.0)]),
        ({"a": ["t0"], "b": ["x0", "v0"], "c": ["v1"]}, [("served", "c", None)]),
        ({}, [("served", "a", 1.0), ("served", "b", 2.0)]),
    ],
)
def test_every_rule_by_name(workers, expected):
    """Shared twice, unknown, not able, too many, too few, missing, invented."""
    assert rules(workers) == expected


@pytest.mark.parametrize("workers", [{"a": ["v0"]}, {"a": ["x0"], "b": ["v0"]}, {"a": ["v0"], "b": ["v0"]}])
def test_no_objective_without_times(workers):
    """A job without a worker, one that cannot serve it, one that serves two: the message names the first broken rule."""
    with pytest.raises(UsageError, match=r"^no objective: (served|able|one_job)"):
        objective(INSTANCE, Placement(workers))


def held(instance):
    """Jobs of the best placement with their workers."""
    placement = brute_force_placement(instance)[1]
    for job in instance.jobs:
        yield job, [instance.workers[instance.worker_index[name]] for name in placement.workers[job.id]]


@SETTINGS
@given(matching_placement_instances(feasible=True))
def test_theorem_a_the_best_split_is_proportional(instance):
    """The linear program min l, sum pi = Pi, pi <= l rho has the value Pi / R, which the checker's split attains."""
    for job, workers in held(instance):
        rates = [job.samples_per_s[worker.type] for worker in workers]
        rows = [[float(k == m) / rate for m in range(len(rates))] + [-1.0] for k, rate in enumerate(rates)]
        answer = linprog(
            [0.0] * len(rates) + [1.0],
            A_ub=rows,
            b_ub=[0.0] * len(rates),
            A_eq=[[1.0] * len(rates) + [0.0]],
            b_eq=[job.batch_samples],
        )
        best = job.batch_samples / sum(rates)
        assert answer.fun == pytest.approx(best, rel=1e-7)
        split = batch_split(job, workers)
        assert math.fsum(split) == pytest.approx(job.batch_samples, rel=1e-12)
        assert max(part / rate for part, rate in zip(split, rates, strict=True)) == pytest.approx(best, rel=1e-12)
        nothing_sent = job.model_copy(update={"gradient_bytes": 0.0})
        assert job_time(nothing_sent, workers) == pytest.approx(job.iterations * best, rel=1e-12)


@SETTINGS
@given(matching_placement_instances(feasible=True))
def test_theorem_a_whole_samples_lose_at_most_one(instance):
    """Rounding the split of a whole batch down and giving the rest one each adds at most max 1 / rho an iteration."""
    for job, workers in held(instance):
        job = job.model_copy(update={"batch_samples": float(math.ceil(job.batch_samples))})
        rates = [job.samples_per_s[worker.type] for worker in workers]
        split = [math.floor(part) for part in batch_split(job, workers)]
        rest = int(job.batch_samples) - sum(split)
        assert 0 <= rest <= len(split)
        whole = [part + (index < rest) for index, part in enumerate(split)]
        slowest = max(part / rate for part, rate in zip(whole, rates, strict=True))
        best = job.batch_samples / sum(rates)
        assert best * (1 - 1e-12) <= slowest <= (best + max(1 / rate for rate in rates)) * (1 + 1e-12)
