"""Queues as instances of ring_embedding: slots, budgets, utilities, networks, and jobs drawn as in the paper."""

import math

import pytest

from dlsched import ring_embedding
from dlsched.core.errors import InputError, UsageError
from dlsched.ring_embedding.generator import generate
from dlsched.traces.instances import instance_from
from dlsched.traces.makers.ring_embedding import rings_of
from dlsched.traces.queue import QueuedJob, QueueNode, Window
from tests.traces.drawn import queue

JOBS = (
    QueuedJob("a", "u", "", 1000.0, 1000.0, 8200.0, 7200.0, 4),
    QueuedJob("b", "u", "", 4600.0, 5000.0, 5100.0, 100.0, 2),
    QueuedJob("c", "u", "", 4601.0, 9000.0, 14400.0, 5400.0, 1),
)


def made(**options: object) -> ring_embedding.Instance:
    """The instance of the three, on 12 GPUs unless told."""
    instance = rings_of(queue(*JOBS), **{"gpus": 12} | options).instance  # type: ignore[arg-type]
    assert isinstance(instance, ring_embedding.Instance)
    return instance


def test_slots_and_budgets() -> None:
    """Hours from 1000 s on: 4600 s begins the second, 4601 s is in it. Worker-slots: 4 x 2, 2 x 100 / 3600, 1.5, rounded up."""
    instance = made()
    assert [(job.id, job.arrival_slot, job.max_workers, dict(job.budget)) for job in instance.jobs] == [
        ("a", 1, 4, {"gpu": 8}),
        ("b", 2, 2, {"gpu": 1}),
        ("c", 3, 1, {"gpu": 2}),
    ]
    assert (instance.slots, instance.slot_s) == (4, 3600.0)  # c in slots 3 and 4
    assert {(dict(job.demand)["gpu"], job.rate, job.bandwidth_bytes_per_s) for job in instance.jobs} == {(1, 1, 1.25e9)}
    assert [job.arrival_slot for job in made(slot_s=1800.0).jobs] == [1, 3, 4]


@pytest.mark.parametrize("utility", ["capped", "sqrt", "log"])
def test_all_its_gpu_time_is_worth_its_gpu_hours(utility: str) -> None:
    """4 x 2, 2 x 100 / 3600 and 1 x 1.5 hours, at as many worker-slots of an hour; none of it is worth nothing."""
    for job, hours in zip(made(utility=utility).jobs, (8.0, 200 / 3600, 1.5), strict=True):
        assert job.utility.at(hours) == pytest.approx(hours, rel=1e-5)
        assert job.utility.at(0) == 0
        assert job.utility.at(hours / 2) >= hours / 2 * (1 - 1e-5)


def test_half_of_it_by_hand() -> None:
    """Of 8 hours: 4; 8 / sqrt 2; 8 ln 5 / ln 9."""
    half = [made(utility=kind).jobs[0].utility.at(4.0) for kind in ("capped", "sqrt", "log")]
    assert half == [pytest.approx(value, rel=1e-5) for value in (4.0, 8 / math.sqrt(2), 8 * math.log(5) / math.log(9))]


def test_racks_of_servers() -> None:
    """12 GPUs are a server of 8 and one of 4; a rack each, linked to the core."""
    instance = made(servers_of_rack=1, server_bytes_per_s=2e9, rack_bytes_per_s=3e9)
    assert [(node.id, node.capacity and dict(node.capacity)) for node in instance.nodes] == [
        ("s0", {"gpu": 8}),
        ("s1", {"gpu": 4}),
        *((name, None) for name in ("rack0", "rack1", "core")),
    ]
    assert [(*link.ends, link.bandwidth_bytes_per_s) for link in instance.links] == [
        ("s0", "rack0", 2e9),
        ("s1", "rack1", 2e9),
        ("rack0", "core", 3e9),
        ("rack1", "core", 3e9),
    ]


def test_the_nodes_of_the_trace() -> None:
    """By their names, even where switches have such names; a node without GPUs is none."""
    names = ("core", "rack0", "<script>", "none")
    nodes = tuple(QueueNode(name, gpus) for name, gpus in zip(names, (2, 2, 1, 0), strict=True))
    instance = rings_of(queue(*JOBS, nodes=nodes)).instance
    assert isinstance(instance, ring_embedding.Instance)
    assert [server.id for server in instance.servers] == ["core", "rack0", "<script>"]
    assert [node.id for node in instance.nodes[3:]] == ["rack0.", "core."]


def test_more_gpu_time_than_the_job_had_is_not_to_be_had() -> None:
    """The optimum of three jobs alone on enough GPUs is the sum of their hours, all within their budgets."""
    instance = made()
    result = ring_embedding.solve(instance, method="exact")
    assert result.proven and result.objective == pytest.approx(8.0 + 200 / 3600 + 1.5, rel=1e-5)


def test_sizes_of_the_paper() -> None:
    """Arrivals and ids are the trace's, the last in slot 3 of 4; all else is what the generator draws."""
    instance = made(sizes="paper", seed=5)
    drawn = generate(preset="paper", jobs=3, gpus=12, slots=4, seed=5)
    assert [(job.id, job.arrival_slot) for job in instance.jobs] == [("a", 1), ("b", 2), ("c", 3)]
    own = {"id", "arrival_slot"}
    assert [job.model_dump(exclude=own) for job in instance.jobs] == [job.model_dump(exclude=own) for job in drawn.jobs]
    assert (instance.nodes, instance.links, instance.slots) == (drawn.nodes, drawn.links, 4)
    assert "--preset paper --jobs 3 --gpus 12 --slots 4 --seed 5" in (instance.source or "")


def test_a_window() -> None:
    """Slots count from its start; the audit stands in the source."""
    result = instance_from(queue(*JOBS), "ring_embedding", gpus=8, window=Window(4000.0, 4601.0))
    assert isinstance(result.instance, ring_embedding.Instance)
    assert [(job.id, job.arrival_slot) for job in result.instance.jobs] == [("b", 2)]
    assert all(sentence in (result.instance.source or "") for sentence in result.audit)


@pytest.mark.parametrize(
    "options",
    [
        {"slot_s": 0.0},
        {"utility": "sigmoid"},
        {"sizes": "slot"},
        {"rack_bytes_per_s": math.nan},
        {"servers_of_rack": 0},
    ],
)
def test_options_out_of_range(options: dict[str, object]) -> None:
    """Are named."""
    with pytest.raises(UsageError, match=f"{next(iter(options))}: found"):
        made(**options)


def test_vast_numbers_of_slots() -> None:
    """An hour of slots of a millisecond is too much."""
    with pytest.raises(InputError, match="found arrivals in 3,601,001 slots"):
        made(slot_s=0.001)
