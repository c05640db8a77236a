"""Multipliers in rationals, from floats."""

from fractions import Fraction

import numpy as np
import pytest

from dlsched.worst.proving.programs import Programs, multipliers
from dlsched.worst.proving.runs import Rows

FALLS: Rows = {"falls 0 1": {(0, 1): 1, (0, 2): -1}}
SPEED: Rows = {"speed 0 1": {(0, 2): 2, (0, 1): -1}}
HELD, BEST = [(0, 1)], [(0, 2)]


def test_a_program_by_hand() -> None:
    """One job, c(1) / c(2) is at most 2 where no speed is beyond linear: y = 1 of 2 c(2) - c(1) >= 0."""
    answer = Programs([(0, 1), (0, 2)], FALLS).worst(HELD, BEST, SPEED)
    assert answer.value == pytest.approx(2)
    assert multipliers(HELD, BEST, FALLS | SPEED, answer.duals) == (2, {"speed 0 1": 1})


def test_a_program_without_bound() -> None:
    """Without that row c(2) may be 0."""
    assert Programs([(0, 1), (0, 2)], FALLS).worst(HELD, BEST, {}).value == np.inf


def test_floats_that_prove_nothing() -> None:
    """A multiplier that is too small leaves a part of c(1)."""
    assert multipliers(HELD, BEST, FALLS | SPEED, {"speed 0 1": 0.5}, Fraction(3)) is None
    assert multipliers(HELD, BEST, FALLS, {}, Fraction(3)) is None
    assert multipliers(HELD, BEST, FALLS | SPEED, {"speed 0 1": -1.0}, Fraction(3)) is None


def test_noise_of_floats_is_removed() -> None:
    """Rounding to short fractions, and where m has to be least, the equations that the floats meet."""
    noisy = {"speed 0 1": 1.0 - 1e-13}
    assert multipliers(HELD, BEST, SPEED, noisy, Fraction(2)) == (2, {"speed 0 1": 1})
    assert multipliers(HELD, BEST, SPEED, noisy) == (2, {"speed 0 1": 1})


def test_more_than_is_of_use_is_none() -> None:
    """With m = 2 it does not prove 3/2."""
    assert multipliers(HELD, BEST, SPEED, {"speed 0 1": 1.0}, Fraction(3, 2)) is None


def test_whether_a_table_satisfies_rows() -> None:
    """Signs, but for rounding."""
    programs = Programs([(0, 1), (0, 2)], {})
    assert programs.holds(np.array([1.0, 1.0 + 1e-12]), FALLS)
    assert not programs.holds(np.array([1.0, 1.1]), FALLS)
