"""The checker by hand: what an allocation costs, every rule by name and amount, and finish-time fairness."""

import pytest

from dlsched.core.errors import UsageError
from dlsched.ring_allocation import Allocation, check, example, figures, objective, solve
from dlsched.ring_allocation.checker import infeasible

from .jobs import build

STEEP = {"theta": [1, 2, 3, 4], "samples": 60, "model_bytes": 5}
INSTANCE = build(
    6,
    {"epochs": 10, "epoch_time_s": {1: 9.0, 2: 5.0, 4: 3.0}, "current_gpus": 2, "restart_s": 7.0},
    {"epochs": 2, "epoch_time_s": {1: 8.0, 3: 4.0}, "weight": 3.0, "current_gpus": 9, "restart_s": 0.5},
    {"epochs": 4, "speed_law": STEEP, "max_gpus": 3, "restart_s": 50},
)


@pytest.mark.parametrize(
    ("a", "b", "c", "expected"),
    [
        # a: 10 epochs, no restart on 2; b: weight 3, always a restart; c: tau(1) = 64, tau(3) = 20 + 4 + 10 + 4, none
        (1, 1, 1, (90 + 7) + 3 * (16 + 0.5) + 256),
        (2, 1, 1, 50 + 3 * (16 + 0.5) + 256),
        (2, 3, 1, 50 + 3 * (8 + 0.5) + 256),
        (2, 1, 3, 50 + 3 * (16 + 0.5) + 4 * 38),
        (4, 1, 1, (30 + 7) + 3 * (16 + 0.5) + 256),
    ],
)
def test_objective_by_hand(a, b, c, expected):
    """Weight x (epochs x time + restart when the count changes), summed."""
    allocation = Allocation({"a": a, "b": b, "c": c})
    assert objective(INSTANCE, allocation) == expected
    assert check(INSTANCE, allocation) == []


def rules(gpus):
    """Broken rules as (rule, where, amount)."""
    return [(violation.rule, violation.where, violation.amount) for violation in check(INSTANCE, Allocation(gpus))]


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        ({"a": 4, "b": 3, "c": 1}, [("capacity", "", 2.0)]),
        ({"a": 3, "b": 1, "c": 1}, [("choice", "a", None)]),
        ({"a": 0, "b": 1, "c": 1}, [("choice", "a", None)]),
        ({"a": -1, "b": 1, "c": 1}, [("choice", "a", None)]),
        ({"a": 1, "b": 1, "c": 4}, [("choice", "c", None)]),
        ({"a": 1, "b": 1, "c": 0}, [("choice", "c", None)]),
        ({"a": 1, "c": 1}, [("choice", "b", None)]),
        ({}, [("choice", "a", None), ("choice", "b", None), ("choice", "c", None)]),
        ({"a": 1, "b": 1, "c": 1, "d": 1}, [("choice", "d", None)]),
        ({"a": 8, "b": 1, "c": 1}, [("choice", "a", None), ("capacity", "", 4.0)]),
    ],
)
def test_every_rule_by_name_and_amount(gpus, expected):
    """Capacity by how much; choice by job: not allowed, missing, or of no such job."""
    assert rules(gpus) == expected


def test_violations_read_as_sentences():
    """The rule, its place, and what was found."""
    assert [str(violation) for violation in check(INSTANCE, Allocation({"a": 4, "b": 3, "c": 7}))] == [
        "choice[c]: 7 GPUs is no allowed count",
        "capacity: 14 GPUs are given, the cluster has 6",
    ]


@pytest.mark.parametrize("gpus", [{"a": 3, "b": 1, "c": 1}, {"a": 1, "b": 1}])
def test_no_objective_without_times(gpus):
    """A count that is not allowed has no time; that is misuse. Too many GPUs still have one."""
    with pytest.raises(UsageError, match="no objective"):
        objective(INSTANCE, Allocation(gpus))
    assert objective(INSTANCE, Allocation({"a": 4, "b": 3, "c": 3})) == 37 + 25.5 + 152


@pytest.mark.parametrize("value", [1.0, True, "1", None, 1.5])
def test_counts_that_are_no_integers_break_a_rule(value):
    """From someone else's heuristic anything may come: the answer is a violation, never a pass or a TypeError."""
    assert rules({"a": value, "b": 1, "c": 1})[0][:2] == ("choice", "a")


def test_infeasible_by_counting():
    """Three jobs need 1 + 1 + 1: two GPUs are too few, three are enough."""
    few, enough = (INSTANCE.model_copy(update={"gpus": gpus}) for gpus in (2, 3))
    assert infeasible(few) == "the smallest counts add up to 3 GPUs, the cluster has 2"
    assert infeasible(enough) is None


def test_restart_only_for_running_jobs():
    """Without a current count no restart is charged, whatever the restart would cost."""
    assert objective(build(1, [5.0], restart_s=99.0), Allocation({"a": 1})) == 5.0
    assert objective(build(1, [5.0], restart_s=99.0, current_gpus=2), Allocation({"a": 1})) == 104.0


LAW = {"theta": [8.0, 0.5, 0.0, 0.0], "samples": 1.0, "model_bytes": 0.0}


def test_by_hand():
    """Shares of 9 // 3 = 3 GPUs: a runs on 2 of them in 6 s; b needs 4, 5 s; c is restarted, 2 s an epoch more."""
    instance = build(
        9,
        {"epochs": 2, "epoch_time_s": {1: 10.0, 2: 6.0, 3: 7.0, 4: 4.0}, "weight": 5.0},
        {4: 5.0, 8: 3.0},
        {"epochs": 3, "epoch_time_s": {1: 4.0, 2: 3.0}, "current_gpus": 2, "restart_s": 6.0},
    )
    found = figures(instance, Allocation({"a": 4, "b": 4, "c": 1}))
    ratios = [8.0 / 12.0, 1.0, (12.0 + 6.0) / 9.0]
    assert found["max_rho"] == 2.0 and found["mean_rho"] == pytest.approx(sum(ratios) / 3)
    assert found["jain_index"] == pytest.approx(sum(ratios) ** 2 / (3 * sum(each**2 for each in ratios)))


def test_laws_and_jobs_without_epochs():
    """Of 8 / w + (w - 1) / 2 on at most 8 // 2 = 4 GPUs the least is at 4; one without epochs is left out."""
    idle = {"epochs": 0, "speed_law": LAW}
    instance = build(8, LAW, idle)
    assert figures(instance, Allocation({"a": 1, "b": 1}))["mean_rho"] == pytest.approx(8.0 / 3.5)
    capped = build(8, {"speed_law": LAW, "max_gpus": 2}, idle)
    assert figures(capped, Allocation({"a": 1, "b": 1}))["mean_rho"] == pytest.approx(8.0 / 4.5)
    assert figures(build(8, idle), Allocation({"a": 1})) == {"max_rho": 1.0, "mean_rho": 1.0, "jain_index": 1.0}


def test_results_carry_them():
    """An allocation that gives everyone the fair share has ratios of 1."""
    result = solve(example())
    assert list(result.figures) == ["max_rho", "mean_rho", "jain_index"]
    assert result.figures == figures(example(), result.solution)
