"""What an instance refuses, and how it says so; what it accepts; its figures; its way to a file and back; its hash."""

import copy
import math

import pytest

from dlsched import srpt_mapping
from dlsched.core.errors import InstanceError
from dlsched.srpt_mapping.checker import infeasible
from dlsched.srpt_mapping.instance import Instance

BASE = {
    "name": "base",
    "intra_bandwidth_bytes_per_s": 16.0,
    "nic_bandwidth_bytes_per_s": 8.0,
    "servers": [{"id": "s0", "gpus": 4}, {"id": "s1", "gpus": 1}],
    "jobs": [
        {
            "id": "a",
            "release_s": 0.5,
            "iterations": 10.0,
            "predicted_iterations": 4.0,
            "group": "g",
            "user": "u",
            "model": "m",
            "stages": [
                {"replicas": 2, "compute_s": 1.0, "output_bytes": 8.0, "parameter_bytes": 4.0},
                {"replicas": 1, "compute_s": 2.0, "output_bytes": 0.0, "parameter_bytes": 0.0},
            ],
        },
        {
            "id": "b",
            "release_s": 0.0,
            "iterations": 3.0,
            "stages": [{"replicas": 1, "compute_s": 1.0, "output_bytes": 0.0, "parameter_bytes": 0.0}],
        },
    ],
}
MODERATE = "a number from 1e-100 to 1e100"
TIMES = "found times that are vast or vanish, allowed: seconds of a job and of its prediction from 1e-100 to 1e100"
COMPUTE = ("jobs", 0, "stages", 0, "compute_s")
MISSING = object()


def changed(where, value):
    """The base with one field set, or taken away."""
    data = copy.deepcopy(BASE)
    held = data
    for step in where[:-1]:
        held = held[step]
    if value is MISSING:
        del held[where[-1]]
    else:
        held[where[-1]] = value
    return data


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (("servers", 1, "id"), "s0", "servers[1].id: found 's0', the id of servers[0] too, allowed: unique ids"),
        (("jobs", 1, "id"), "a", "jobs[1].id: found 'a', the id of jobs[0] too, allowed: unique ids"),
        (
            ("jobs", 0, "stages", 1, "output_bytes"),
            3.0,
            "jobs[0].stages[1].output_bytes: found 3.0, allowed: 0 for the last stage",
        ),
        (COMPUTE, 0.0, "jobs[0].stages[0].compute_s: found 0.0, allowed: a number > 0"),
        (COMPUTE, 1e-101, f"jobs[0].stages[0].compute_s: found 1e-101, allowed: {MODERATE}"),
        (COMPUTE, 1e101, f"jobs[0]: {TIMES}"),
        (COMPUTE, math.inf, "jobs[0].stages[0].compute_s: found inf, allowed: a finite number"),
        (("jobs", 0, "iterations"), 0.5, "jobs[0].iterations: found 0.5, allowed: a number >= 1"),
        (("jobs", 0, "iterations"), 1e100, f"jobs[0]: {TIMES}"),
        (("jobs", 0, "iterations"), math.nan, "jobs[0].iterations: found nan, allowed: a finite number"),
        (("jobs", 0, "iterations"), MISSING, "jobs[0].iterations: found nothing, allowed: this field is required"),
        (("jobs", 0, "predicted_iterations"), 0, "jobs[0].predicted_iterations: found 0, allowed: a number > 0"),
        (("jobs", 0, "predicted_iterations"), 1e-102, f"jobs[0]: {TIMES}"),
        (("jobs", 0, "predicted_iterations"), 1e200, f"jobs[0]: {TIMES}"),
        (("jobs", 0, "release_s"), -1.0, "jobs[0].release_s: found -1.0, allowed: a number >= 0"),
        (("jobs", 0, "release_s"), 1e101, "jobs[0].release_s: found 1e+101, allowed: a number up to 1e100"),
        (("jobs", 0, "release_s"), "1", 'jobs[0].release_s: found "1", allowed: a number'),
        (("jobs", 0, "group"), "", 'jobs[0].group: found "", allowed: a non-empty string'),
        (("jobs", 0, "stages"), [], "jobs[0].stages: found an empty list, allowed: a list with at least 1 entries"),
        (("jobs", 0, "stages", 0, "replicas"), 0, "jobs[0].stages[0].replicas: found 0, allowed: a number >= 1"),
        (("jobs", 0, "stages", 0, "replicas"), 1.5, "jobs[0].stages[0].replicas: found 1.5, allowed: an integer"),
        (
            ("jobs", 0, "stages", 0, "parameter_bytes"),
            -2.0,
            "jobs[0].stages[0].parameter_bytes: found -2.0, allowed: a number >= 0",
        ),
        (("jobs", 0, "stages", 0, "parameter_bytes"), 1e308, f"jobs[0]: {TIMES}"),
        (("jobs", 0, "gpus"), 3, "jobs[0].gpus: found an unknown field, allowed: only the fields of the format"),
        (("jobs",), [], "jobs: found an empty list, allowed: a list with at least 1 entries"),
        (("servers",), [], "servers: found an empty list, allowed: a list with at least 1 entries"),
        (("servers", 0, "gpus"), 0, "servers[0].gpus: found 0, allowed: a number >= 1"),
        (("servers", 0, "gpus"), True, "servers[0].gpus: found true, allowed: an integer"),
        (("servers", 0, "cpus"), 1, "servers[0].cpus: found an unknown field, allowed: only the fields of the format"),
        (("colour",), "red", "colour: found an unknown field, allowed: only the fields of the format"),
        (
            ("nic_bandwidth_bytes_per_s",),
            1e-101,
            f"nic_bandwidth_bytes_per_s: found 1e-101, allowed: {MODERATE}",
        ),
        (
            ("intra_bandwidth_bytes_per_s",),
            1e101,
            f"intra_bandwidth_bytes_per_s: found 1e+101, allowed: {MODERATE}",
        ),
        (
            ("intra_bandwidth_bytes_per_s",),
            None,
            "intra_bandwidth_bytes_per_s: found null, allowed: a number",
        ),
    ],
)
def test_refusals(where, value, message):
    """Each names the field, what was found and what is allowed."""
    with pytest.raises(InstanceError) as refused:
        Instance(**changed(where, value))
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (COMPUTE, 1e-99),
        (COMPUTE, 1e98),
        (("jobs", 0, "release_s"), 1e100),
        (("jobs", 0, "iterations"), 1),
        (("jobs", 0, "predicted_iterations"), 1e-90),
        (("intra_bandwidth_bytes_per_s",), 1e100),
        (("jobs", 0, "stages", 0, "replicas"), 1000),
    ],
)
def test_what_is_near_the_limits_is_taken(where, value):
    """Whole numbers count as floats."""
    assert Instance(**changed(where, value)).name == "base"


def test_figures_by_hand():
    """GPUs, shares of the network card, positions, what is predicted, and the stages as tuples."""
    instance = Instance(**BASE)
    assert instance.total_gpus == 5
    assert instance.shares == (2.0, 8.0)
    assert instance.server_index == {"s0": 0, "s1": 1}
    assert instance.index == {"a": 0, "b": 1}
    assert [(job.gpus, job.predicted) for job in instance.jobs] == [(3, 4.0), (1, 3.0)]
    graph = instance.jobs[0].graph
    assert (graph.replicas, graph.compute_s) == ((2, 1), (1.0, 2.0))
    assert (graph.output_bytes, graph.parameter_bytes) == ((8.0, 0.0), (4.0, 0.0))


def test_a_job_larger_than_the_cluster_is_valid():
    """It is infeasible, which the checker says with the numbers; as many GPUs as there are is feasible."""
    where = ("jobs", 0, "stages", 0, "replicas")
    assert infeasible(Instance(**changed(where, 4))) is None
    sentence = infeasible(Instance(**changed(where, 5)))
    assert sentence == "job 'a' takes 6 GPUs, all servers together have 5"


def test_defaults_are_left_out_of_the_file():
    """Job b has no prediction, group, user or model; job a has all."""
    data = Instance(**BASE).as_data()
    assert data["jobs"] == BASE["jobs"]
    assert data["servers"] == BASE["servers"]


def test_the_hash_is_of_the_problem():
    """Where it came from and what is known of it do not count; the name, a number or the order do."""
    hashed = Instance(**BASE).sha256
    known = {"optimum": 3.0, "proof": "by hand"}
    assert Instance(**BASE, source="a paper", known=known).sha256 == hashed
    assert Instance(**changed(("jobs", 0, "iterations"), 11.0)).sha256 != hashed
    assert Instance(**changed(("jobs", 0, "predicted_iterations"), 5.0)).sha256 != hashed
    assert Instance(**BASE | {"jobs": BASE["jobs"][::-1]}).sha256 != hashed
    assert Instance(**changed(("jobs", 0, "iterations"), 10)).sha256 == hashed


def test_a_job_with_another_release_is_as_if_made_with_it():
    """All fields but the release are those of the job, which stays as it was, and its graph is the same object."""
    job = srpt_mapping.generate(jobs=3, seed=1).jobs[1]
    before_s, graph = job.release_s, job.graph
    moved = job.released(7.5)
    assert moved == job.model_copy(update={"release_s": 7.5}) and moved.graph is graph
    assert job.release_s == before_s


def test_jobs_share_equal_stages():
    """They are one object, however they were given."""
    first, second = Instance(**BASE | {"jobs": [{**BASE["jobs"][0], "id": name} for name in "ab"]}).jobs
    assert first.stages is second.stages and first.graph is second.graph
