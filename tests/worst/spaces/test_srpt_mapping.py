"""The space of srpt_mapping: what is drawn, changed and repaired stays in it, and instances known to be bad are in it."""

import copy

import numpy as np
import pytest

from dlsched import srpt_mapping
from dlsched.worst.search import find_worst
from dlsched.worst.spaces import Data
from dlsched.worst.spaces.srpt_mapping import INTRA, NIC, space_of
from tests.worst.conftest import draws, instance_of

ACROSS, INSIDE = 11.0, 7 / 6
"""1 + 2 (5/6) 1e10 / (1e10 / 6), and 1 + 2 (5/6) 1e10 / 1e11: six replicas and 1e10 bytes on two servers, or on one of 6."""


def stage(replicas: int, parameter_bytes: float = 0.0) -> Data:
    return {"replicas": replicas, "compute_s": 1.0, "output_bytes": 0.0, "parameter_bytes": parameter_bytes}


def job(index: int, release_s: float, iterations: float, *stages: Data) -> Data:
    return {"id": "abcdefgh"[index], "release_s": release_s, "iterations": iterations, "stages": list(stages)}


def data_of(sizes: list[int], *jobs: Data) -> Data:
    return {
        "format": "dlsched/srpt_mapping/1",
        "name": "worst",
        "intra_bandwidth_bytes_per_s": INTRA,
        "nic_bandwidth_bytes_per_s": NIC,
        "servers": [{"id": f"s{index}", "gpus": size} for index, size in enumerate(sizes)],
        "jobs": list(jobs),
    }


WRONG_SERVERS = data_of([2, 6], job(0, 0.0, 100.0, stage(2, 1e10), stage(6, 1e10)))
"""Who fills the larger server first puts the stage of two there: that of six is then spread."""
TOO_SOON = data_of([1], job(0, 0.0, 1000.0, stage(1)), job(1, 1.0, 1.0, stage(1)), job(2, 1.0, 1.0, stage(1)))
"""Who starts the long job at once lets the others wait: flow times 1000, 1000 and 1001, and not 1, 2 and 1003."""


def test_sizes_are_kept() -> None:
    """No more jobs and GPUs than asked for, and now and then as many."""
    instances = [instance_of(data) for data in draws(space_of(jobs=2, gpus=5), 100)]
    assert max(len(each.jobs) for each in instances) == 2
    assert max(each.total_gpus for each in instances) == 5


def test_numbers_are_round() -> None:
    """What a person has to read has at most four digits, and stands in the ranges that are searched."""
    for data in draws(space_of(), 50):
        for held in data["jobs"]:
            assert held["release_s"] == round(held["release_s"]) <= 1000
            assert 1 <= held["iterations"] == round(held["iterations"]) <= 1000
            for each in held["stages"]:
                assert each["compute_s"] == 1.0
                for name in ("output_bytes", "parameter_bytes"):
                    assert each[name] == 0 or 1e8 <= each[name] == float(f"{each[name]:.2g}") <= 1e10


def test_predictions_are_as_wrong_as_asked_for() -> None:
    """True ones are left out; wrong ones are within the factor, after repair too."""
    space = space_of(prediction_error=2.0)
    assert all("predicted_iterations" not in held for data in draws(space_of(), 20) for held in data["jobs"])
    data = space.draw(np.random.default_rng(0))
    data["jobs"][0] |= {"iterations": 10.0, "predicted_iterations": 1.0}
    repaired = space.repair(data)
    assert repaired is not None and repaired["jobs"][0]["predicted_iterations"] == 5.0
    for data in draws(space, 50):
        assert all(0.5 <= held["predicted_iterations"] / held["iterations"] <= 2 for held in data["jobs"])


def test_repair() -> None:
    """Jobs shrink to what there is, the last stage sends nothing, few bytes are none, ids follow the index."""
    data = data_of([2, 2], job(7, 0.0, 1.0, stage(5, 1e10), stage(3, 10.0)))
    data["jobs"][0]["stages"][1]["output_bytes"] = 1e9
    before = copy.deepcopy(data)
    repaired = space_of().repair(data)
    assert data == before
    assert repaired == data_of([2, 2], job(0, 0.0, 1.0, stage(1, 1e10), stage(3)))


@pytest.mark.parametrize(
    "data", [data_of([5, 4], job(0, 0.0, 1.0, stage(1))), data_of([1], job(0, 0.0, 1.0, stage(1), stage(1)))]
)
def test_beyond_repair(data: Data) -> None:
    """More GPUs than asked for, and a chain that is longer than there are GPUs."""
    assert space_of(gpus=8).repair(data) is None


def test_wrong_servers_are_in_the_space() -> None:
    """Heavy-Edge spreads the large stage; compact does not. A-SRPT also waits for the virtual machine, as fast as compact."""
    assert space_of(jobs=1).repair(WRONG_SERVERS) == WRONG_SERVERS
    instance = instance_of(WRONG_SERVERS)
    assert srpt_mapping.solve(instance).objective == pytest.approx(100 * INSIDE)
    for name, method in srpt_mapping.FAMILY.methods.items():
        if method.kind == "heuristic" and not method.for_some:
            runs = INSIDE if name in ("a-srpt-compact", "work-compact", "work-patient", "annealing", "plan") else ACROSS
            waits = INSIDE if name.startswith("a-srpt") else 0.0
            assert srpt_mapping.solve(instance, method=name).objective == pytest.approx(100 * (runs + waits)), name


def test_starting_too_soon_is_in_the_space() -> None:
    """The first job blocks the others, in every queue that starts what is there."""
    assert space_of(sends=False).repair(TOO_SOON) == TOO_SOON
    instance = instance_of(TOO_SOON)
    optimum = srpt_mapping.solve(instance)
    assert optimum.objective == pytest.approx(2 + 3 + 1003)
    for name in ("fifo", "fifo-backfill", "shortest-first", "least-work", "work-patient"):
        assert srpt_mapping.solve(instance, method=name).objective == pytest.approx(1000 + 1001 + 1002)


def test_the_search_finds_wrong_servers() -> None:
    """One job on up to 16 GPUs: Heavy-Edge is worse than on the shipped instance heavy-edge-worst, 9.44."""
    assert find_worst("srpt_mapping", "fifo", jobs=1, gpus=16, budget=150).ratio >= 9.44


def test_the_search_finds_queues() -> None:
    """Nothing is sent: of three jobs two are let wait by a long one, or by a machine that only A-SRPT believes in."""
    for name, known in (("fifo", 2.9), ("a-srpt", 3.6)):
        assert find_worst("srpt_mapping", name, sends=False, budget=250).ratio >= known


def test_the_search_keeps_the_guarantee() -> None:
    """It does not break that of A-SRPT, nor any proof, whether predictions are true or not."""
    for error in (1.0, 4.0):
        assert find_worst("srpt_mapping", "a-srpt-strict", prediction_error=error, budget=100).failures == ()


def test_slices_are_drawn_and_repaired() -> None:
    """Some job takes a slice of the kind asked for, in one replica and in thousandths; whole jobs alone are not in the space."""
    for slicing, field in (("shares", "gpu_share"), ("A100-40GB", "profile")):
        space = space_of(slicing=slicing)
        for data in draws(space, 30):
            assert {server["slicing"] for server in data["servers"]} == {slicing}
            assert instance_of(data).sliced and any(field in held for held in data["jobs"])
    data = data_of([2], job(0, 0.0, 1.0, stage(2)) | {"gpu_share": 0.33333})
    data["servers"][0]["slicing"] = "shares"
    repaired = space_of(slicing="shares").repair(data)
    assert repaired is not None
    assert (repaired["jobs"][0]["gpu_share"], repaired["jobs"][0]["stages"]) == (0.333, [stage(1)])
    whole = data | {"jobs": [job(0, 0.0, 1.0, stage(2))]}
    assert space_of(slicing="shares").repair(whole) is None


def test_what_is_lost_on_slices_is_lost_by_placing() -> None:
    """No job of what is found has to wait: the optimum is the sum of releases and lengths. MIG's order loses, by default."""
    for name in ("first-fit", "fgd"):
        found = find_worst("srpt_mapping", name, budget=250)
        assert found.ratio is not None and found.ratio > 1.4 and "--slicing A100-40GB" in found.command
        least = sum(held.release_s + held.iterations for held in found.instance.jobs)
        assert found.reference == found.instance.known.optimum == pytest.approx(least)
    assert "--slicing" not in find_worst("srpt_mapping", "fifo", budget=5).command
