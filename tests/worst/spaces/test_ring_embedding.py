"""The space of ring_embedding: what is drawn, changed and repaired stays in it, and instances known to be bad are in it."""

import copy
import math
from collections.abc import Callable

import numpy as np
import pytest

from dlsched import ring_embedding
from dlsched.worst.moves import moved
from dlsched.worst.spaces import Data
from dlsched.worst.spaces.ring_embedding import LINK, Racks, network_of, racks_of, space_of
from tests.worst.conftest import draws, instance_of


def data_of(slots: int, gpus: list[float], *jobs: Data) -> Data:
    """Servers at one switch, and jobs from the first slot on."""
    nodes = [{"id": f"s{index}", "capacity": {"gpu": count}} for index, count in enumerate(gpus)]
    links = [{"ends": [node["id"], "switch"], "bandwidth_bytes_per_s": LINK} for node in nodes]
    whole = {"format": "dlsched/ring_embedding/1", "name": "by hand", "slots": slots}
    named = [{"id": f"j{index}", "arrival_slot": 1} | each for index, each in enumerate(jobs)]
    return whole | {"nodes": [*nodes, {"id": "switch"}], "links": links, "jobs": named}


def job(workers: int, bandwidth: float, **utility: object) -> Data:
    held = {"max_workers": workers, "demand": {"gpu": 1.0}, "bandwidth_bytes_per_s": bandwidth, "rate": 1.0}
    return held | {"utility": utility}


def capped(workers: int, slope: float, cap: float) -> Data:
    return job(workers, 1e8, kind="capped", slope=slope, cap=cap)


def sigmoid(workers: int, height: float, midpoint: float) -> Data:
    return job(workers, 1e8, kind="sigmoid", height=height, steepness=2.0, midpoint=midpoint)


def test_sizes_are_kept() -> None:
    """No more than asked for, and now and then as many; in one rack or two; moves keep them too."""
    space = space_of(jobs=3, gpus=5, servers=3, slots=2)
    found = draws(space, 60)
    steps = [moved(space, data, np.random.default_rng(seed)) for seed, data in enumerate(found)]
    instances = [instance_of(data) for data in found]
    for each in (*instances, *(instance_of(data) for data in steps if data is not None)):
        assert isinstance(each, ring_embedding.Instance)
        held = [server.holds("gpu") for server in each.servers]
        assert len(each.jobs) <= 3 and each.slots <= 2 and 1 <= len(held) <= 3
        assert set(held) <= {1, 2} and sum(held) <= 5
        assert len(each.nodes) - len(held) in ((0,) if len(held) == 1 else (1, 2))
    assert len({tuple(sorted(len(rack) for rack in racks_of(data))) for data in steps if data is not None}) > 3
    sizes = [(len(each.jobs), len(each.servers), each.slots) for each in instances]  # type: ignore[attr-defined]
    assert [max(column) for column in zip(*sizes, strict=True)] == [3, 3, 2]


def test_repair() -> None:
    """Jobs are numbered, and none arrives after the last slot; the rest stays."""
    data = data_of(3, [1, 1], capped(1, 1, 1), capped(2, 1, 1), capped(2, 2, 2))
    data["jobs"][1]["arrival_slot"] = 3
    data["slots"] = 2
    del data["jobs"][0], data["jobs"][1]["arrival_slot"]
    before = copy.deepcopy(data)
    repaired = space_of(utility="capped").repair(data)
    assert data == before
    assert repaired == data_of(2, [1, 1], capped(2, 1, 1) | {"arrival_slot": 2}, capped(2, 2, 2))


@pytest.mark.parametrize(
    ("change", "racks"),
    [
        (lambda nodes: nodes.pop(0), [[1.0], [2.0]]),
        (lambda nodes: nodes.append({"id": "n0", "capacity": {"gpu": 1.0}}), [[2.0, 1.0, 1.0], [2.0]]),
        (lambda nodes: nodes.pop(3), [[2.0, 1.0], [2.0]]),
        (lambda nodes: nodes.pop(4), [[2.0, 1.0], [2.0]]),
    ],
)
def test_networks_are_linked_again(change: Callable[[list[Data]], object], racks: Racks) -> None:
    """A server goes; one without a link joins the first rack; switches come back."""
    space = space_of()
    data = data_of(2, [1], capped(1, 1, 1)) | network_of([[2.0, 1.0], [2.0]])
    change(data["nodes"])
    repaired = space.repair(data)
    assert repaired is not None and racks_of(repaired) == racks
    assert space.repair(data | {"nodes": []}) is None
    assert space_of(gpus=2).repair(data) is None


def solved(data: Data, method: str) -> float:
    objective = ring_embedding.solve(instance_of(data), method=method, seed=0).objective
    assert objective is not None
    return objective


def test_the_blindness_of_gadget() -> None:
    """It gives GPUs to what grows now, and the job that is worth most would have needed them in both slots.

    In the optimum the first job has all three GPUs twice, and the other is worth what it is with none. GADGET gives them to the
    other in the first slot; in the second it is too late for the first, which then would gain 5 % of its height.
    """
    data = data_of(2, [2, 1], sigmoid(3, 10, 4.5), sigmoid(3, 1, 2.5))
    best = 10 / (1 + math.exp(-3)) + 1 / (1 + math.exp(5))
    assert solved(data, "circuit") == pytest.approx(best, rel=1e-9)
    assert best / solved(data, "gadget") > 9
    assert space_of().repair(data) == data


def test_a_tie_that_the_greedy_breaks_badly() -> None:
    """90: all nine GPUs at 10, as the third job has two in every slot. Who serves the others at once is left with 30 + 40."""
    data = data_of(3, [1, 2], capped(2, 10, 20), capped(1, 10, 10), capped(2, 10, 100))
    assert solved(data, "exact") == 90
    assert solved(data, "slot-greedy") in (70, 90)
    data["jobs"][2]["utility"]["slope"] = 9.95
    assert (solved(data, "exact"), solved(data, "slot-greedy")) == (pytest.approx(89.7), pytest.approx(69.8))


def test_two_jobs_that_cost_the_greedy_a_quarter() -> None:
    """The flexible job first leaves two of four GPUs idle for half of the time: 16 worker-slots against 12."""
    data = data_of(4, [2, 2], capped(4, 10, 80), capped(2, 9.9, 100))
    assert solved(data, "exact") == pytest.approx(80 + 8 * 9.9)
    assert solved(data, "slot-greedy") == pytest.approx(80 + 4 * 9.9)
