"""Finish-time fairness of ratios: by hand, at the ends, and where squares overflow."""

import pytest

from dlsched.statistics.fairness import fairness


@pytest.mark.parametrize(
    ("ratios", "largest", "mean", "jain"),
    [
        ([], 1.0, 1.0, 1.0),
        ([0.3], 0.3, 0.3, 1.0),
        ([1.0, 3.0], 3.0, 2.0, 16 / (2 * 10)),
        ([2.0, 2.0, 2.0], 2.0, 2.0, 1.0),
        ([1e-200, 1.0, 1e-200, 1e-200], 1.0, 0.25, 0.25),
        ([1e250, 3e250], 3e250, 2e250, 0.8),
    ],
)
def test_by_hand(ratios: list[float], largest: float, mean: float, jain: float) -> None:
    """Jain's index is (sum rho)^2 / (J sum rho^2)."""
    assert fairness(ratios) == pytest.approx({"max_rho": largest, "mean_rho": mean, "jain_index": jain})


def test_equal_ratios_have_an_index_of_one_at_most() -> None:
    """Whatever rounding does to the sums."""
    assert all(fairness([0.1] * number)["jain_index"] <= 1.0 for number in range(1, 200))


def test_a_ratio_beyond_all_floats_has_no_figures():
    """Ten seconds over the smallest float overflow."""
    assert fairness([1.0, 10.0 / 5e-324]) == {}
