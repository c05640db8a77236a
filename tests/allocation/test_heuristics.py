"""Heuristics on a cost table: equal counts, doubling, marginal gain, and the steps of the lower convex hull."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.allocation.cost_table import CostTable, hull
from dlsched.allocation.heuristics import climb_hulls, double_greedily, equal_share, increase_greedily, same_counts
from dlsched.allocation.lagrange import best_price
from dlsched.core.errors import UsageError
from dlsched.testing import cost_tables

from .naive import dual_value, rows_of
from .toy import TOY, Toy


def test_the_largest_allowed_count():
    """Up to the given one, else the smallest; nothing where they do not fit together."""
    assert same_counts(TOY, 1) == {"a": 1, "b": 1}
    assert same_counts(TOY, 3) == {"a": 2, "b": 3}
    assert same_counts(TOY, 4) is None
    assert same_counts(Toy(TOY.jobs, 1), 1) is None


def test_shares():
    """Rounded down, at least 1."""
    assert [equal_share(Toy(TOY.jobs, capacity)) for capacity in (1, 4, 5)] == [1, 2, 2]


def test_a_count_below_one_is_misuse():
    """Under the name that the caller gives it."""
    with pytest.raises(UsageError, match="gpus_per_job: found 0, allowed: an integer >= 1"):
        same_counts(TOY, 0, "gpus_per_job")


SETTINGS = settings(max_examples=40, derandomize=True, deadline=None, database=None)


def naive(rows, capacity, following):
    """Take the best step again and again, looking at every job each time; equal gains: the first job."""
    given = [min(row) for row in rows]
    if sum(given) > capacity:
        return None
    closed = set()
    while True:
        best = None
        for job, row in enumerate(rows):
            target = following(row, given[job])
            if job in closed or target is None or row[given[job]] <= row[target]:
                continue
            gain = (row[given[job]] - row[target]) / (target - given[job])
            if best is None or gain > best[0]:
                best = gain, job, target
        if best is None:
            return given
        _, job, target = best
        if sum(given) - given[job] + target > capacity:
            closed.add(job)
        else:
            given[job] = target


def counts(table, chosen):
    """Counts of the chosen pairs."""
    return None if chosen is None else table.counts[chosen].tolist()


def next_count(row, w):
    """The next larger allowed count."""
    return min((v for v in row if v > w), default=None)


@pytest.mark.parametrize(
    ("greedy", "following"),
    [
        (double_greedily, lambda row, w: 2 * w if 2 * w in row else None),
        (increase_greedily, next_count),
        (climb_hulls, next_count),
    ],
)
@SETTINGS
@given(table=cost_tables(max_pairs=8), capacity=st.integers(0, 50))
def test_each_follows_its_rule(greedy, following, table, capacity):
    """Same counts as the naive retelling: the double, the next allowed count, or the next vertex while it fits and saves."""
    rows = rows_of(table.subset(hull(table)) if greedy is climb_hulls else table)
    assert counts(table, greedy(table, capacity)) == naive(rows, capacity, following)


@settings(SETTINGS, max_examples=200)
@given(st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=9), min_size=1, max_size=6), st.integers(0, 40))
def test_steps_of_one_unit_are_taken_in_order(costs, capacity):
    """Counts one after the other, with many ties and savings that grow again: the same as one step at a time."""
    table = CostTable.from_rows([{2 + w: float(cost) for w, cost in enumerate(row)} for row in costs])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("dlsched.allocation.heuristics._MANY", 0)
        assert counts(table, increase_greedily(table, capacity)) == naive(rows_of(table), capacity, next_count)


@SETTINGS
@given(cost_tables(max_pairs=8), st.integers(0, 50))
def test_hull_is_within_one_step_of_the_bound(table, capacity):
    """Total <= LP bound + the largest saving of one hull step."""
    chosen = climb_hulls(table, capacity)
    if chosen is None:
        return
    bound = dual_value(table, capacity, best_price(table, capacity).price)
    vertices = [list(row.values()) for row in rows_of(table.subset(hull(table)))]
    largest = max((a - b for row in vertices for a, b in itertools.pairwise(row)), default=0.0)
    assert table.total_cost(chosen) <= bound + largest + 1e-9


def test_ties_go_to_the_first_job():
    """Two equal jobs and one spare unit: the first gets it."""
    table = CostTable.from_rows([{1: 4.0, 2: 2.0}, {1: 4.0, 2: 2.0}])
    for greedy in (double_greedily, increase_greedily, climb_hulls):
        assert counts(table, greedy(table, 3)) == [2, 1]


def test_smallest_counts_that_do_not_fit_have_no_answer():
    """Two jobs of at least 2 on 3 units: None."""
    table = CostTable.from_rows([{2: 4.0}, {2: 4.0, 3: 2.0}])
    for greedy in (double_greedily, increase_greedily, climb_hulls):
        assert greedy(table, 3) is None


def test_only_exact_doubles_count():
    """Counts 3 and 6 double, 3 and 5 do not; a double that belongs to the next job is not taken for one's own."""
    without, with_double = (
        CostTable.from_rows([{3: 9.0, 5: 1.0}, {6: 9.0}]),
        CostTable.from_rows([{3: 9.0, 6: 1.0}, {6: 9.0}]),
    )
    assert counts(without, double_greedily(without, 99)) == [3, 6]
    assert counts(with_double, double_greedily(with_double, 99)) == [6, 6]


def test_huge_counts_double():
    """Counts near 2**53 and their doubles compare exactly."""
    big = 2**52 + 1
    table = CostTable.from_rows([{big: 9.0, 2 * big - 1: 5.0, 2 * big: 1.0}])
    assert counts(table, double_greedily(table, 2**60)) == [2 * big]
    assert np.array_equal(double_greedily(table, big), [0])
