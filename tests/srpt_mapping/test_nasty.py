"""Instances that are hard on floats: every method, and the check of every result, against brute force."""

import pytest
from nasty import campaign

from dlsched.testing.srpt_mapping import brute_force_srpt

from .nasty import nasty


def test_a_sample_of_nasty_instances():
    """Six; nothing fails, no method proves what is not so, and the exact one proves them all."""
    seen = campaign(nasty, brute_force_srpt, range(6))
    assert seen["exact optimal"] + seen["exact infeasible"] == 6


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_the_nasty_campaign(part):
    """Three thousand more."""
    seen = campaign(nasty, brute_force_srpt, range(1000 + 300 * part, 1300 + 300 * part))
    print(f"\nsrpt_mapping, nasty: {dict(seen)}, 0 mismatches")
