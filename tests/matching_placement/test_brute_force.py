"""Brute force against worker by worker, feasibility against it, configurations against itertools, and what is drawn."""

import itertools
import math

import numpy as np
import pytest
from conftest import profile
from hypothesis import given

from dlsched.matching_placement.arrays import arrays, infeasible
from dlsched.matching_placement.checker import check, objective
from dlsched.matching_placement.formulations.milp import configurations, count_configurations
from dlsched.matching_placement.solution import Placement
from dlsched.testing import brute_force_placement, matching_placement_instances

from .draw import entry, made


@profile(50)
@given(matching_placement_instances(max_workers=4))
def test_brute_force_by_types_is_brute_force_by_workers(instance):
    """Every worker to every job or none, each checked: the same optimum, to the last bit."""
    ids = [job.id for job in instance.jobs]
    values = []
    for choice in itertools.product([None, *ids], repeat=len(instance.workers)):
        pairs = list(zip(instance.workers, choice, strict=True))
        workers = {job: [worker.id for worker, chosen in pairs if chosen == job] for job in ids}
        if not check(instance, Placement(workers)):
            values.append(objective(instance, Placement(workers)))
    found = brute_force_placement(instance)
    assert (min(values) if values else None) == (found and found[0])


@profile(60)
@given(matching_placement_instances())
def test_infeasible_is_what_brute_force_cannot_place(instance):
    """Hall's condition and the search agree."""
    assert (infeasible(instance) is None) == (brute_force_placement(instance) is not None)


@profile(50)
@given(matching_placement_instances(feasible=True, exchange=False, sizes=False))
def test_strategies_keep_their_promises(instance):
    """Feasible, nothing to exchange, no bounds on sizes."""
    assert infeasible(instance) is None
    assert all((j.gradient_bytes, j.min_workers, j.max_workers) == (0, 1, None) for j in instance.jobs)


def test_brute_force_refuses_what_is_too_large():
    """Forty workers of one type and three jobs are few by types; of forty types they are too many."""
    for alike in (True, False):
        types = ["g" if alike else f"g{index}" for index in range(40)]
        instance = made(types, *[entry(dict.fromkeys(types, 1.0))] * 3)
        if alike:
            assert brute_force_placement(instance)[0] == pytest.approx((2 / 13 + 1 / 14) / 3, rel=1e-15)
        else:
            with pytest.raises(ValueError, match="more than 1000000 placements"):
                brute_force_placement(instance)


@profile(50)
@given(matching_placement_instances(feasible=True))
def test_configurations_are_all_count_vectors_that_are_allowed(instance):
    """In lexicographic order, as many as are counted; each with the checker's time."""
    held = arrays(instance)
    for index, job in enumerate(instance.jobs):
        ranges = [
            range(len(workers) + 1 if kind in job.samples_per_s else 1) for kind, workers in instance.types.items()
        ]
        most = math.inf if job.max_workers is None else job.max_workers
        expected = [row for row in itertools.product(*ranges) if job.min_workers <= sum(row) <= most]
        counts = configurations(held, index)
        assert list(map(tuple, counts.tolist())) == expected
        assert count_configurations(held, index) == len(expected)


def test_strategies_draw_the_awkward_cases():
    """Among 400 instances each of them is there."""
    seen = set()

    @profile(120)
    @given(matching_placement_instances())
    def look(instance):
        jobs, found = instance.jobs, brute_force_placement(instance)
        alone = len(jobs) > 1 and len({job.model_copy(update={"id": "any"}).model_dump_json() for job in jobs}) == 1
        rated = set().union(*(job.samples_per_s for job in jobs))
        used = sum(map(len, found[1].workers.values())) if found else 0
        enough = sum(job.min_workers for job in jobs) <= len(instance.workers)
        bandwidths = {worker.bandwidth_bytes_per_s for worker in instance.workers}
        cases = {
            "infeasible": found is None,
            "infeasible by Hall": found is None and enough and len(jobs) > 1,
            "identical jobs": alone,
            "not able": any(kind not in job.samples_per_s for job in jobs for kind in instance.types),
            "no such worker": bool(rated - set(instance.types)),
            "one worker a job": len(jobs) == len(instance.workers) > 1,
            "smallest": any(job.min_workers > 1 for job in jobs),
            "largest": any(job.max_workers is not None for job in jobs),
            "nothing sent": any(job.gradient_bytes == 0 for job in jobs),
            "bandwidths": len(bandwidths) > 1,
            "idle is best": found is not None
            and used < len(instance.workers)
            and all(j.max_workers is None for j in jobs),
            "ties": len(jobs) > 1 and len(instance.types) == 1,
            "three types": len(instance.types) > 2,
        }
        seen.update(name for name, holds in cases.items() if holds)

    look()
    assert len(seen) == 13, sorted(seen)


def test_arrays_read_types_in_order_of_the_file():
    """Stock, bandwidths and rates by type; the largest size is what can serve the job."""
    held = arrays(made("bab", entry({"b": 7.0}, 3, iterations=2, gradient=5), bandwidth={"a": 97, "b": 98}))
    assert held.stock.tolist() == [2, 1]
    assert held.bandwidth.tolist() == [98.0, 97.0]
    assert held.rates.tolist() == [[7.0, 0.0]]
    assert (held.work.tolist(), held.traffic.tolist(), held.least.tolist(), held.most.tolist()) == ([6], [20], [1], [2])
    assert held.times(0, np.array([2, 0])) == pytest.approx(6 / 14 + 20 / 2 / 98, rel=1e-15)
