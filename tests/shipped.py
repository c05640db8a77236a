"""What tests of shipped instances share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dlsched
from dlsched.allocation.cost_table import CostTable

ROOT = Path(__file__).parents[1] / "instances"
PAIRS = 10_000  # pairs of job and count, of the largest that CBC and SCIP are asked for


def files(family: str, pattern: str = "*") -> list[Path]:
    """Shipped instances of a family."""
    return sorted((ROOT / family).glob(f"{pattern}.json"))


def each_of(family: str, pattern: str = "*") -> pytest.MarkDecorator:
    """Parametrize a test by the ``path`` of each of them."""
    return pytest.mark.parametrize("path", files(family, pattern), ids=lambda path: path.stem)


def assert_proven_again(instance: Any, method: str, solver: str | None = None) -> None:
    """Assert that a method proves the known optimum."""
    result = dlsched.solve(instance, method=method, solver=solver)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(instance.known.optimum, rel=1e-9)


def assert_pairs_proven_again(path: Path, solver: str, cost_table: Callable[[Any], CostTable]) -> None:
    """Assert that a solver proves a known optimum of counts; CBC and SCIP are asked for those of at most ``PAIRS``."""
    instance = known(path)
    if solver != "highs" and cost_table(instance).pairs > PAIRS:
        pytest.skip("too large for this solver")
    assert_proven_again(instance, "milp", solver)


def known(path: Path) -> Any:
    """Read an instance; skip it where its optimum is not known."""
    instance = dlsched.read(path)
    if instance.known.optimum is None:
        pytest.skip("its optimum is not known")
    return instance
