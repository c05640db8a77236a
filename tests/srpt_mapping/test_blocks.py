"""Blocks by hand: what never meets is decided apart, on its own clock, and put together again."""

import pytest

from dlsched.core.errors import SolverError
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.srpt_mapping import fifo, solve
from dlsched.srpt_mapping.blocks import blocks_of, whole_bound_s, whole_schedule
from dlsched.srpt_mapping.checker import check, objective
from dlsched.srpt_mapping.placing import layouts
from dlsched.srpt_mapping.solution import on_clock_of

from .test_brute_force import made

UNIX = 1.7e9


def split(instance):
    """The blocks of its fifo schedule."""
    return blocks_of(instance, layouts(instance), fifo(instance), lambda: None)


def test_jobs_far_apart_are_blocks():
    """One GPU: 5 s and 1 s at 0 wait at most 5 s in fifo, so they are over by 11 s; those of 20 s and later come alone."""
    instance = made([1], (0, 5, 1), (1, 1, 1), (20, 3, 1), (UNIX, 2, 1))
    blocks = split(instance)
    assert [[job.id for job in block.instance.jobs] for block in blocks] == [["a", "b"], ["c"], ["d"]]
    assert [block.flow_s for block in blocks] == [5 + 5, 3, 2]
    assert [block.instance.jobs[0].release_s for block in blocks] == [0, 0, 0]
    assert [block.exact for block in blocks] == [False, True, True]
    schedule = whole_schedule(instance, blocks)
    assert check(instance, schedule) == [] and objective(instance, schedule) == objective(instance, fifo(instance))
    assert whole_bound_s(instance, blocks) <= objective(instance, schedule)


def test_a_wait_that_may_reach_the_next_job_joins_them():
    """Fifo lets b wait 4 s: as much might befall a, which is released at 0 and runs 5 s, and so meet c at 9.5 s."""
    assert len(split(made([1], (0, 5, 1), (1, 1, 1), (9.5, 3, 1)))) == 2
    assert len(split(made([1], (0, 5, 1), (1, 1, 1), (8.5, 3, 1)))) == 1


def test_a_bound_above_what_is_held_is_a_contradiction():
    """Of the one or the other: it is not overlooked."""
    block = split(made([1], (0, 5, 1), (1, 1, 1)))[0]
    with pytest.raises(SolverError, match=r"^contradiction: .* bound 11"):
        block.prove(11.0, "someone")


def test_clocks_there_and_back():
    """A job that starts at its release does so on either clock, to the bit; others are rounded once."""
    instance = made([1], (UNIX + 0.3, 1, 1), (UNIX + 0.7, 1, 1))
    own = instance.on_own_clock()
    assert [job.release_s for job in own.jobs] == [0.0, (UNIX + 0.7) - (UNIX + 0.3)]
    back = on_clock_of(instance, own, fifo(own))
    assert back["a"].start_s == UNIX + 0.3
    assert back["b"].start_s == UNIX + 0.3 + 1
    assert own.on_own_clock() is own


@pytest.mark.parametrize("method", ["exact", "intervals", "milp"])
@pytest.mark.parametrize("clock", [0.0, UNIX, 1e12])
def test_a_late_clock_hides_nothing(method, clock):
    """One GPU, 40 s at 0, 1 s at 1 and at 2 s: waiting for the short ones, 43 + 1 + 1, beats 40 + 40 + 40 by a mean of 25 s."""
    instance = made([1], (clock, 40, 1), (clock + 1, 1, 1), (clock + 2, 1, 1))
    result = solve(instance, method=method, limits=Limits(time_s=20))
    assert result.status is TerminationStatus.OPTIMAL
    assert result.objective - result.constant == pytest.approx(45.0, rel=1e-6, abs=1e-3)
    assert result.bound - result.constant == pytest.approx(45.0, rel=1e-6, abs=1e-3)
    assert result.figures["mean_flow_s"] == pytest.approx(15.0, rel=1e-6)


def test_a_coarse_unit_is_refined():
    """The policies spread the ring of a over a network of 1e-9 B/s; on one server it takes 4 (1 + 1/8) s, after b: 3 + 7.5."""
    data = made([2, 1], (0, 4, 2), (0, 3, 3)).as_data()
    del data["format"]
    data |= {"nic_bandwidth_bytes_per_s": 1e-9}
    data["jobs"][0]["stages"][0]["parameter_bytes"] = 1.0
    instance = type(made([1], (0, 1, 1)))(**data)
    result = solve(instance, method="intervals", limits=Limits(time_s=20))
    assert result.status is TerminationStatus.OPTIMAL
    assert result.objective == pytest.approx(3 + 7.5, rel=1e-6)


def test_a_length_below_the_unit_still_waits():
    """One GPU, 4e9 s at 0 and 1 s at 1 s: in units of 4 s the short job has no length, yet cannot pass inside the long one."""
    instance = made([1], (0, 4e9, 1), (1, 1, 1))
    result = solve(instance, method="intervals", limits=Limits(time_s=20))
    assert result.status is TerminationStatus.OPTIMAL
    assert result.objective == 2 + 4e9 + 2


def test_the_best_placement_of_one_job_is_proven():
    """Inside a server a byte takes 1000 s, between servers 2 ns: no edge may stay inside, neither the light nor the heavy one."""
    stages = [
        {"replicas": 1, "compute_s": 0.5, "output_bytes": sent, "parameter_bytes": 0.0} for sent in (1e-5, 1e5, 0.0)
    ]
    data = made([2, 2], (0, 1, 1)).as_data()
    del data["format"]
    data |= {"intra_bandwidth_bytes_per_s": 1e-3, "nic_bandwidth_bytes_per_s": 1e9}
    data["jobs"][0]["stages"] = stages
    result = solve(type(made([1], (0, 1, 1)))(**data))
    assert result.status is TerminationStatus.OPTIMAL
    assert result.objective == pytest.approx(0.5 + 2e5 * 2e-9, rel=1e-6)
