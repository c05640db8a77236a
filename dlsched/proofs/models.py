"""The linear model of an instance that a proof is about."""

from typing import TYPE_CHECKING

from dlsched.core.errors import UsageError
from dlsched.core.instance import InstanceFile
from dlsched.families import family_of
from dlsched.solvers.formulation import Formulation

if TYPE_CHECKING:
    import pulp

_FIRST = ("milp", "span", "arc")
"""Formulations that are taken where none is named, in this order."""


def model_of(instance: InstanceFile, formulation: str | None) -> "tuple[str, Formulation[pulp.LpProblem, object]]":
    """Return the name and the model of a formulation, of the first that the instance has; UsageError: there is none."""
    family = family_of(instance)
    names = [formulation] if formulation is not None else [name for name in _FIRST if name in family.formulations]
    if names[0] not in family.formulations:
        raise UsageError(where="formulation", found=repr(formulation), allowed=", ".join(family.formulations))
    refused: UsageError | None = None
    for name in names:
        try:
            built = family.formulations[name](instance)
            assert isinstance(built, Formulation)
            return name, built
        except UsageError as error:
            refused = error
    assert refused is not None
    raise refused
