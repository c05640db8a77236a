"""Every method on instances that break arithmetic: no objective above the optimum, no bound below, and check passes all."""

import pytest
from nasty import campaign

from dlsched.ring_embedding import Instance, solve
from dlsched.testing.ring_embedding import brute_force_ring

from .nasty import most_gained, wild

OTHERS = ("exact", "plan")
"""What these call optimal meets a bound of linear programs, within 1e-6."""
SOLVED = ("milp", "arc", "circuit", "slot-greedy")


def test_some_wild_scales():
    """Utilities of far scales beside each other: in the first four HiGHS takes bounds of the relaxation for infinite."""
    seen = campaign(wild, brute_force_ring, range(1, 3), size=most_gained, others=OTHERS)
    seen += campaign(
        wild, brute_force_ring, (4, 189, 228, 453, *range(5, 9)), size=most_gained, others=OTHERS, skip=SOLVED
    )
    assert seen["exact optimal"] == 10


@pytest.mark.long
@pytest.mark.parametrize("block", range(4))
def test_many_wild_scales(block):
    """Four hundred."""
    seeds = range(1000 + 100 * block, 1100 + 100 * block)
    seen = campaign(wild, brute_force_ring, seeds, size=most_gained, others=OTHERS)
    print(sorted(seen.items()))
    assert seen["exact optimal"] >= 98


@pytest.mark.parametrize("method", ["exact", "plan", "bound", "columns", "horizon"])
def test_a_utility_of_next_to_nothing_beside_a_large_one(method):
    """A loss worth 1e6 (1/10 - 1/10.1) less 10 of energy, 980.099, beside a sigmoid worth 4e-22, on one server."""
    job = {"max_workers": 1, "demand": {"gpu": 2.0}, "bandwidth_bytes_per_s": 0.0, "rate": 1.0}
    instance = Instance(
        name="far",
        slots=1,
        nodes=[{"id": "s", "capacity": {"gpu": 2.0}, "power_on_w": 1000.0}],
        links=[],
        energy_price_per_kwh=10.0,
        jobs=[
            {"id": "a", "utility": {"kind": "loss", "scale": 1e6, "curve": {"b0": 0.1, "b1": 10.0}}, **job},
            {"id": "b", "utility": {"kind": "sigmoid", "height": 2.0, "steepness": 50.0, "midpoint": 2.0}, **job},
        ],
    )
    result = solve(instance, method=method)
    best = 1e6 * (1 / 10 - 1 / 10.1) - 10
    assert result.bound == pytest.approx(best, rel=1e-9)
    assert result.objective == (pytest.approx(best, rel=1e-9) if method in ("exact", "plan") else None)
