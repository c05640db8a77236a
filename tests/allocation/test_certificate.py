"""What prices and duals prove, by hand."""

from fractions import Fraction

import pytest

from dlsched.allocation.certificate import choice_rows, maybe_below, near_minima
from dlsched.certificates import DualsCertificate, LengthsCertificate, PriceCertificate

from .toy import PROOF, TOY


def test_a_price_by_hand():
    """At 2: min(11, 9, 9) + min(6, 8) - 2 x 5 = 5, the optimum; at 0 the least costs, 1 + 2."""
    assert PROOF.verify(TOY, PriceCertificate(2.0, 0.0)) == 5
    assert PROOF.price_bound(TOY, 0.0) == 3


def test_duals_by_hand():
    """The price 2 and the minima as multipliers prove the same; larger ones add what is below them."""
    rows = {"capacity": -2.0, "choice_a": 9.0, "choice_b": 6.0}
    assert PROOF.verify(TOY, DualsCertificate("milp", rows, 0.0)) == 5
    rows["choice_a"] = 10.0  # + 1, and 9 - 10 for each of two counts
    assert PROOF.verify(TOY, DualsCertificate("milp", rows, 0.0)) == 4
    assert choice_rows(TOY) == ["choice_a", "choice_b"]


@pytest.mark.parametrize(
    ("certificate", "message"),
    [
        (PriceCertificate(-1.0, 0.0), "price -1.0 must be from 0 to 1e.09"),
        (PriceCertificate(float("nan"), 0.0), "price nan must be from 0"),
        (PriceCertificate(2e9, 0.0), "price .* must be from 0 to 1e.09"),
        (DualsCertificate("milp", {"choice_b": 2e9}, 0.0), "of row 'choice_b' is beyond 1e.09"),
        (DualsCertificate("milp", {"capacity": 1.0}, 0.0), "wrong sign"),
        (DualsCertificate("lp", {}, 0.0), "no duals of a formulation 'lp'"),
        (LengthsCertificate({}, 0.0), "no certificates of kind 'lengths'"),
    ],
)
def test_what_is_refused(certificate, message):
    """In words."""
    with pytest.raises(ValueError, match=message):
        PROOF.verify(TOY, certificate)


def test_ticks_come_for_every_job():
    """They may raise to stop."""
    ticks = []
    PROOF.price_bound(TOY, 1.0, tick=lambda: ticks.append(None))
    PROOF.duals_bound(TOY, DualsCertificate("milp", {}, 0.0), tick=lambda: ticks.append(None))
    assert len(ticks) == 4


def test_floats_sort_out_on_the_safe_side():
    """What is within twice the error of both stays; Fractions decide later."""
    values = [1.0, 1.0 + 1e-9, 1.1, 1.0]
    assert near_minima(values, 1e-16) == [0, 3]
    assert near_minima(values, 1e-8) == [0, 1, 3]
    assert maybe_below(values, 1.0, 1e-16) == [0, 3]
    assert maybe_below(values, float(Fraction(11, 10)), 1e-16) == [0, 1, 2, 3]
