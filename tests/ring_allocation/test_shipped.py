"""The shipped instances of ring_allocation: from two jobs to ten thousand, and their optima by three solvers."""

from pathlib import Path

import pytest
from shipped import assert_pairs_proven_again, each_of, files

import dlsched
from dlsched.ring_allocation.costs import cost_table


def test_there_are_small_and_large_ones() -> None:
    """At least twenty, from two jobs on six GPUs to ten thousand on 65,536."""
    instances = [dlsched.read(path) for path in files("ring_allocation")]
    sizes = [(len(instance.jobs), instance.gpus) for instance in instances]
    assert len(sizes) >= 20
    assert (2, 6) in sizes and (10_000, 65_536) in sizes


@pytest.mark.long
@each_of("ring_allocation")
@pytest.mark.parametrize("solver", ["highs", "cbc", "scip"])
def test_known_optimum_by_another_code_base(path: Path, solver: str) -> None:
    """HiGHS proves stated optima, CBC and SCIP those of at most 10,000 pairs."""
    assert_pairs_proven_again(path, solver, cost_table)
