"""Finish-time fairness of allocations, by hand."""

import pytest

from dlsched.ring_allocation import Allocation, Instance, example, figures, solve

LAW = {"theta": [8.0, 0.5, 0.0, 0.0], "samples": 1.0, "model_bytes": 0.0}


def test_by_hand():
    """Shares of 9 // 3 = 3 GPUs: a runs on 2 of them in 6 s; b needs 4, 5 s; c is restarted, 2 s an epoch more."""
    jobs = [
        {"id": "a", "epochs": 2, "epoch_time_s": {1: 10.0, 2: 6.0, 3: 7.0, 4: 4.0}, "weight": 5.0},
        {"id": "b", "epochs": 1, "epoch_time_s": {4: 5.0, 8: 3.0}},
        {"id": "c", "epochs": 3, "epoch_time_s": {1: 4.0, 2: 3.0}, "current_gpus": 2, "restart_s": 6.0},
    ]
    instance = Instance(name="three", gpus=9, jobs=jobs)
    found = figures(instance, Allocation({"a": 4, "b": 4, "c": 1}))
    ratios = [8.0 / 12.0, 1.0, (12.0 + 6.0) / 9.0]
    assert found["max_rho"] == 2.0 and found["mean_rho"] == pytest.approx(sum(ratios) / 3)
    assert found["jain_index"] == pytest.approx(sum(ratios) ** 2 / (3 * sum(each**2 for each in ratios)))


def test_laws_and_jobs_without_epochs():
    """Of 8 / w + (w - 1) / 2 on at most 8 // 2 = 4 GPUs the least is at 4; one without epochs is left out."""
    jobs = [{"id": "a", "epochs": 1, "speed_law": LAW}, {"id": "b", "epochs": 0, "speed_law": LAW}]
    instance = Instance(name="law", gpus=8, jobs=jobs)
    assert figures(instance, Allocation({"a": 1, "b": 1}))["mean_rho"] == pytest.approx(8.0 / 3.5)
    capped = Instance(name="law", gpus=8, jobs=[jobs[0] | {"max_gpus": 2}, jobs[1]])
    assert figures(capped, Allocation({"a": 1, "b": 1}))["mean_rho"] == pytest.approx(8.0 / 4.5)
    nobody = Instance(name="none", gpus=8, jobs=jobs[1:])
    assert figures(nobody, Allocation({"b": 1})) == {"max_rho": 1.0, "mean_rho": 1.0, "jain_index": 1.0}


def test_results_carry_them():
    """An allocation that gives everyone the fair share has ratios of 1."""
    result = solve(example())
    assert list(result.figures) == ["max_rho", "mean_rho", "jain_index"]
    assert result.figures == figures(example(), result.solution)
