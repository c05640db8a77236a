"""``dlsched export``: the model of an instance, for any other solver."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from dlsched.cli import completion
from dlsched.cli.options import InstancePath, OutPath
from dlsched.core.errors import UsageError
from dlsched.core.files import require_writable, write_text
from dlsched.families import family_of, read

if TYPE_CHECKING:
    import pulp

NAME = "export"
DEFAULT = "milp"
"""Formulation of the families that have it; of another its first."""


def run(
    file: InstancePath,
    formulation: Annotated[
        str | None,
        typer.Option(
            metavar="F",
            help="A linear formulation of the family: milp, or else its first.",
            autocompletion=completion.formulations,
        ),
    ] = None,
    format_: Annotated[str, typer.Option("--format", metavar="lp|mps", help="File format.")] = "lp",
    out: OutPath = None,
) -> int:
    """Write a formulation of an instance as an LP or MPS file.

    MPS files are minimised: that of a maximising model holds the negated objective. No file holds an objective's constant;
    comments at its head say the constant and the unit.
    """
    instance = read(file)
    formulations = family_of(instance).formulations
    if formulation is None:
        formulation = DEFAULT if DEFAULT in formulations else next(iter(formulations))
    if formulation not in formulations:
        raise UsageError(where="formulation", found=repr(formulation), allowed=", ".join(formulations))
    if format_ not in ("lp", "mps"):
        raise UsageError(where="format", found=repr(format_), allowed="lp, mps")
    if out is not None:
        require_writable(out)
    built = formulations[formulation](instance)
    text = model_text(built.model, format_, family_of(instance).unit_for(instance), built.unit)
    if out is None:
        sys.stdout.write(text)
    else:
        write_text(out, text)
    return 0


def model_text(problem: "pulp.LpProblem", format_: str, unit: str | None = None, factor: float = 1.0) -> str:
    """Write a PuLP model with its own names and all digits; a maximising one as MPS with its objective negated.

    With a unit, of which the model's is ``factor``, comments at the head say it, and the constant to add to the file's optimum.
    """
    from dlsched.solvers.linear import from_pulp
    from dlsched.solvers.model_files import lp_text, mps_text, objective_words

    head = []
    if unit is not None:
        negated = format_ == "mps" and problem.sense == -1
        head = objective_words(unit, float(problem.objective.constant or 0.0), factor=factor, negated=negated)
    return (lp_text if format_ == "lp" else mps_text)(from_pulp(problem), problem.name, head)
