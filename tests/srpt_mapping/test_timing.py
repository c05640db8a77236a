"""Serial schedule generation: by hand, always feasible, and never later than a schedule of the same order."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.srpt_mapping.checker import check, completion_times, objective
from dlsched.srpt_mapping.heuristics import a_srpt, fifo, least_work_first, shortest_first
from dlsched.srpt_mapping.placing import layouts, timed
from dlsched.testing import brute_force_srpt, srpt_mapping_instances

from .test_brute_force import made


def in_order(instance, order, chosen):
    """The schedule of jobs in an order, with the layout of every job."""
    return timed(instance, [(index, chosen[index]) for index in order])


def profile(examples):
    """Deterministic, without a clock."""
    return settings(max_examples=examples, derandomize=True, deadline=None, database=None)


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
