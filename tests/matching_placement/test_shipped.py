"""The shipped placements: enough with an optimum and with published rates, and their optima by three solvers."""

from pathlib import Path

import pytest
from shipped import assert_proven_again, each_of, files, known

import dlsched
from dlsched.matching_placement.arrays import arrays
from dlsched.matching_placement.formulations.milp import count_configurations

CONFIGURATIONS = {"highs": 200_000, "cbc": 10_000, "scip": 10_000}
"""Of the largest that each is asked for."""


def test_there_are_enough() -> None:
    """At least fifteen optima, and four instances with measured rates of A100s."""
    instances = [dlsched.read(path) for path in files("matching_placement")]
    assert sum(instance.known.optimum is not None for instance in instances) >= 15
    assert sum(any(worker.type == "A100" for worker in instance.workers) for instance in instances) >= 4


@pytest.mark.long
@each_of("matching_placement")
@pytest.mark.parametrize("solver", CONFIGURATIONS)
def test_known_optimum_by_another_code_base(path: Path, solver: str) -> None:
    """Solvers prove the stated optima of placements of few configurations."""
    instance = known(path)
    data = arrays(instance)
    if sum(count_configurations(data, job) for job in range(data.jobs)) > CONFIGURATIONS[solver]:
        pytest.skip("too many configurations for this solver")
    assert_proven_again(instance, "milp", solver)
