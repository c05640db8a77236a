"""Random instances: reproducible, valid, and what their presets say."""

import json

import pytest

from dlsched.families import instance_from
from dlsched.ring_allocation import example, generate, marginal, objective, solve
from dlsched.ring_allocation.generator import PRESETS

every_preset = pytest.mark.parametrize("preset", PRESETS)


@every_preset
@pytest.mark.parametrize("jobs", [1, 4])
@pytest.mark.parametrize("max_gpus", [1, 2, 5, 64])
def test_every_preset_is_valid_and_solvable(preset, jobs, max_gpus):
    """Written and read again; no job may have more than ``max_gpus``; the exact method solves it."""
    for seed in range(3):
        instance = generate(preset=preset, jobs=jobs, seed=seed, max_gpus=max_gpus)
        assert instance_from(json.loads(json.dumps(instance.as_data())), "x").sha256 == instance.sha256
        assert len(instance.jobs) == jobs
        assert all(instance.counts(index)[-1] <= max_gpus for index in range(jobs))
        assert str(solve(instance).status) in ("optimal", "infeasible")


def test_gpus_by_default():
    """6.5 GPUs a job, rounded up; or as many as asked for."""
    assert [generate(jobs=jobs).gpus for jobs in (1, 2, 3)] == [7, 13, 20]
    assert generate(jobs=3, gpus=4).gpus == 4


@pytest.mark.parametrize("seed", range(5))
def test_adversarial_stalls_marginal(seed):
    """Three GPUs are slower than two: marginal gives no job more than two, and the optimum is better by far."""
    instance = generate(preset="adversarial", jobs=6, seed=seed)
    found = marginal(instance)
    assert set(found.gpus.values()) <= {1, 2}
    assert solve(instance).objective < 0.9 * objective(instance, found)


@pytest.mark.parametrize("seed", range(5))
def test_concave_is_where_marginal_is_optimal(seed):
    """Convex times (up to rounding): marginal's objective is the proven optimum."""
    instance = generate(preset="concave", jobs=8, seed=seed)
    assert objective(instance, marginal(instance)) == pytest.approx(solve(instance).objective, rel=1e-12)


def test_the_example_is_the_formats():
    """Two jobs on six GPUs, as the documentation prints them."""
    data = example().as_data()
    assert (data["name"], data["gpus"], [job["id"] for job in data["jobs"]]) == ("two-jobs", 6, ["a", "b"])
