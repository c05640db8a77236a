"""The cost table: its shape, what it refuses, and its views, all by hand."""

import numpy as np
import pytest

from dlsched.allocation.cost_table import CostTable

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


def test_counts_may_fall_from_one_job_to_the_next():
    """Counts increase within a job only."""
    assert CostTable.from_rows([{7: 1.0}, {1: 1.0}]).counts.tolist() == [7, 1]
