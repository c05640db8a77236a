"""Instances and allocations as data: what they accept, how messages locate what they refuse, and hashes."""

import hashlib
import json
import pickle

import numpy as np
import pytest

from dlsched.async_sgd.instance import Instance, Job
from dlsched.async_sgd.solution import Allocation, read_solution
from dlsched.core.errors import InputError, InstanceError
from dlsched.core.part_columns import validated

JOB = {
    "id": "a",
    "epochs": 10,
    "dataset_examples": 50000,
    "batch_examples": 128,
    "parameter_bytes": 1.02e8,
    "bandwidth_bytes_per_s": 1.25e9,
    "compute_s": 0.25,
    "update_s": 0.01,
    "shards": 1,
    "duplex": "full",
    "max_nodes": 32,
}
REQUIRED = [
    "id",
    "epochs",
    "dataset_examples",
    "batch_examples",
    "parameter_bytes",
    "bandwidth_bytes_per_s",
    "compute_s",
]
USABLE = "allowed: times that add up to between 1e-100 and 1e100 s"


def read(**changes):
    """The file of formats.md without its format, with changes at the top."""
    return Instance(**({"name": "ps", "nodes": 32, "jobs": [JOB]} | changes))


def with_job(**changes):
    """The same file, its job changed."""
    return read(jobs=[JOB | changes])


def plain(**changes):
    """A job with the required fields only, changed."""
    return {key: JOB[key] for key in REQUIRED} | changes


def test_the_example_of_the_format():
    """Every field in its unit, and what follows: 10 x 50000 / 128 mini-batches, .25 + 2 x .0816 + .01 s a cycle."""
    instance = read()
    (job,) = instance.jobs
    assert (instance.nodes, job.id, job.epochs, job.dataset_examples, job.batch_examples) == (32, "a", 10, 50000, 128)
    assert (job.parameter_bytes, job.bandwidth_bytes_per_s, job.compute_s, job.update_s) == (1.02e8, 1.25e9, 0.25, 0.01)
    assert (job.shards, job.duplex, job.max_nodes) == (1, "full", 32)
    assert job.batches == 3906.25
    assert job.cycle_s == pytest.approx(0.4232, rel=1e-15)
    assert instance.index == {"a": 0}


def test_the_defaults():
    """No update, one shard, full duplex, as many nodes as there are."""
    instance = read(nodes=7, jobs=[plain()])
    (job,) = instance.jobs
    assert (job.update_s, job.shards, job.duplex, job.max_nodes) == (0.0, 1, "full", None)
    assert instance.counts(0) == range(1, 8)


def test_counts_and_the_most_that_fits():
    """3 jobs on 10 nodes leave at most 8 to one; ``max_nodes`` may say less, or more; on fewer nodes than jobs it is one."""
    limits = [None, 5, 2**53]
    jobs = [plain(id=f"j{n}") | {"max_nodes": most} for n, most in enumerate(limits)]
    instance = read(nodes=10, jobs=jobs)
    assert [instance.counts(index) for index in range(3)] == [range(1, 11), range(1, 6), range(1, 2**53 + 1)]
    assert [instance.most(index) for index in range(3)] == [8, 5, 8]
    assert [read(nodes=1, jobs=jobs).most(index) for index in range(2)] == [1, 1]


@pytest.mark.parametrize(
    ("build", "where", "found"),
    [
        (lambda: read(nodes=0), "nodes", "found 0, allowed: a number >= 1"),
        (lambda: read(nodes=6.0), "nodes", "found 6.0, allowed: an integer"),
        (lambda: read(nodes=10**5000), "nodes", "found an integer of thousands of digits"),
        (lambda: read(jobs=[]), "jobs", "found an empty list"),
        (lambda: read(jobs=[None]), "jobs[0]", "found null"),
        (lambda: with_job(id=""), "jobs[0].id", 'found ""'),
        (lambda: with_job(cycle_s=3.0), "jobs[0].cycle_s", "found an unknown field"),
        (lambda: with_job(epochs=-1), "jobs[0].epochs", "found -1, allowed: a number >= 0"),
        (lambda: with_job(epochs=float("nan")), "jobs[0].epochs", "found nan"),
        (lambda: with_job(dataset_examples=0), "jobs[0].dataset_examples", "found 0, allowed: a number > 0"),
        (lambda: with_job(batch_examples="1"), "jobs[0].batch_examples", 'found "1", allowed: a number'),
        (lambda: with_job(parameter_bytes=-1), "jobs[0].parameter_bytes", "found -1, allowed: a number >= 0"),
        (lambda: with_job(bandwidth_bytes_per_s=0), "jobs[0].bandwidth_bytes_per_s", "found 0, allowed: a number > 0"),
        (lambda: with_job(compute_s=0), "jobs[0].compute_s", "found 0, allowed: a number > 0"),
        (lambda: with_job(update_s=-0.5), "jobs[0].update_s", "found -0.5, allowed: a number >= 0"),
        (lambda: with_job(shards=0), "jobs[0].shards", "found 0, allowed: a number >= 1"),
        (lambda: with_job(duplex="both"), "jobs[0].duplex", "found \"both\", allowed: 'full' or 'half'"),
        (lambda: with_job(max_nodes=0), "jobs[0].max_nodes", "found 0, allowed: a number >= 1"),
        (lambda: read(jobs=[JOB, JOB | {"compute_s": 1.0}]), "jobs[1].id", "found 'a', the id of jobs[0] too"),
    ],
)
def test_malformed_instances_name_the_field(build, where, found):
    """The message holds the path of the field, what was found and what is allowed."""
    with pytest.raises(InstanceError) as caught:
        build()
    assert str(caught.value).startswith(f"{where}: ")
    assert found in str(caught.value)
    assert "allowed: " in str(caught.value)


@pytest.mark.parametrize("field", REQUIRED)
def test_required_fields(field):
    """Without any of them the message names it."""
    job = {key: value for key, value in JOB.items() if key != field}
    with pytest.raises(InstanceError, match=rf"^jobs\[0\]\.{field}: found nothing, allowed: this field is required$"):
        read(jobs=[job])


@pytest.mark.parametrize(
    ("changes", "cycle_s"),
    [
        ({"compute_s": 1.1e100, "parameter_bytes": 0.0, "update_s": 0.0}, "1.1e+100"),
        ({"update_s": 2e100, "parameter_bytes": 0.0, "compute_s": 1e-50}, "2e+100"),
        ({"parameter_bytes": 1e110, "bandwidth_bytes_per_s": 1.0}, "2e+110"),
        ({"parameter_bytes": 1e300, "bandwidth_bytes_per_s": 1e-300}, "inf"),
        ({"parameter_bytes": 0.0, "update_s": 0.0, "compute_s": 1e-101}, "1e-101"),
        ({"parameter_bytes": 0.0, "update_s": 0.0, "compute_s": 5e-324}, "5e-324"),
    ],
)
def test_cycles_too_short_or_too_long(changes, cycle_s):
    """Beyond 1e-100 .. 1e100 s a cycle is refused, on its job, with its length; one that has no float included."""
    with pytest.raises(InstanceError) as caught:
        read(jobs=[JOB | {"id": "first"}, JOB | changes])
    assert str(caught.value) == f"jobs[1]: found a cycle of one worker of {cycle_s} s, {USABLE}"


@pytest.mark.parametrize("compute_s", [1e-100, 1e100])
def test_the_shortest_and_the_longest_cycle(compute_s):
    """The ends of the range are allowed."""
    job = with_job(parameter_bytes=0, update_s=0, compute_s=compute_s).jobs[0]
    assert job.cycle_s == compute_s


@pytest.mark.parametrize(
    "changes",
    [
        {"epochs": 1e200, "dataset_examples": 1e200, "batch_examples": 1.0},
        {"epochs": 1e100, "dataset_examples": 1e51, "batch_examples": 1.0},
        {"epochs": 1e-100, "dataset_examples": 1e-51, "batch_examples": 1.0},
        {"batch_examples": 5e-324},
    ],
)
def test_too_many_or_few_batches(changes):
    """Numbers with which times would overflow or lose their precision are refused on their job."""
    with pytest.raises(
        InstanceError, match=r"^jobs\[1\]: found too many or too few batches, allowed: epochs x dataset"
    ):
        read(jobs=[JOB | {"id": "first"}, JOB | changes])


def test_nothing_left_to_do_overflows_nothing():
    """0 epochs of a vast data set are 0 batches."""
    assert with_job(epochs=0, dataset_examples=1e308, batch_examples=1e-300).jobs[0].batches == 0.0


def canonical(data):
    """The hash as formats.md states it, by the standard library alone."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def test_hash_by_hand():
    """Floats as repr, defaults left out, ``known`` and ``source`` not covered."""
    job = {
        "id": "é",
        "epochs": 10.0,
        "dataset_examples": 100.0,
        "batch_examples": 4.0,
        "parameter_bytes": 1e8,
        "bandwidth_bytes_per_s": 1e9,
        "compute_s": 0.25,
    }
    expected = canonical({"format": "dlsched/async_sgd/1", "name": "n", "nodes": 4, "jobs": [job]})
    defaults = {"update_s": -0.0, "shards": 1, "duplex": "full"}
    known = {"optimum": 1.0, "proof": "by hand"}
    variants = [
        Instance(name="n", nodes=4, jobs=[job]),
        Instance(name="n", nodes=4, jobs=[job | {"epochs": 10, "compute_s": 0.25, "parameter_bytes": 10**8}]),
        Instance(name="n", nodes=4, jobs=[job | defaults | {"max_nodes": None}], source="here", known=known),
        Instance(name="n", nodes=4, jobs=[job | {"max_nodes": 4}]),
        Instance(name="n", nodes=4, jobs=(Job(**job),)),
    ]
    assert {instance.sha256 for instance in variants} == {expected}


@pytest.mark.parametrize("max_nodes", [3, 5])
def test_only_a_limit_of_all_nodes_is_the_default(max_nodes):
    """A smaller or larger ``max_nodes`` stays in what the hash covers."""
    instance = read(nodes=4, jobs=[plain(max_nodes=max_nodes)])
    assert instance.canonical_data()["jobs"][0]["max_nodes"] == max_nodes
    assert "max_nodes" not in read(nodes=4, jobs=[plain(max_nodes=4)]).canonical_data()["jobs"][0]


def test_canonical_data_leaves_the_instance_as_it_is():
    """What was given is still written after hashing."""
    instance = read(nodes=4, jobs=[plain(max_nodes=4)])
    assert instance.sha256
    assert instance.as_data()["jobs"][0]["max_nodes"] == 4


@pytest.mark.parametrize(
    "change",
    [
        {"name": "m"},
        {"nodes": 33},
        *(
            {"jobs": [JOB | change]}
            for change in (
                {"id": "b"},
                {"epochs": 11},
                {"dataset_examples": 1},
                {"batch_examples": 64},
                {"parameter_bytes": 0},
                {"bandwidth_bytes_per_s": 1e9},
                {"compute_s": 0.5},
                {"update_s": 0.0},
                {"shards": 2},
                {"duplex": "half"},
                {"max_nodes": 31},
            )
        ),
    ],
)
def test_everything_that_matters_changes_the_hash(change):
    """Name, nodes and every field of a job."""
    assert read(**change).sha256 != read().sha256


def test_numpy_numbers_are_numbers():
    """Times that come from NumPy are accepted as floats."""
    assert Job(**(JOB | {"compute_s": np.float64(3.0)})).compute_s == 3.0


def test_speeds_that_overflow_are_refused():
    """Examples a second of all jobs together must be a number."""
    job = {
        "epochs": 1.0, "dataset_examples": 1e308, "batch_examples": 1e308, "parameter_bytes": 0.0,
        "bandwidth_bytes_per_s": 1.0, "compute_s": 1.0,
    }  # fmt: skip
    with pytest.raises(InstanceError, match=r"jobs\[0\]: found speeds that overflow"):
        Instance(name="fast", nodes=4, jobs=[{"id": "a", **job}, {"id": "b", **job}])


def test_products_on_the_way_may_overflow():
    """Only the number of batches counts, and it is rounded once."""
    assert with_job(epochs=1e200, dataset_examples=1e200, batch_examples=1e300).jobs[0].batches == pytest.approx(1e100)
    assert with_job(epochs=1e-200, dataset_examples=1e-200, batch_examples=1e-300).jobs[0].batches == pytest.approx(
        1e-100
    )


INSTANCE = Instance(name="two", nodes=4, jobs=[plain(id="a"), plain(id="b")])


def test_solutions_are_read_as_they_were_written():
    """Equal and hashable, pickled too, whether they are feasible or not; other data are located."""
    for nodes in ({"a": 1, "b": 3}, {}, {"c": -7}, {"a": 2**53}):
        allocation = Allocation(nodes)
        again = read_solution(allocation.as_data(), INSTANCE)
        assert again == allocation == pickle.loads(pickle.dumps(allocation)) and hash(again) == hash(allocation)
        assert allocation.as_data() == {"nodes": nodes}
    with pytest.raises(InputError, match=r"^solution.gpus: found an unknown field, allowed: only nodes$"):
        read_solution({"nodes": {}, "gpus": {}}, INSTANCE)


def test_allocations_are_immutable():
    """Neither the mapping can be changed nor the one it was made of matters later; NumPy's integers become Python's."""
    given = {"a": np.int64(1)}
    allocation = Allocation(given)
    given["a"] = 2
    assert allocation.nodes["a"] == 1 and type(allocation.nodes["a"]) is int
    with pytest.raises(TypeError):
        allocation.nodes["a"] = 2
    with pytest.raises(AttributeError):
        allocation.nodes = {}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"epochs": -0.0, "parameter_bytes": 0, "max_nodes": None},
        {"epochs": 0, "dataset_examples": 1e300, "batch_examples": 1e-300},
        {"epochs": 1e-75, "dataset_examples": 1e-75},  # only fractions decide on these batches
        {"epochs": 1e160},
        {"epochs": -1.0},
        {"epochs": True},
        {"epochs": "10"},
        {"epochs": float("nan")},
        {"compute_s": 0},
        {"compute_s": 2e100},
        {"compute_s": 1e-101, "parameter_bytes": 0.0, "update_s": 0.0},
        {"parameter_bytes": 1e300, "bandwidth_bytes_per_s": 1e-300},
        {"shards": 0},
        {"shards": 2.0},
        {"duplex": "none"},
        {"id": ""},
        {"max_nodes": 2**53 + 1},
        {"nodes": 3},
    ],
)
@pytest.mark.parametrize("without", [(), ("update_s", "shards"), ("epochs",)])
def test_many_jobs_are_validated_as_each_is(changes, without):
    """Column by column: the same jobs with the same fields given, or none."""
    changed = {name: value for name, value in (JOB | changes).items() if name not in without}
    rows = [JOB, changed, plain(id="b"), dict(reversed(JOB.items()))]
    try:
        each = [Job(**row) for row in rows]
    except InstanceError:
        with pytest.raises(ValueError):
            validated(Job, rows)
        return
    found = validated(Job, rows)
    assert found == each
    assert repr(list(map(vars, found))) == repr(list(map(vars, each)))
    assert [job.model_fields_set for job in found] == [job.model_fields_set for job in each]
    assert pickle.loads(pickle.dumps(found)) == each
