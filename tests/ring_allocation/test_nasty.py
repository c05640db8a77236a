"""Every method on instances with nasty numbers, against brute force: right, or refused, and every result passes check."""

import pytest
from nasty import campaign

from dlsched.core.limits import Limits
from dlsched.testing import brute_force

from .nasty import nasty


def test_a_sample():
    """Own algorithms to 1e-9, HiGHS to 1e-6; the other solvers cost more and have the campaign."""
    seen = campaign(nasty, brute_force, range(20), skip=("minlp",))
    assert seen["exact optimal"] + seen["exact infeasible"] == 20


@pytest.mark.long
def test_thousands():
    """As the sample, many more of them."""
    seen = campaign(nasty, brute_force, range(1000, 5000), skip=("minlp",))
    print(f"\nring_allocation on nasty numbers: {dict(sorted(seen.items()))}")


@pytest.mark.long
def test_hundreds_by_minlp():
    """SCIP is right, or has no time left, or the instance is refused."""
    others = ("exact", "dp", "milp", "doubling", "marginal", "fixed", "equal", "hull", "lagrange", "lp")
    seen = campaign(nasty, brute_force, range(600), skip=others, limits=Limits(time_s=5.0))
    print(f"\nminlp on nasty numbers: {dict(sorted(seen.items()))}")
    assert not seen["minlp solver_error"]
