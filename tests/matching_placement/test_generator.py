"""Random instances of workers and jobs: reproducible, feasible, and what their presets say; the example by hand."""

import dataclasses
import json

import numpy as np
import pytest

from dlsched.cluster.published import published_rates
from dlsched.matching_placement.arrays import arrays, infeasible
from dlsched.matching_placement.checker import check, completion_times, objective
from dlsched.matching_placement.exact import solve_by_states
from dlsched.matching_placement.formulations.milp import configurations
from dlsched.matching_placement.generator import PRESETS, example, generate
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.solution import Placement

every_preset = pytest.mark.parametrize("preset", PRESETS)
SEEDS = range(50)
NICS = {1.25e9, 3.125e9, 5e9, 1.25e10}


def four_digits(value):
    """Whether a figure has at most four significant digits."""
    return value == float(f"{value:.4g}")


def test_default_arguments():
    """The first preset, six jobs, three workers for each, seed 0."""
    assert generate().name == f"{next(iter(PRESETS))}-6x18-seed0"


@every_preset
@pytest.mark.parametrize(("jobs", "gpus"), [(1, 1), (4, 4), (4, 5), (6, None), (30, 40)])
def test_every_preset_is_valid_and_feasible(preset, jobs, gpus):
    """Written and read again it is the same; as many jobs and workers as asked for; a placement exists."""
    for seed in SEEDS:
        instance = generate(preset=preset, jobs=jobs, gpus=gpus, seed=seed)
        data = json.loads(json.dumps(instance.as_data()))
        del data["format"]
        assert Instance(**data).sha256 == instance.sha256
        assert [job.id for job in instance.jobs] == [f"j{index}" for index in range(jobs)]
        assert len(instance.workers) == (3 * jobs if gpus is None else gpus)
        assert infeasible(instance) is None


@every_preset
def test_figures_are_plain(preset):
    """Four digits, batches of powers of two (times the published one), real network speeds, rates of types here."""
    for seed in SEEDS:
        instance = generate(preset=preset, seed=seed)
        assert {worker.bandwidth_bytes_per_s for worker in instance.workers} <= NICS
        for job in instance.jobs:
            assert set(job.samples_per_s) <= set(instance.types)
            assert four_digits(job.iterations)
            if preset != "published-rates":
                assert job.batch_samples == 2 ** round(np.log2(job.batch_samples))
                assert four_digits(job.gradient_bytes) and all(map(four_digits, job.samples_per_s.values()))


@every_preset
def test_jobs_differ_in_what_they_take(preset):
    """Over many jobs some need two workers, some are limited to 4 to 16, some cannot be served by every type."""
    drawn = [
        (instance, job) for instance in (generate(preset=preset, seed=seed) for seed in SEEDS) for job in instance.jobs
    ]
    assert {job.min_workers for _, job in drawn} == {1, 2}
    limits = [job.max_workers for _, job in drawn if job.max_workers is not None]
    assert (min(limits), max(limits)) == (4, 16) and len(limits) < len(drawn) / 2
    assert sum(job.min_workers for _, job in drawn) < 1.4 * len(drawn)
    assert sum(len(job.samples_per_s) < len(instance.types) for instance, job in drawn) > len(drawn) / 10


@every_preset
def test_numbers_of_types(preset):
    """Every number that the preset names occurs and no other; with few workers never more types than workers."""
    allowed = {"many-types": {8, 9, 10}, "distinct-workers": {18}, "published-rates": {5}}.get(preset, {2, 3, 4})
    assert {len(generate(preset=preset, seed=seed).types) for seed in SEEDS} == allowed
    assert len(generate(preset=preset, jobs=2, gpus=2).types) == 2


def test_only_compute_only_exchanges_nothing():
    """No gradients there; in every other preset each job has some."""
    for preset in PRESETS:
        for seed in SEEDS:
            silent = {job.gradient_bytes == 0 for job in generate(preset=preset, seed=seed).jobs}
            assert silent == {preset == "compute-only"}


def test_heavy_communication_leaves_workers_idle():
    """A slow and a fast network; in most instances the optimum uses fewer workers than it may.

    And the slowest link matters: in most, the placement that would be best if all links were fast takes at least
    a tenth longer than the optimum.
    """
    idle, misled = 0, 0
    for seed in range(20):
        instance = generate(preset="communication-heavy", jobs=4, gpus=12, seed=seed)
        assert {worker.bandwidth_bytes_per_s for worker in instance.workers} == {1.25e9, 1.25e10}
        shape = arrays(instance)
        best = solve_by_states(shape)
        idle += int(best.sum()) < min(12, int(shape.most.sum()))
        blind = solve_by_states(dataclasses.replace(shape, bandwidth=np.full(shape.types, 1.25e10)))
        misled += shape.total(blind) > 1.1 * shape.total(best)
    assert idle > 15
    assert misled > 10


def test_published_rates_are_the_published_ones():
    """Each job is one published model on the five types: its rates, its gradients if known; the source says whose."""
    models = set()
    for seed in SEEDS:
        instance = generate(preset="published-rates", seed=seed)
        assert list(instance.types) == ["K80", "P100", "T4", "V100", "A100"]
        assert "Chosen by dlsched, not measured" in instance.source
        for job in instance.jobs:
            (rates,) = (each for each in published_rates() if each.samples_per_s == dict(job.samples_per_s))
            assert job.batch_samples / rates.batch_samples in (1, 2, 4, 8)
            assert job.gradient_bytes == (rates.gradient_bytes or 1e8)
            (head,) = (line for line in instance.source.split("\n") if line.startswith(f"{rates.model} ("))
            assert job.id in head.partition(")")[0].partition("(")[2].split(", ")
            assert head.endswith(rates.gradient_source or "not known, 1e+08 chosen")
            assert all(words in instance.source for words in (*rates.sources.values(), *rates.how.values()))
            models.add(rates.model)
            alone_s = job.iterations * job.batch_samples / rates.samples_per_s["V100"]
            assert 899 <= alone_s <= 2 * 86401
    assert models == {rates.model for rates in published_rates()}


@pytest.mark.parametrize(
    ("of_b", "time_b", "of_a", "time_a"),
    [
        (["v0"], 320, ["v1", "t0", "t1"], 400 + 4 / 3 * 80),
        (["t0"], 400, ["v0", "v1"], 320 + 8),
        (["v0", "v1"], 160 + 32, ["t0", "t1"], 256000 / 240 + 80),
        (["t0", "t1"], 200 + 320, ["v0", "v1"], 320 + 8),
        (["v0", "t0"], 64000 / 360 + 320, ["v1", "t1"], 256000 / 520 + 80),
    ],
)
def test_the_example_by_hand(of_b, time_b, of_a, time_a):
    """For each set that b may get, the best set for a; the optimum is (328 + 400) / 2 = 364 s, with t1 idle.

    a has 256,000 samples and 2 T D = 2e11 bytes: the ring costs (n - 1) / n times 160 s with a T4 in it, 16 s without.
    b has 64,000 samples and 2 T D = 8e11 bytes: (n - 1) / n times 640 s with a T4, 64 s without; at most two workers.

    ==========  =================  =====================================================================  ======
    b on        its seconds        a's choices: V 640, VT 572.3, VTT 506.7, VV 328, VVT 384.9,              sum
                                   T 2133.3, TT 1146.7
    ==========  =================  =====================================================================  ======
    V           64000/200 = 320    VTT: 256000/640 + 2/3 160 = 506.7                                       826.7
    T           64000/160 = 400    VV: 256000/800 + 1/2 16 = 328 (VVT: 256000/920 + 2/3 160 = 384.9)       728
    VV          160 + 32 = 192     TT: 256000/240 + 1/2 160 = 1146.7                                      1338.7
    TT          200 + 320 = 520    VV: 328                                                                 848
    VT          177.8 + 320        VT: 256000/520 + 1/2 160 = 572.3                                       1070.1
    ==========  =================  =====================================================================  ======
    """
    instance = example()
    placement = Placement({"a": of_a, "b": of_b})
    assert check(instance, placement) == []
    assert completion_times(instance, placement) == pytest.approx({"a": time_a, "b": time_b}, rel=1e-12)
    assert objective(instance, placement) >= 364 and (objective(instance, placement) == 364) == (of_b == ["t0"])
    shape = arrays(instance)
    stock_left = shape.stock - [sum(name[0] == kind for name in of_b) for kind in "vt"]
    rows = configurations(shape, 0)
    assert shape.times(0, rows[(rows <= stock_left).all(axis=1)]).min() == pytest.approx(time_a, rel=1e-12)
