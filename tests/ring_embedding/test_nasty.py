"""Every method on instances that break arithmetic: no objective above the optimum, no bound below, and check passes all."""

import pytest
from nasty import campaign

from dlsched.testing.ring_embedding import brute_force_ring

from .nasty import most_gained, nasty, nasty_objective

OTHERS = ("exact", "plan")
"""What these call optimal meets a bound of linear programs, within 1e-6."""
SOLVED = ("milp", "arc", "circuit", "slot-greedy")


def test_some_nasty_instances():
    """A sample of the campaign: our own algorithms on most, every solver on some."""
    seen = campaign(nasty, brute_force_ring, range(4), others=OTHERS)
    seen += campaign(nasty, brute_force_ring, range(4, 24), others=OTHERS, skip=SOLVED)
    assert seen["exact optimal"] == 24


@pytest.mark.long
@pytest.mark.parametrize("block", range(40))
def test_many_nasty_instances(block):
    """Four thousand."""
    seen = campaign(nasty, brute_force_ring, range(100 * (block + 1), 100 * (block + 2)), others=OTHERS)
    print(sorted(seen.items()))
    assert (
        seen["exact optimal"] >= 98
    )  # of numbers so far apart that no solver's whole numbers hold them some stay open


def test_some_nasty_objectives():
    """Of all objectives and the other utilities, tiny and huge."""
    seen = campaign(nasty_objective, brute_force_ring, range(4), size=most_gained, others=OTHERS)
    seen += campaign(nasty_objective, brute_force_ring, range(4, 24), size=most_gained, others=OTHERS, skip=SOLVED)
    assert seen["exact optimal"] + seen["exact feasible"] == 24 and seen["exact optimal"] >= 22


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_many_nasty_objectives(block):
    """A thousand."""
    seeds = range(100 * (block + 1), 100 * (block + 2))
    seen = campaign(nasty_objective, brute_force_ring, seeds, size=most_gained, others=OTHERS)
    print(sorted(seen.items()))
    assert seen["exact optimal"] >= 90
