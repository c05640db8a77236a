"""The shipped instances: valid, sourced, and their stated optima proven again."""

import json
from pathlib import Path

import pytest

import dlsched
from dlsched import ring_allocation
from dlsched.ring_allocation.certificate import verify
from dlsched.ring_allocation.costs import cost_table

ROOT = Path(__file__).parent.parent / "instances"
FILES = sorted(ROOT.glob("*/*.json"))


def test_there_are_enough() -> None:
    """At least twenty, from two jobs to ten thousand on 65,536 GPUs."""
    sizes = [(len(data["jobs"]), data["gpus"]) for data in (json.loads(path.read_text()) for path in FILES)]
    assert len(sizes) >= 20
    assert (2, 6) in sizes and (10_000, 65_536) in sizes


def test_the_example_is_shipped() -> None:
    """two-jobs.json is the example of the library, solved."""
    shipped = dlsched.read(ROOT / "ring_allocation" / "two-jobs.json")
    assert shipped.sha256 == ring_allocation.example().sha256


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_known_optimum_is_proven_again(path: Path) -> None:
    """The exact method finds the stated optimum and its certificate holds; the README lists the file."""
    instance = dlsched.read(path)
    result = dlsched.solve(instance)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(instance.known.optimum, rel=1e-12)
    assert instance.known.proof and (instance.source or path.stem == "two-jobs")
    assert verify(instance, result.certificate) >= result.certificate.value
    assert f"`{path.name}`" in (path.parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("solver", ["highs", "cbc", "scip"])
def test_known_optimum_by_another_code_base(path: Path, solver: str) -> None:
    """HiGHS proves every stated optimum; CBC and SCIP those of at most 10,000 pairs."""
    instance = dlsched.read(path)
    if solver != "highs" and cost_table(instance).pairs > 10_000:
        pytest.skip("too large for this solver")
    result = dlsched.solve(instance, method="milp", solver=solver)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(instance.known.optimum, rel=1e-9)
