"""The mixed-integer program of orders: what the exact proofs say, in floats."""

import pytest

from dlsched.core.errors import UsageError
from dlsched.worst.proving import bound_by_order


@pytest.mark.parametrize(
    ("method", "jobs", "gpus", "counts", "value"),
    [
        ("doubling", 2, 9, "powers", 3 / 2),
        ("doubling", 2, 12, "powers", 1.0),
        ("doubling", 3, 7, "powers", 6 / 5),
        ("doubling", 2, 5, "all", 7 / 5),
        ("marginal", 2, 6, "all", 1.0),
    ],
)
def test_bounds_are_the_suprema(method: str, jobs: int, gpus: int, counts: str, value: float) -> None:
    """Numbers of the proofs in rationals; 1 is Fox's theorem."""
    found = bound_by_order(method, jobs=jobs, gpus=gpus, counts=counts)
    assert (found.ratio, found.bound) == (pytest.approx(value, abs=1e-6), pytest.approx(value, abs=1e-6))


@pytest.mark.parametrize("asked", [{"method": "hull"}, {"tables": "sublinear"}, {"method": "equal"}])
def test_what_it_does_not_know(asked: dict[str, str]) -> None:
    """Steps over several counts, and savings that rise."""
    arguments = {"method": "doubling", "tables": "convex"} | asked
    with pytest.raises(UsageError, match="method"):
        bound_by_order(arguments["method"], jobs=2, gpus=5, tables=arguments["tables"])
