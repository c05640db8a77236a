"""What tests of shipped instances share."""

from pathlib import Path
from typing import Any

import pytest

import dlsched

ROOT = Path(__file__).parents[1] / "instances"


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


def known(path: Path) -> Any:
    """Read an instance; skip it where its optimum is not known."""
    instance = dlsched.read(path)
    if instance.known.optimum is None:
        pytest.skip("its optimum is not known")
    return instance
