"""Limits: what they allow, what they refuse, how they are written."""

import pytest

from dlsched.core.errors import UsageError
from dlsched.core.limits import Limits, Stopped
from dlsched.core.search import Search
from dlsched.core.status import Sense, TerminationStatus


@pytest.mark.parametrize(
    "values",
    [
        {"time_s": -1.0},
        {"time_s": float("nan")},
        {"time_s": float("inf")},
        {"nodes": -1},
        {"nodes": 1.5},
        {"threads": 0},
        {"threads": 1.5},
    ],
)
def test_values_out_of_range_are_refused(values):
    """UsageError names what was found."""
    with pytest.raises(UsageError, match="found"):
        Limits(**values)


@pytest.mark.parametrize("field", ["nodes", "threads"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_counts_that_are_no_numbers_are_refused(field, value):
    """Not a number and infinity are refused as every other wrong value is."""
    with pytest.raises(UsageError, match="found"):
        Limits(**{field: value})


def test_whole_floats_are_integers_for_the_solvers():
    """A node limit of 5.0 is 5, or refused: solvers (HiGHS, CP-SAT) take no float."""
    try:
        limits = Limits(nodes=5.0, threads=1.0)
    except UsageError:
        return
    assert (type(limits.nodes), type(limits.threads)) == (int, int)


def test_only_limits_that_were_set_are_written():
    """No limit, no entry; one thread is the default."""
    assert Limits().as_data() == {}
    assert Limits(time_s=0, nodes=0, threads=2).as_data() == {"time_s": 0, "nodes": 0, "threads": 2}


def search(**limits):
    """A search of numbers: the objective is the number itself, negative ones are not allowed."""
    return Search(
        objective=float,
        check=lambda value: ["negative"] if value < 0 else [],
        sense=Sense.MINIMIZE,
        limits=Limits(**limits),
    )


def test_search_stops_at_its_node_limit():
    """Three nodes are allowed, the fourth is not; nodes left are counted."""
    running = search(nodes=3)
    running.tick(2)
    assert running.left.nodes == 1
    running.tick(1)
    with pytest.raises(Stopped) as caught:
        running.tick(1)
    assert caught.value.status is TerminationStatus.NODE_LIMIT
    assert running.budget.nodes == 3


def test_search_stops_at_a_zero_time_limit():
    """Zero seconds are over at once, and none are left."""
    running = search(time_s=0)
    assert running.left.time_s == 0
    with pytest.raises(Stopped) as caught:
        running.tick()
    assert caught.value.status is TerminationStatus.TIME_LIMIT


def test_search_keeps_the_better_of_what_it_is_offered():
    """5, then 7 (not kept), then 3; bounds only rise."""
    running = search()
    assert running.offer(5, source="a") and not running.offer(7, source="b") and running.offer(3, source="c")
    assert (running.solution, running.objective) == (3, 3.0)
    running.prove(1.0, source="a")
    running.prove(0.5, source="b")
    assert (running.bound, running.bound_source) == (1.0, "a")
