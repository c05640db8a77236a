"""Cost tables: the cost of each allowed count of units for each job, undominated pairs, lower hulls, largest useful counts."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.allocation import cost_table
from dlsched.allocation.cost_table import CostTable, hull, undominated, useful_most
from dlsched.testing import cost_tables

from .naive import pairs_of

ROWS = [{4: 1.0, 1: 9.0, 2: 5.0}, {3: 4.0}, {2: 8.0, 5: -1.0}]


def test_rows_become_flat_arrays_in_ascending_counts():
    """Dictionaries in any order give the arrays that a person would write."""
    table = CostTable.from_rows(ROWS)
    assert table.starts.tolist() == [0, 3, 4, 6]
    assert table.counts.tolist() == [1, 2, 4, 3, 2, 5]
    assert table.costs.tolist() == [9.0, 5.0, 1.0, 4.0, 8.0, -1.0]
    assert (table.jobs, table.pairs) == (3, 6)
    assert table.first.tolist() == [0, 3, 4]
    assert table.last.tolist() == [2, 3, 5]
    assert table.lengths.tolist() == [3, 1, 2]
    assert table.minimum_units == 1 + 3 + 2


def test_total_cost_adds_the_chosen_pairs():
    """Pairs 1, 3 and 5 cost 5 + 4 - 1."""
    assert CostTable.from_rows(ROWS).total_cost([1, 3, 5]) == 8.0


def test_subset_keeps_the_marked_pairs():
    """Without pairs 1 and 4 every job keeps its others."""
    kept = CostTable.from_rows(ROWS).subset(np.array([True, False, True, True, False, True]))
    assert kept.starts.tolist() == [0, 2, 3, 4]
    assert kept.counts.tolist() == [1, 4, 3, 5]
    assert kept.costs.tolist() == [9.0, 1.0, 4.0, -1.0]


def test_a_subset_that_leaves_a_job_nothing_is_refused():
    """Job 1 has one pair; without it there is no table."""
    with pytest.raises(ValueError, match="at least one pair"):
        CostTable.from_rows(ROWS).subset(np.array([True, False, True, False, False, True]))


@pytest.mark.parametrize(
    ("starts", "counts", "costs", "message"),
    [
        ([0], [], [], "starts"),
        ([1, 2], [1, 2], [1.0, 2.0], "starts"),
        ([0, 1], [1, 2], [1.0, 2.0], "starts"),
        ([0, 1, 1], [1], [1.0], "at least one pair"),
        ([0, 2], [1, 2], [1.0], "its cost"),
        ([0, 2], [2, 2], [1.0, 2.0], "increase"),
        ([0, 2], [2, 1], [1.0, 2.0], "increase"),
        ([0, 1], [0], [1.0], "at least 1"),
        ([0, 1], [1], [float("nan")], "finite"),
        ([0, 1], [1], [float("inf")], "finite"),
    ],
)
def test_malformed_tables_are_refused(starts, counts, costs, message):
    """Each rule of the table has its own message."""
    arrays = np.array(starts, dtype=np.int64), np.array(counts, dtype=np.int64), np.array(costs, dtype=np.float64)
    with pytest.raises(ValueError, match=message):
        CostTable(*arrays)


SETTINGS = settings(max_examples=40, derandomize=True, deadline=None, database=None)


def rows(table):
    """Pairs (index, count, cost) of every job."""
    for pairs in pairs_of(table):
        yield [(pair, int(table.counts[pair]), Fraction(float(table.costs[pair]))) for pair in pairs]


def on_hull(row, candidate):
    """Whether some price >= 0 makes the undominated pair a minimiser."""
    _, count, cost = candidate
    low, high = Fraction(0), None  # prices at which no other pair is cheaper
    for _, other_count, other_cost in row:
        if other_count < count:  # not cheaper: other_cost + p other_count >= cost + p count
            edge = (other_cost - cost) / (count - other_count)
            high = edge if high is None else min(high, edge)
        elif other_count > count:
            low = max(low, (cost - other_cost) / (other_count - count))
    return high is None or (low <= high and high > 0)


@SETTINGS
@given(cost_tables(max_jobs=4, max_pairs=10))
def test_undominated_pairs_by_definition(table):
    """A pair stays if and only if it costs less than every smaller count of its job."""
    expected = [
        all(cost < other for _, smaller, other in row if smaller < count)
        for row in rows(table)
        for _, count, cost in row
    ]
    assert undominated(table).tolist() == expected


@SETTINGS
@given(cost_tables(max_jobs=4, max_pairs=10, whole=True), st.integers(0, 8))
def test_hull_vertices_by_definition(table, rounds):
    """Marked are exactly the pairs that minimise cost + price x count at some price, and that no smaller count matches."""
    expected = [
        count == row[0][1] or on_hull(row, (pair, count, cost)) for row in rows(table) for pair, count, cost in row
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost_table, "_ROUNDS", rounds)  # then pair by pair
        assert hull(table).tolist() == expected


@SETTINGS
@given(cost_tables(max_jobs=4, max_pairs=10))
def test_savings_fall_along_the_hull(table):
    """From pair to pair of a job the saving per added unit does not rise, and is positive, up to rounding."""
    marked = hull(table)
    for row in rows(table):
        vertices = [(count, cost) for pair, count, cost in row if marked[pair]]
        steps = [(c - d) / (w - v) for (v, c), (w, d) in itertools.pairwise(vertices)]
        assert all(step > 0 for step in steps)
        assert all(later <= earlier * (1 + Fraction(1, 10**12)) for earlier, later in itertools.pairwise(steps))


def test_hull_by_hand():
    """Costs 10, 8, 3, 2, 5 on 1, 2, 3, 5, 9 units: 2 lies above the line 1-3, and 9 costs more than 5."""
    table = CostTable.from_rows([{1: 10.0, 2: 8.0, 3: 3.0, 5: 2.0, 9: 5.0}])
    assert undominated(table).tolist() == [True, True, True, True, False]
    assert hull(table).tolist() == [True, False, True, True, False]


def test_each_drop_uncovers_the_next():
    """Falling convexly by 4000, 3999, ... and by 10^9 in the end: every round of drops would take one; two vertices stay."""
    costs = [1e10 - 4000.0 * w + w * (w - 1) / 2 for w in range(4000)]
    table = CostTable.from_rows([dict(enumerate([*costs, 0.0], 1))])
    assert np.flatnonzero(hull(table)).tolist() == [0, 4000]


def test_pairs_on_a_line_are_kept():
    """9, 7, 5, 3 on 1, 2, 3, 4 units; 3 units for a little more are stepped over, also where 2 are on the line."""
    assert hull(CostTable.from_rows([{1: 9.0, 2: 7.0, 3: 5.0, 4: 3.0}])).tolist() == [True] * 4
    assert hull(CostTable.from_rows([{1: 9.0, 2: 7.0, 3: 5.001, 4: 3.0}])).tolist() == [True, True, False, True]
    # a line that ends where costs rise, and one that follows on another
    table = CostTable.from_rows([{1: 4.0, 3: 2.0, 5: 0.0, 6: 0.0}, {1: 9.0, 2: 6.0, 3: 3.0, 5: 2.0, 7: 1.0}])
    assert hull(table).tolist() == [True, True, True, False] + [True] * 5


@pytest.mark.parametrize("rounds", [0, 8])
def test_a_line_of_decimals_is_a_line(rounds, monkeypatch):
    """.7, .6, ... .1: in floats the savings differ in their last bits, and some rise."""
    monkeypatch.setattr(cost_table, "_ROUNDS", rounds)
    costs = [(8 - count) / 10 for count in range(1, 8)]
    savings = [first - second for first, second in itertools.pairwise(costs)]
    assert any(later > earlier for earlier, later in itertools.pairwise(savings))
    assert hull(CostTable.from_rows([dict(enumerate(costs, 1))])).all()


def test_a_bow_that_no_neighbours_show_is_no_line():
    """A million costs, each less than a rounding above the line through its neighbours, together far above that of the ends."""
    w = np.arange(1, 10**6 + 1)
    costs = 1e9 - w.astype(float) - 1e-8 * (w - 1.0) ** 2 / 10
    table = CostTable(np.array([0, len(w)]), w, costs)
    assert np.flatnonzero(hull(table)).tolist() == [0, len(w) - 1]


def test_one_long_job_beside_short_ones():
    """The scan in powers of two stops at job ends: 100 falling costs, then two jobs of one pair."""
    table = CostTable.from_rows([{1: 1000.0}, {w: 500.0 - w for w in range(1, 101)}, {1: 1.0}])
    assert undominated(table).all()


def most(hyperbolic, linear, largest, spare, free=None):
    """Of jobs that are all in F, unless told otherwise."""
    free = [True] * len(hyperbolic) if free is None else free
    return useful_most(
        np.array(hyperbolic), np.array(linear), np.array(largest, dtype=float), np.array(free, dtype=bool), spare
    )


def test_no_further_than_the_cheapest_count():
    """100 / w + w is least at 10; what only grows, at 1."""
    assert most([100.0, -1.0], [1.0, 1.0], [64, 64], 1000) == [12, 3]


def test_a_price_shares_the_capacity():
    """100 equal jobs that want all: some units more than the three a job that rounding takes."""
    found = most([100.0] * 100, [0.0] * 100, [10**6] * 100, 900)
    assert set(found) <= {9 + 3 + 2 - 1, 9 + 3 + 2}


def test_jobs_outside_do_not_count():
    """Where none is in F no price is needed."""
    assert most([100.0], [0.0], [64], 4, free=[False]) == [66]
