"""Which of an instance's models is proven."""

from typing import TYPE_CHECKING

from dlsched.core.errors import UsageError
from dlsched.core.instance import InstanceFile
from dlsched.core.result import Result, Solution
from dlsched.families import family_of
from dlsched.solvers.formulation import Formulation

if TYPE_CHECKING:
    import pulp

_FIRST = ("milp", "priced", "span", "arc")
"""Formulations that are taken where none is named, in this order."""
_SMALL = 20_000
"""Number of columns with which a search is short, as a rule; with more another formulation is tried."""


def model_of(instance: InstanceFile, formulation: str | None) -> "tuple[str, Formulation[pulp.LpProblem, object]]":
    """Return the name and the model of a formulation, of the first that is small, or else the smallest; UsageError: none."""
    family = family_of(instance)
    names = [formulation] if formulation is not None else [name for name in _FIRST if name in family.formulations]
    if names[0] not in family.formulations:
        raise UsageError(where="formulation", found=repr(formulation), allowed=", ".join(family.formulations))
    refused: list[UsageError] = []
    found: list[tuple[int, str, Formulation[pulp.LpProblem, object]]] = []
    for name in names:
        try:
            built = family.formulations[name](instance)
        except UsageError as error:
            refused.append(error)
            continue
        assert isinstance(built, Formulation)
        found.append((built.model.numVariables(), name, built))
        if found[-1][0] <= _SMALL:
            break
    if not found:
        raise refused[-1]
    return min(found, key=lambda each: each[0])[1:]


def reached_by(
    instance: InstanceFile, start: Solution | Result[Solution] | None, built: "Formulation[pulp.LpProblem, object]"
) -> float | None:
    """Return the objective of the model that a start reaches."""
    family = family_of(instance)
    solution = family.start_of(instance, start)
    if solution is None:
        return None
    return (float(family.objective(instance, solution)) - built.constant) / built.unit
