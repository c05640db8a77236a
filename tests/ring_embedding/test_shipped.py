"""The shipped rings: all optima known, those of small ones by HiGHS and by CP-SAT."""

from pathlib import Path
from typing import Any

import pytest
from shipped import assert_proven_again, each_of, files, known

import dlsched


def size(instance: Any) -> int:
    """Jobs, servers and slots, multiplied."""
    return len(instance.jobs) * len(instance.servers) * instance.slots


def test_there_are_enough() -> None:
    """At least twelve optima."""
    assert sum(dlsched.read(path).known.optimum is not None for path in files("ring_embedding")) >= 12


@pytest.mark.long
@each_of("ring_embedding")
def test_known_optimum_by_another_code_base(path: Path) -> None:
    """HiGHS proves small ones."""
    instance = known(path)
    if size(instance) > 100:
        pytest.skip("HiGHS proves small ones")
    assert_proven_again(instance, "milp", "highs")


@pytest.mark.long
@each_of("ring_embedding")
def test_known_optimum_by_circuits(path: Path) -> None:
    """CP-SAT proves small ones on its own model."""
    instance = known(path)
    if size(instance) > 240:
        pytest.skip("too large for CP-SAT")
    assert_proven_again(instance, "circuit")
