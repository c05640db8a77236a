"""Figures by case and method against ones counted by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from cases import alike, cases, compared, differs, interval, shown

from tests.study.by_hand import answer, dead

ROWS = [
    answer("i0", "a", 1.0, preset="p"),
    answer("i0", "b", 1.5, preset="p"),
    answer("i1", "a", 2.0, preset="p"),
    dead("i1", "b", preset="p"),
    answer("i0", "a", 3.0, preset="q"),
]


def test_figures_stand_by_case_and_method() -> None:
    found = cases(ROWS)
    assert {case: list(each) for case, each in found.items()} == {"p": ["a", "b"], "q": ["a"]}
    assert found["p"]["a"].tolist() == [100.0, 200.0] and found["q"]["a"].tolist() == [300.0]
    assert found["p"]["b"][0] == 150.0 and math.isnan(found["p"]["b"][1])
    assert cases(ROWS, lambda row: row.ratio, lambda row: row.instance)["i0"]["a"].tolist() == [1.0, 3.0]


def test_intervals() -> None:
    """Of 1, 2, 3: t with two degrees of freedom is 4.302653, the deviation 1; of one value there is none."""
    assert interval(np.array([1.0, 2.0, 3.0])) == (2.0, pytest.approx(4.302653 / math.sqrt(3), rel=1e-6))
    assert interval(np.array([5.0])) == (5.0, 0.0)
    assert shown(np.array([1.0, 2.0, 3.0]), "+", 1) == "+2.0 [-0.5, +4.5]"
    with pytest.raises(ValueError, match="found none"):
        interval(np.array([]))


def test_differences_of_many_tests_need_more() -> None:
    """The t of 1.1, 1.2, 1.6 is 8.51: beyond the point of 2.5 % of two degrees of freedom, 4.30, and not that of .25 %, 14.09."""
    values = np.array([1.1, 1.2, 1.6])
    assert differs(values) and differs(-values) and not differs(values, tests=10)
    assert not differs(np.array([0.0, 0.0, 0.0])) and not differs(np.array([-1.0, 0.0, 1.0]))


def test_words() -> None:
    low, high = np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.1, 4.0])
    assert (compared(low, high), compared(high, low)) == ("better", "worse")
    assert compared(low, low[::-1]) == "not told apart from it"


def test_methods_that_do_the_same() -> None:
    """Equal in every case, the least mean first."""
    one = {"a": np.array([3.0, 4.0]), "b": np.array([1.0, 2.0]), "c": np.array([3.0, 4.0 + 1e-9])}
    other = {"a": np.array([5.0]), "b": np.array([5.0]), "c": np.array([6.0])}
    assert alike([one]) == [["b"], ["a", "c"]]
    assert alike([one, other]) == [["b"], ["a"], ["c"]]


def test_rows_in_another_order_stand_at_their_instance() -> None:
    """And a method that has not run on one has nothing there."""
    rows = [answer("i0", "a", 1.0), answer("i1", "a", 2.0), answer("i1", "b", 3.0)]
    found = cases(rows)["mixed"]
    assert found["a"].tolist() == [100.0, 200.0]
    assert math.isnan(found["b"][0]) and found["b"][1] == 300.0
    twins = [
        replace(row, instance="i", instance_id=number) for number, row in ((1, rows[0]), (2, rows[1]), (2, rows[2]))
    ]
    assert math.isnan(cases(twins)["mixed"]["b"][0])
