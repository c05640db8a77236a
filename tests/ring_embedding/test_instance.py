"""What an instance refuses, and how it says so; what it accepts; its figures; its way to a file and back; its hash."""

import copy

import pytest

from dlsched.cluster.utility import KINDS, Sigmoid, Sqrt
from dlsched.core.errors import InstanceError
from dlsched.ring_embedding.checker import infeasible
from dlsched.ring_embedding.instance import Instance, Job

from .test_brute_force import job, made

BASE = {
    "name": "base",
    "slots": 3,
    "nodes": [
        {"id": "s0", "capacity": {"gpu": 4.0, "disk": 0.0}},
        {"id": "s1", "capacity": {"cpu": 2.0}},
        {"id": "rack"},
        {"id": "core"},
    ],
    "links": [
        {"ends": ["s0", "rack"], "bandwidth_bytes_per_s": 8.0},
        {"ends": ["rack", "s1"], "bandwidth_bytes_per_s": 4.0},
    ],
    "jobs": [
        {
            "id": "a",
            "arrival_slot": 2,
            "max_workers": 5,
            "demand": {"gpu": 1.0, "disk": 0.0},
            "budget": {"gpu": 9.0},
            "bandwidth_bytes_per_s": 2.0,
            "rate": 10.0,
            "utility": {"kind": "sigmoid", "height": 3.0, "steepness": 0.5, "midpoint": 20.0},
        },
        {
            "id": "b",
            "max_workers": 1,
            "demand": {"cpu": 0.5},
            "bandwidth_bytes_per_s": 0.0,
            "rate": 1.0,
            "utility": {"kind": "capped", "slope": 1.0, "cap": 2.0},
        },
    ],
}
CYCLE = BASE["links"] + [{"ends": ["s1", "s0"], "bandwidth_bytes_per_s": 1.0}]
PATH = {"ends": ["s0", "s1"], "nodes": ["s0", "rack", "s1"]}
ROUTED = BASE | {"links": CYCLE, "paths": [PATH]}
MODERATE = "0, or a number from 1e-100 to 1e100"
UNKNOWN = "found an unknown field, allowed: only the fields of the format"
REQUIRED = "found nothing, allowed: this field is required"
MISSING = object()


def changed(where, value, base=BASE):
    """The base with one field set, or taken away."""
    data = copy.deepcopy(base)
    held = data
    for step in where[:-1]:
        held = held[step]
    if value is MISSING:
        del held[where[-1]]
    else:
        held[where[-1]] = value
    return data


def message(data):
    """What the refusal says."""
    with pytest.raises(InstanceError) as refused:
        Instance(**data)
    return str(refused.value)


@pytest.mark.parametrize(
    ("where", "value", "expected"),
    [
        (("slots",), 0, "slots: found 0, allowed: a number >= 1"),
        (("slots",), MISSING, f"slots: {REQUIRED}"),
        (("slots",), 1, "jobs[0].arrival_slot: found 2, allowed: a slot from 1 to 1"),
        (("jobs", 0, "arrival_slot"), 4, "jobs[0].arrival_slot: found 4, allowed: a slot from 1 to 3"),
        (("jobs", 0, "arrival_slot"), 0, "jobs[0].arrival_slot: found 0, allowed: a number >= 1"),
        (("jobs", 1, "id"), "a", "jobs[1].id: found 'a', the id of jobs[0] too, allowed: unique ids"),
        (("jobs", 0, "max_workers"), 0, "jobs[0].max_workers: found 0, allowed: a number >= 1"),
        (("jobs", 0, "rate"), 0.0, "jobs[0].rate: found 0.0, allowed: a number > 0"),
        (("jobs", 0, "rate"), 1e101, f"jobs[0].rate: found 1e+101, allowed: {MODERATE}"),
        (
            ("jobs", 0, "bandwidth_bytes_per_s"),
            -1.0,
            "jobs[0].bandwidth_bytes_per_s: found -1.0, allowed: a number >= 0",
        ),
        (("jobs", 0, "demand"), {}, "jobs[0].demand: found an object, allowed: an object with at least 1 entries"),
        (
            ("jobs", 0, "demand"),
            {"gpu": 0.0},
            "jobs[0].demand: found no resource with a demand > 0, allowed: at least one",
        ),
        (("jobs", 0, "demand", "gpu"), -1.0, "jobs[0].demand.gpu: found -1.0, allowed: a number >= 0"),
        (("jobs", 0, "budget", "gpu"), -2.0, "jobs[0].budget.gpu: found -2.0, allowed: a number >= 0"),
        (("jobs", 0, "budget"), None, "jobs[0].budget: found null, allowed: an object"),
        (("jobs",), [], "jobs: found an empty list, allowed: a list with at least 1 entries"),
        (("nodes",), [], "nodes: found an empty list, allowed: a list with at least 1 entries"),
        (("nodes",), [{"id": "core"}], "nodes: found no node with a capacity, allowed: at least one server"),
        (("nodes", 2, "id"), "s1", "nodes[2].id: found 's1', the id of nodes[1] too, allowed: unique ids"),
        (
            ("nodes", 0, "capacity"),
            {},
            "nodes[0].capacity: found an object, allowed: an object with at least 1 entries",
        ),
        (("nodes", 0, "capacity", "gpu"), -4.0, "nodes[0].capacity.gpu: found -4.0, allowed: a number >= 0"),
        (("links",), MISSING, f"links: {REQUIRED}"),
        (("links", 1, "ends"), ["s1", "moon"], "links[1].ends: found 'moon', allowed: the id of a node"),
        (
            ("links", 1, "ends"),
            ["s1", "s1"],
            "links[1].ends: found a link from a node to itself, allowed: two different ends",
        ),
        (
            ("links", 1, "ends"),
            ["rack", "s0"],
            "links[1].ends: found the ends of links[0] too, allowed: one link between two nodes",
        ),
        (
            ("links", 1, "bandwidth_bytes_per_s"),
            0,
            "links[1].bandwidth_bytes_per_s: found 0, allowed: a number > 0",
        ),
        (("links",), CYCLE, "links[2]: found a cycle of links, allowed: a forest, or the field paths"),
        (("colour",), "red", f"colour: {UNKNOWN}"),
        (("name",), "", 'name: found "", allowed: a non-empty string'),
    ],
)
def test_refusals(where, value, expected):
    """Each names the field, what was found and what is allowed."""
    assert message(changed(where, value)) == expected


@pytest.mark.parametrize("ends", [["s0"], ["s0", "rack", "s1"], "s0", []])
@pytest.mark.parametrize("field", ["links", "paths"])
def test_ends_are_two(ends, field):
    """Neither one, nor three, nor a string of two letters."""
    assert message(changed((field, 0, "ends"), ends, ROUTED)).startswith(f"{field}[0].ends")


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (None, "links[2]: found a cycle of links, allowed: a forest, or the field paths"),
        ([PATH | {"ends": ["s0", "rack"]}], "paths[0].ends: found 'rack', allowed: the id of a server"),
        ([PATH | {"ends": ["s0", "moon"]}], "paths[0].ends: found 'moon', allowed: the id of a server"),
        (
            [PATH | {"ends": ["s0", "s0"]}],
            "paths[0].ends: found a path from a server to itself, allowed: two different servers",
        ),
        (
            [PATH, {"ends": ["s1", "s0"], "nodes": ["s1", "s0"]}],
            "paths[1].ends: found the ends of paths[0] too, allowed: one path between two servers",
        ),
        (
            [PATH | {"ends": ["s1", "s0"]}],
            "paths[0].nodes: found other nodes at its ends, allowed: the nodes from the first of ends to the second",
        ),
        (
            [PATH | {"nodes": ["s0", "rack", "s0", "s1"]}],
            "paths[0].nodes: found a node twice, allowed: every node once",
        ),
        ([PATH | {"nodes": ["s0", "core", "s1"]}], "paths[0].nodes[1]: found 'core', allowed: a node linked to 's0'"),
        (
            [PATH | {"nodes": ["s0", "rack", "moon", "s1"]}],
            "paths[0].nodes[2]: found 'moon', allowed: a node linked to 'rack'",
        ),
        ([PATH | {"nodes": ["s0"]}], "paths[0].nodes: found a list, allowed: a list with at least 2 entries"),
        ([PATH | {"hops": 2}], f"paths[0].hops: {UNKNOWN}"),
        ([{"ends": ["s0", "s1"]}], f"paths[0].nodes: {REQUIRED}"),
    ],
)
def test_refusals_of_paths(paths, expected):
    """Between servers, once for a pair, along links."""
    assert message(ROUTED | {"paths": paths}) == expected


@pytest.mark.parametrize(
    ("utility", "expected"),
    [
        (MISSING, f"jobs[0].utility: {REQUIRED}"),
        (None, "jobs[0].utility: found null, allowed: an object"),
        ({"scale": 1.0}, f"jobs[0].utility.kind: {REQUIRED}"),
        (
            {"kind": "linear", "slope": 1.0},
            f'jobs[0].utility.kind: found "linear", allowed: {", ".join(map(repr, KINDS))}',
        ),
        ({"kind": "sqrt", "scale": 0.0}, "jobs[0].utility.scale: found 0.0, allowed: a number > 0"),
        ({"kind": "log", "scale": 1.0, "cap": 1.0}, f"jobs[0].utility.cap: {UNKNOWN}"),
    ],
)
def test_refusals_of_utilities(utility, expected):
    """The kind does not stand in the path of the field."""
    assert message(changed(("jobs", 0, "utility"), utility)) == expected


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("slots",), 2**53),
        (("jobs", 0, "max_workers"), 2**53),
        (("jobs", 0, "arrival_slot"), 3),
        (("jobs", 0, "rate"), 1e-100),
        (("jobs", 0, "demand"), {"gpu": 1e100, "nothing": 0}),
        (("jobs", 0, "budget"), {"gpu": 0.0, "another": 1e100}),
        (("jobs", 0, "bandwidth_bytes_per_s"), 0),
        (("jobs", 0, "utility", "midpoint"), 0),
        (("nodes", 0, "capacity"), {"another": 1}),
        (("links",), []),
        (("links",), CYCLE[:1] + CYCLE[2:]),
        (("paths",), []),
        (("paths",), None),
    ],
)
def test_what_is_near_the_limits_is_taken(where, value):
    """Whole numbers count as floats; a server may pass another's traffic, and a forest may list its paths."""
    assert Instance(**changed(where, value)).name == "base"


def test_a_path_may_pass_a_server_and_take_a_detour():
    """On links that there are."""
    nodes = [*BASE["nodes"], {"id": "s2", "capacity": {"gpu": 1.0}}]
    links = [*CYCLE, {"ends": ["s2", "s1"], "bandwidth_bytes_per_s": 1.0}]
    long = {"ends": ["s2", "s0"], "nodes": ["s2", "s1", "rack", "s0"]}
    assert Instance(**BASE | {"nodes": nodes, "links": links, "paths": [PATH, long]}).paths[1].nodes[1] == "s1"


def test_figures_by_hand():
    """Servers and positions; resources that some job demands: of disk nobody does."""
    instance = Instance(**BASE)
    assert [server.id for server in instance.servers] == ["s0", "s1"]
    assert instance.server_index == {"s0": 0, "s1": 1}
    assert instance.index == {"a": 0, "b": 1}
    assert instance.resources == ("gpu", "cpu")
    assert instance.jobs[0].utility == Sigmoid(height=3, steepness=0.5, midpoint=20)
    assert (instance.jobs[1].arrival_slot, dict(instance.jobs[1].budget)) == (1, {})


def test_a_job_larger_than_every_server_is_valid():
    """And feasible: it does not run."""
    assert infeasible(Instance(**changed(("jobs", 0, "demand", "gpu"), 40.0))) is None


def test_objects_are_taken_as_well():
    """An instance made of records is the one made of data; nothing in it can be changed."""
    instance = Instance(**BASE)
    again = Instance(**BASE | {"jobs": [Job(**job) for job in BASE["jobs"]], "nodes": instance.nodes})
    assert again == instance
    assert hash(again) == hash(instance)
    with pytest.raises(TypeError):
        instance.jobs[0].demand["gpu"] = 2.0
    with pytest.raises(ValueError, match="immutable"):
        instance.slots = 4
    copied = instance.model_copy(update={"slots": 9})
    assert (copied.slots, copied.resources) == (9, ("gpu", "cpu"))
    with pytest.raises(InstanceError, match=r"jobs\[0\].arrival_slot"):
        instance.model_copy(update={"slots": 1})


def test_defaults_are_left_out_of_the_file():
    """Job b has neither arrival nor budget; the kind of a utility is no default; an empty list of paths is not none."""
    data = Instance(**BASE).as_data()
    assert [data[field] for field in ("nodes", "links", "jobs")] == [
        BASE[field] for field in ("nodes", "links", "jobs")
    ]
    assert "paths" not in data
    assert Instance(**BASE | {"paths": []}).as_data()["paths"] == []
    assert Sqrt(scale=2).model_dump() == {"kind": "sqrt", "scale": 2.0}


def test_the_hash_is_of_the_problem():
    """Where it came from and what is known of it do not count, nor a stated default; a number, a kind or an order do."""
    hashed = Instance(**BASE).sha256
    known = {"optimum": 3.0, "proof": "by hand"}
    assert Instance(**BASE, source="a paper", known=known).sha256 == hashed
    assert Instance(**changed(("jobs", 1, "arrival_slot"), 1)).sha256 == hashed
    assert Instance(**changed(("jobs", 1, "budget"), {})).sha256 == hashed
    assert Instance(**changed(("jobs", 0, "rate"), 10)).sha256 == hashed
    assert Instance(**changed(("jobs", 0, "rate"), 11.0)).sha256 != hashed
    assert Instance(**changed(("jobs", 1, "utility", "cap"), 3.0)).sha256 != hashed
    assert Instance(**changed(("links", 0, "ends"), ["rack", "s0"])).sha256 != hashed
    assert Instance(**BASE | {"paths": []}).sha256 != hashed
    assert Instance(**BASE | {"jobs": BASE["jobs"][::-1]}).sha256 != hashed
    log, sqrt = ({"kind": kind, "scale": 1.0} for kind in ("log", "sqrt"))
    where = ("jobs", 0, "utility")
    assert Instance(**changed(where, log)).sha256 != Instance(**changed(where, sqrt)).sha256


@pytest.mark.parametrize("kind", KINDS)
def test_files_name_the_kind(kind):
    """An instance is written and read with it; the schema has it, and what is refused is told of it."""
    instance = made([2], [], job(utility=KINDS[kind].sized(3.0, 7.0)))
    data = instance.as_data()
    assert data["jobs"][0]["utility"]["kind"] == kind
    del data["format"]
    assert Instance(**data).sha256 == instance.sha256
    with pytest.raises(InstanceError, match=rf"jobs\[0\].utility.kind: found \"none\", allowed: .*'{kind}'"):
        Instance(**data | {"jobs": [data["jobs"][0] | {"utility": {"kind": "none"}}]})
