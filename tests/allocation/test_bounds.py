"""Price and linear programming bounds with their certificates, by hand."""

import pytest

from dlsched.allocation.bounds import duals_certificate, price_certificate
from dlsched.core.errors import UsageError

from .toy import PROOF, TOY, Toy, tabulate

TIGHT = Toy(TOY.jobs, 1)


def table():
    """Of the toy."""
    return tabulate(TOY)


def test_the_best_price_and_a_given_one():
    """From 1 to 2 the bound is the optimum; 0 proves the sum of the least costs."""
    best = price_certificate(TOY, PROOF, table, None)
    assert 1.0 <= best.price <= 2.0
    assert best.value == 5.0
    assert price_certificate(TOY, PROOF, table, 0.0).value == 3.0


def test_duals_of_the_relaxation():
    """HiGHS finds multipliers that prove the same."""
    for most in (1.0, float("inf")):
        assert duals_certificate(TOY, PROOF, table, most=most).value == pytest.approx(5.0, rel=1e-9)


def test_what_has_no_bound():
    """Infeasible instances, and prices out of range."""
    with pytest.raises(UsageError, match="infeasible: every bound holds"):
        price_certificate(TIGHT, PROOF, table, None)
    with pytest.raises(UsageError, match="infeasible: every bound holds"):
        duals_certificate(TIGHT, PROOF, table)
    with pytest.raises(UsageError, match=r"price: found -1\.0, allowed: a number >= 0"):
        price_certificate(TOY, PROOF, table, -1.0)
