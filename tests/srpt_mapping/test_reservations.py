"""EASY and conservative backfilling: by hand, against a plain simulation in whole seconds, and what they promise the head."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched import srpt_mapping
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping import reservations
from dlsched.srpt_mapping.checker import check
from dlsched.srpt_mapping.reservations import backfill_reserving, conservative, easy
from dlsched.testing.srpt_mapping import srpt_mapping_instances
from tests.srpt_mapping.test_dispatch import made, starts

SETTINGS = settings(max_examples=60, derandomize=True, deadline=None, database=None)


def test_the_head_is_not_delayed():
    """Two GPUs: b needs both at 4 s; c would run to 11 s, and waits for b, and d ends by 4 s and passes both."""
    instance = made([2], (0, 4, 1), (1, 2, 2), (2, 9, 1), (3, 1, 1))
    assert starts(instance, easy(instance)) == {"a": 0.0, "b": 4.0, "c": 6.0, "d": 3.0}
    assert starts(instance, backfill_reserving(instance, reservations=0)) == {"a": 0.0, "b": 11.0, "c": 2.0, "d": 4.0}


def test_easy_may_delay_the_second():
    """Four GPUs: b waits for 3 to 10 s, so 1 stays free for d; c, second, needs 2, by reservation at 10 s, else after d."""
    jobs = (0, 10, 2), (1, 5, 3), (2, 5, 3), (3, 20, 1)
    assert starts(made([4], *jobs), easy(made([4], *jobs))) == {"a": 0.0, "b": 10.0, "c": 15.0, "d": 3.0}
    late = (0, 10, 3), (1, 5, 2), (2, 5, 4), (3, 13, 1)
    # the head b is reserved from 10 s on, with 2 GPUs to spare: d takes one to 16 s, and c waits for d
    assert starts(made([4], *late), easy(made([4], *late))) == {"a": 0.0, "b": 10.0, "c": 16.0, "d": 3.0}
    # conservative: c is reserved from 15 s on, which d would delay
    assert starts(made([4], *late), conservative(made([4], *late))) == {"a": 0.0, "b": 10.0, "c": 15.0, "d": 20.0}


def test_reservations_trust_predictions():
    """``a`` is told to end at 10 s and ends at 4 s: c, of 5 s, passes b at 2 s, as it would end before 10 s."""
    instance = made([2], (0, 4, 1, 0.0, 10), (1, 2, 2), (2, 5, 1))
    assert starts(instance, easy(instance)) == {"a": 0.0, "b": 7.0, "c": 2.0}


def test_a_job_that_overruns_may_end_at_any_moment():
    """``a`` should have ended at 2 s and runs to 6 s: from then on nothing may pass the head b."""
    instance = made([2], (0, 6, 1, 0.0, 2), (1, 2, 2), (3, 1, 1))
    assert starts(instance, easy(instance)) == {"a": 0.0, "b": 6.0, "c": 8.0}


def plain(jobs, total, reserving):
    """Starts by a simulation second by second: free GPUs of every half of a second to come, the queue in order.

    A job that runs longer than predicted is expected to end right after now, which is before the next whole second. Jobs start
    when others come or end.
    """
    start = {}
    for now in range(200):
        if now not in {job[0] for job in jobs} | {began + jobs[j][1] for j, began in start.items()}:
            continue
        free = [total] * 800
        for j, began in start.items():
            if began + jobs[j][1] > now:
                for half in range(max(2 * now + 1, 2 * (began + jobs[j][2]))):
                    free[half] -= jobs[j][3]
        left = reserving
        for j in sorted(range(len(jobs)), key=lambda j: (jobs[j][0], j)):
            if j in start or jobs[j][0] > now:
                continue
            gpus, halves = jobs[j][3], 2 * jobs[j][2]
            first = next(half for half in range(2 * now, 700) if min(free[half : half + halves]) >= gpus)
            if first == 2 * now:
                start[j] = now
            elif left:
                left -= 1
            else:
                continue
            for half in range(first, first + halves):
                free[half] -= gpus
    return start


jobs_of_a_queue = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(1, 9), st.integers(1, 4)), min_size=1, max_size=8
)


@pytest.mark.parametrize("reserving", [0, 1, 2, 8])
@SETTINGS
@given(jobs=jobs_of_a_queue)
def test_against_a_plain_simulation(reserving, jobs):
    """Starts equal those of a simulation that looks at every second, with true and with wrong predictions."""
    instance = made([2, 2], *((release, runs, gpus, 0.0, told) for release, runs, told, gpus in jobs))
    expected = plain(jobs, 4, reserving)
    schedule = backfill_reserving(instance, reservations=reserving)
    assert starts(instance, schedule) == {name: expected[index] for index, name in enumerate(schedule.jobs)}


@pytest.mark.parametrize("seed", range(5))
def test_jobs_that_run_stay_in_order(seed, monkeypatch):
    """In blocks of two as in one list that is sorted anew, as jobs come and end, many of them at one time."""
    monkeypatch.setattr(reservations, "_BLOCK", 2)
    rng, expected, entries = random.Random(seed), reservations._Expected(), []
    for job in range(300):
        entries.append((float(rng.randint(0, 30)), rng.randint(1, 4), job))
        expected.add(entries[-1])
        for _ in range(min(len(entries), rng.choice([0, 0, 1, 1, 2, 20]))):
            expected.remove(entries.pop(rng.randrange(len(entries))))
        assert list(expected) == sorted(entries)


@SETTINGS
@given(instance=srpt_mapping_instances())
def test_with_communication(instance):
    """Placements, jobs that have begun and odd numbers: the schedule breaks no rule; none where the instance has none."""
    for policy in (easy, conservative):
        schedule = policy(instance)
        assert (schedule is None) == (srpt_mapping.checker.infeasible(instance) is not None)
        assert schedule is None or check(instance, schedule) == []


def test_arguments():
    """A wrong word and a negative number are named."""
    instance = made([2], (0, 4, 1))
    with pytest.raises(UsageError, match="place"):
        easy(instance, place="anywhere")
    with pytest.raises(UsageError, match="reservations"):
        backfill_reserving(instance, reservations=-1)


def test_reservations_count_on_time_limits():
    """``a`` ends at 4 s, as predicted; its user said 10 s, so c, of 5 s, passes b at 2 s, as it would end before."""
    data = made([2], (0, 4, 1), (1, 2, 2), (2, 5, 1)).canonical_data()
    data["jobs"][0]["limit_s"] = 10
    instance = srpt_mapping.Instance(**{name: value for name, value in data.items() if name != "format"})
    assert starts(instance, easy(instance)) == {"a": 0.0, "b": 7.0, "c": 2.0}
