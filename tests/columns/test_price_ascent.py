"""The bundle ascent reaches optima known by hand, at any scale, and its value is never above them."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from dlsched.columns.price_ascent import Ascent, Cheapest
from dlsched.core.arrays import FloatArray

OWN = np.array([[0.0, 1.0], [0.0, 3.0]])  # of two participants: with the supply, and without
USAGE = np.array([1.0, 0.0])


def ascent(scale: float, groups: list[int] | None) -> Ascent:
    """Each takes one unit of the one supply, or does without at a cost; the unit goes to the second, the first pays 1."""

    def price(at: FloatArray) -> Cheapest:
        costs = scale * OWN + USAGE * at[0]
        best = costs.argmin(axis=1)
        rows = np.arange(2)
        return Cheapest(float(costs.min(axis=1).sum()), scale * OWN[rows, best], csr_array(USAGE[best].reshape(2, 1)))

    which = None if groups is None else np.array(groups)
    return Ascent(price, np.array([1.0]), np.array([0.01 * scale]), which)


@pytest.mark.parametrize("scale", [1.0, 2.0**-300, 2.0**300])
@pytest.mark.parametrize("groups", [None, [0, 0]])
def test_it_reaches_the_optimum(scale: float, groups: list[int] | None) -> None:
    """Prices from 1 to 3 let one take the unit: least is 1 + price, less the price is 1."""
    found = ascent(scale, groups)
    for _ in range(60):
        found.step()
        assert found.value <= scale * (1 + 1e-9)
        if found.closed:
            break
    assert found.value == pytest.approx(scale)
    assert scale * (1 - 1e-6) <= found.best[0] <= 3 * scale * (1 + 1e-6)
