"""Serial schedules of layouts, servers that may change places, and blocks of jobs that never meet."""

import random

import pytest
from conftest import profile
from hypothesis import given
from hypothesis import strategies as st

from dlsched.core.errors import SolverError
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.srpt_mapping import solve
from dlsched.srpt_mapping.blocks import blocks_of, whole_bound_s, whole_schedule
from dlsched.srpt_mapping.checker import check, completion_times, objective
from dlsched.srpt_mapping.formulations.intervals import build_intervals
from dlsched.srpt_mapping.heuristics import a_srpt, fifo, least_work_first, shortest_first
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.layouts import layouts, timed, twins, without_twins
from dlsched.srpt_mapping.solution import Schedule, Share, on_clock_of
from dlsched.testing import brute_force_srpt, srpt_mapping_instances

from .builders import gang, made


def in_order(instance, order, chosen):
    """The schedule of jobs in an order, with the layout of every job."""
    return timed(instance, [(index, chosen[index]) for index in order])


def starts(instance, order, numbers=None):
    """Starts by job for layouts by number, the first ones if not said."""
    choices = layouts(instance)
    chosen = [held[number] for held, number in zip(choices, numbers or [0] * len(choices), strict=True)]
    schedule = in_order(instance, order, chosen)
    assert check(instance, schedule) == []
    return {job: start.start_s for job, start in schedule.jobs.items()}


def of_layouts(instance, schedule):
    """Order of the starts of a schedule, and its layouts."""
    usage = []
    for job in instance.jobs:
        used = [0] * len(instance.servers)
        for share in schedule.jobs[job.id].placement:
            used[instance.server_index[share.server]] += share.replicas
        usage.append(tuple(used))
    order = sorted(range(len(instance.jobs)), key=lambda place: schedule.jobs[instance.jobs[place].id].start_s)
    chosen = [
        next(layout for layout in held if layout.usage == used)
        for held, used in zip(layouts(instance), usage, strict=True)
    ]
    return order, chosen


def test_a_later_job_fits_in_front_of_an_earlier_one():
    """Two GPUs: a has one from 0 to 4, b both from 4 to 6; c fits beside a, and d only after b."""
    instance = made([2], (0, 4, 1), (0, 2, 2), (0, 3, 1), (0, 2, 1))
    assert starts(instance, [0, 1, 2, 3]) == {"a": 0.0, "b": 4.0, "c": 0.0, "d": 6.0}
    assert starts(instance, [0, 1, 3, 2]) == {"a": 0.0, "b": 4.0, "c": 6.0, "d": 0.0}
    assert starts(instance, [1, 0, 2, 3]) == {"a": 2.0, "b": 0.0, "c": 2.0, "d": 5.0}


def test_a_gap_of_just_the_right_length_is_used():
    """One GPU: b runs from 3 to 4; a of 3 s fits before it, c of 4 s does not."""
    instance = made([1], (0, 3, 1), (3, 1, 1), (0, 4, 1))
    assert starts(instance, [1, 0, 2]) == {"a": 0.0, "b": 3.0, "c": 4.0}
    assert starts(instance, [1, 2, 0]) == {"a": 0.0, "b": 3.0, "c": 4.0}


def test_servers_count_each_for_itself():
    """A and b on the same of two servers follow one another; on different ones they run together."""
    instance = made([1, 1], (0, 2, 1), (1, 2, 1))
    assert starts(instance, [0, 1], [0, 0]) == {"a": 0.0, "b": 2.0}
    assert starts(instance, [0, 1], [0, 1]) == {"a": 0.0, "b": 1.0}


def test_lengths_that_vanish_beside_their_start():
    """A job of a second at 1e20 s ends when it starts, in floats; its neighbours still find their place."""
    instance = made([1], (1e20, 1, 1), (1e20, 1, 1), (0, 1, 1))
    assert starts(instance, [0, 1, 2]) == {"a": 1e20, "b": 1e20, "c": 0.0}


@profile(40)
@given(srpt_mapping_instances(max_jobs=6, feasible=True), st.randoms(use_true_random=False))
def test_any_order_and_any_layouts_make_a_feasible_schedule(instance, rng):
    """The checker finds nothing broken, and the first job starts at its release."""
    order = list(range(len(instance.jobs)))
    rng.shuffle(order)
    schedule = in_order(instance, order, [rng.choice(held) for held in layouts(instance)])
    assert check(instance, schedule) == []
    first = instance.jobs[order[0]]
    assert schedule.jobs[first.id].start_s == first.release_s


@profile(30)
@given(srpt_mapping_instances(max_jobs=5, feasible=True))
def test_never_later_than_a_policy_of_the_same_order(instance):
    """With the order of its starts and its GPUs by server, every job ends no later than under the policy."""
    for policy in (a_srpt, shortest_first, least_work_first, fifo):
        schedule = policy(instance)
        again = in_order(instance, *of_layouts(instance, schedule))
        before, after = completion_times(instance, schedule), completion_times(instance, again)
        assert all(after[job] <= before[job] * (1 + 1e-12) for job in before)


@profile(30)
@given(srpt_mapping_instances(feasible=True))
def test_the_optimum_is_met_again(instance):
    """Order and GPUs by server of the brute-force answer give its objective."""
    value, schedule = brute_force_srpt(instance)
    assert objective(instance, in_order(instance, *of_layouts(instance, schedule))) == pytest.approx(value, rel=1e-12)


def test_many_jobs_at_once():
    """A hundred jobs on four servers, in any order: feasible, and at every start a release or another's end."""
    rng = random.Random(0)
    jobs = [(rng.uniform(0, 100), rng.uniform(1, 9), rng.randint(1, 6)) for _ in range(100)]
    instance = made([4, 2, 2, 1], *jobs, ring=3.0)
    order = list(range(100))
    rng.shuffle(order)
    schedule = in_order(instance, order, [rng.choice(held) for held in layouts(instance)])
    assert check(instance, schedule) == []
    times = {job.release_s for job in instance.jobs} | set(completion_times(instance, schedule).values())
    assert all(
        any(start.start_s == pytest.approx(time, rel=1e-12) for time in times) for start in schedule.jobs.values()
    )


def twins_beside_one(begun: list[dict[str, object]] | None = None) -> Instance:
    """Three servers of two GPUs and one of one; a takes one GPU, b two."""
    return made((2, 2, 1, 2), gang(0.0, 2.0, begun=begun), (0.0, 4.0, 2))


def test_the_freest_job_uses_equal_servers_in_order() -> None:
    """Of 9 layouts of b, 3 are left: 2; 1 and 1; 1 and the small one; where a runs on s1, it is told apart."""
    instance = twins_beside_one()
    assert twins(instance) == [[0, 1, 3], [2]]
    kept = without_twins(instance, layouts(instance))
    assert len(kept[0]) == 4
    assert {layout.usage for layout in kept[1]} == {(2, 0, 0, 0), (1, 1, 0, 0), (1, 0, 1, 0)}
    running = twins_beside_one([{"stage": 0, "server": "s1", "replicas": 1}])
    assert twins(running) == [[0, 3], [2]]
    assert {layout.usage for layout in without_twins(running, layouts(running))[1]} == {
        (2, 0, 0, 0),
        (0, 2, 0, 0),
        (1, 1, 0, 0),
        (1, 0, 1, 0),
        (1, 0, 0, 1),
        (0, 1, 1, 0),
    }


def test_the_hint_is_in_that_order() -> None:
    """B on s1 and s3 moves to s0 and s1, and a, beside it on s3, to s1."""
    instance = twins_beside_one()
    held = Schedule({"a": (0.0, [Share(0, "s3", 1)]), "b": (0.0, [Share(0, "s1", 1), Share(0, "s3", 1)])})
    (block,) = blocks_of(instance, layouts(instance), held)
    model = build_intervals(block, 2.0**-20)
    usages = [model.model.modes[job][int(model.start[f"mode_{job}"])][1] for job in range(2)]
    assert usages == [(0, 1, 0, 0), (1, 1, 0, 0)]


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
    instance = made([2, 1], (0, 4, 2, 1.0), (0, 3, 3), nic=1e-9)
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
    chain = gang(0, 1, stages=[(1, 0.5, sent) for sent in (1e-5, 1e5, 0.0)])
    result = solve(made([2, 2], chain, inside=1e-3, nic=1e9))
    assert result.status is TerminationStatus.OPTIMAL
    assert result.objective == pytest.approx(0.5 + 2e5 * 2e-9, rel=1e-6)
