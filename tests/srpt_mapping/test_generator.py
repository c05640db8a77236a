"""Random instances of gangs that arrive: reproducible, feasible, of the load asked for, and what their presets say."""

import json
import math

import numpy as np
import pytest

from dlsched.cluster.published import published_stages
from dlsched.srpt_mapping.checker import check, infeasible
from dlsched.srpt_mapping.generator import PRESETS, example, generate
from dlsched.srpt_mapping.heuristics import fifo
from dlsched.srpt_mapping.instance import Instance

every_preset = pytest.mark.parametrize("preset", PRESETS)
SEEDS = range(20)


def four_digits(value):
    """Whether a figure has at most four significant digits."""
    return value == float(f"{value:.4g}")


def sizes(**arguments):
    """GPUs of the servers of an instance of one job."""
    return [server.gpus for server in generate(jobs=1, **arguments).servers]


def lengths_s(instance):
    """Seconds of every job at alpha^low."""
    return np.array([job.iterations for job in instance.jobs]) * [
        job.graph.uniform_s(instance.fastest) for job in instance.jobs
    ]


def test_default_arguments():
    """The first preset, ten jobs, 16 GPUs, seed 0, and a load that the command leaves out."""
    instance = generate()
    assert instance.name == "mixed-10x16-seed0"
    assert instance.source == "dlsched generate srpt_mapping --preset mixed --jobs 10 --gpus 16 --seed 0"


@every_preset
@pytest.mark.parametrize(("jobs", "gpus"), [(1, 1), (3, 2), (5, 3), (12, None), (30, 27)])
def test_every_preset_is_valid_and_feasible(preset, jobs, gpus):
    """Written and read again it is the same; as many jobs and GPUs as asked for; a schedule exists."""
    for seed in SEEDS:
        instance = generate(preset=preset, jobs=jobs, gpus=gpus, seed=seed)
        data = json.loads(json.dumps(instance.as_data()))
        del data["format"]
        assert Instance(**data).sha256 == instance.sha256
        assert [job.id for job in instance.jobs] == [f"j{index}" for index in range(jobs)]
        assert instance.total_gpus == (gpus or 16)
        releases = [job.release_s for job in instance.jobs]
        assert releases == sorted(releases)
        assert infeasible(instance) is None and check(instance, fifo(instance)) == []


@every_preset
def test_figures_are_plain(preset):
    """Four digits; whole iterations; releases of nine digits; no bytes of a published stage are rounded."""
    for seed in SEEDS:
        for job in generate(preset=preset, seed=seed, gpus=64).jobs:
            assert (
                four_digits(job.iterations) and job.iterations == round(job.iterations) and four_digits(job.predicted)
            )
            assert job.release_s == float(f"{job.release_s:.9g}")
            for stage in job.stages:
                assert four_digits(stage.compute_s)
                assert preset == "published" or (four_digits(stage.output_bytes) and four_digits(stage.parameter_bytes))


@every_preset
@pytest.mark.parametrize("load", [0.4, 1.2])
def test_load_is_gpu_seconds_over_capacity(preset, load):
    """GPU-seconds at alpha^low over G times the span of arrivals, within what chance allows."""
    instance = generate(preset=preset, jobs=600, gpus=64, load=load, seed=1)
    offered = float(lengths_s(instance) @ [instance.units_of(job) for job in instance.jobs]) / instance.units
    assert offered / (64 * instance.jobs[-1].release_s) == pytest.approx(load, rel=0.15)
    gaps = np.diff([job.release_s for job in instance.jobs])
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.2)
    assert instance.source.split("\n")[0].endswith(f"--load {load:g}")


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        (1, [1]),
        (3, [2, 1]),
        (8, [2, 2, 2, 2]),
        (9, [4, 4, 1]),
        (16, [4, 4, 4, 4]),
        (17, [8, 8, 1]),
        (60, [8] * 7 + [4]),
    ],
)
def test_servers_are_of_one_size(gpus, expected):
    """Two GPUs each, or four, where at most four such servers hold all; otherwise eight; the last has what is left."""
    assert sizes(gpus=gpus) == expected


def test_uneven_servers():
    """All four sizes occur and no other; none has more than half of all GPUs, unless there is one GPU only."""
    drawn = [sizes(preset="uneven-servers", gpus=40, seed=seed) for seed in SEEDS]
    assert {size for each in drawn for size in each} == {1, 2, 4, 8}
    assert max(size for seed in SEEDS for size in sizes(preset="uneven-servers", gpus=8, seed=seed)) == 4
    assert sizes(preset="uneven-servers", gpus=1) == [1]


@pytest.mark.parametrize(
    ("preset", "gpus", "stages"),
    [
        ("mixed", {1, 2, 3, 4, 6, 8, 12, 16}, {1, 2, 3, 4}),
        ("communication-heavy", {1, 2, 3, 4, 6, 8, 12, 16}, {1, 2, 3, 4}),
        ("data-parallel", {1, 2, 4, 8, 16}, {1}),
        ("single-gpu", {1, 2, 4, 8}, {1}),
        ("published", {1, 2, 4, 8, 16}, {1, 2, 4}),
        ("recurring", {1, 2, 3, 4, 6, 8, 12, 16}, {1, 2, 3, 4}),
        ("uneven-servers", {1, 2, 3, 4, 6, 8, 12, 16}, {1, 2, 3, 4}),
    ],
)
def test_sizes_and_stages_of_jobs(preset, gpus, stages):
    """Those that the preset names occur and no others; on a small cluster only those that fit; only the last sends nothing."""
    jobs = generate(preset=preset, jobs=600, gpus=64).jobs
    assert {job.gpus for job in jobs} == gpus
    assert {len(job.stages) for job in jobs} == stages
    assert all(stage.output_bytes > 0 for job in jobs for stage in job.stages[:-1])
    assert {job.gpus for job in generate(preset=preset, jobs=200, gpus=4).jobs} == {size for size in gpus if size <= 4}


def test_heavy_communication():
    """Over placements an iteration may vary twentyfold where it does little in mixed: the median of jobs on several GPUs."""
    median = {}
    for preset in ("mixed", "communication-heavy"):
        instance = generate(preset=preset, jobs=400, gpus=64)
        least_s, slowest = [job.graph.uniform_s(instance.fastest) for job in instance.jobs], min(instance.shares)
        ratios = [
            job.graph.uniform_s(slowest) / low for job, low in zip(instance.jobs, least_s, strict=True) if job.gpus > 1
        ]
        median[preset] = np.median(ratios)
    assert median["mixed"] < 2 < 8 < median["communication-heavy"] < 25


def test_single_gpu_jobs_have_the_quantiles():
    """93 % on one GPU; a twentieth, half, and all but a twentieth and a hundredth of the jobs are as short as Philly's."""
    instance = generate(preset="single-gpu", jobs=6000, gpus=64, seed=2)
    assert np.mean([job.gpus == 1 for job in instance.jobs]) == pytest.approx(0.93, abs=0.01)
    found = [
        float(np.mean(lengths_s(instance) <= 1.01 * quantile_s)) for quantile_s in (48.0, 1144.0, 43648.0, 254884.0)
    ]
    assert found == pytest.approx([0.05, 0.5, 0.95, 0.99], abs=0.02)


def test_recurring_jobs():
    """Groups have one user, one model and like lengths; models one graph; predictions are off by a lognormal factor."""
    jobs = generate(preset="recurring", jobs=800, gpus=64, seed=3).jobs
    groups = {job.group: (job.user, job.model, job.graph) for job in jobs}
    assert all(groups[job.group] == (job.user, job.model, job.graph) for job in jobs)
    assert len({(job.model, job.graph) for job in jobs}) == len({job.model for job in jobs})
    logs = np.log([job.predicted / job.iterations for job in jobs])
    assert logs.mean() == pytest.approx(0, abs=0.06) and logs.std() == pytest.approx(0.5, abs=0.05)
    within = [np.std([math.log(job.iterations) for job in jobs if job.group == group]) for group in list(groups)[:50]]
    assert np.mean(within) < 0.3


def test_published_stages_are_the_published_ones():
    """Each job is a cut of one published model; the source names its jobs, and where its figures come from."""
    models = {model.model: model for model in published_stages()}
    seen = set()
    for seed in SEEDS:
        instance = generate(preset="published", seed=seed)
        assert "Chosen by dlsched, not measured" in instance.source
        for job in instance.jobs:
            model = models[job.model]
            cut = model.stages(len(job.stages), [stage.replicas for stage in job.stages])
            assert [stage.compute_s for stage in job.stages] == pytest.approx(
                [each.compute_s for each in cut], rel=1e-3
            )
            assert [(stage.output_bytes, stage.parameter_bytes) for stage in job.stages] == [
                (each.output_bytes, each.parameter_bytes) for each in cut
            ]
            (head,) = (line for line in instance.source.split("\n") if line.startswith(f"{job.model} ("))
            assert job.id in head.partition(" (")[2].partition(")")[0].split(", ")
            words = (
                model.iteration_source,
                model.parameter_source,
                model.work_source,
                model.iteration_how or "(measured)",
            )
            assert all(each in instance.source for each in words)
            seen.add(job.model)
    assert seen == set(models)


def test_the_example_by_hand():
    """Four jobs on two servers of two GPUs, under the name that the documentation prints."""
    data = example().as_data()
    assert (data["name"], [job["id"] for job in data["jobs"]]) == (
        "four-jobs",
        ["all-reduce", "pipeline", "long", "short"],
    )
