"""``dlsched export``: the model of an instance, for any other solver."""

import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from dlsched.cli.options import InstancePath, OutPath
from dlsched.core.errors import InputError, UsageError
from dlsched.core.files import write_text
from dlsched.families import family_of, read

NAME = "export"
DEFAULT = "milp"
"""Formulation of the families that have it; of another its first."""


def run(
    file: InstancePath,
    formulation: Annotated[
        str | None, typer.Option(metavar="F", help="A linear formulation of the family: milp, or else its first.")
    ] = None,
    format_: Annotated[str, typer.Option("--format", metavar="lp|mps", help="File format.")] = "lp",
    out: OutPath = None,
) -> int:
    """Write a formulation of an instance as an LP or MPS file.

    MPS files are minimised: that of a maximising model holds the negated objective. No file holds an objective's constant.
    """
    instance = read(file)
    formulations = family_of(instance).formulations
    if formulation is None:
        formulation = DEFAULT if DEFAULT in formulations else next(iter(formulations))
    if formulation not in formulations:
        raise UsageError(f"formulation: found {formulation!r}, allowed: {', '.join(formulations)}")
    if format_ not in ("lp", "mps"):
        raise UsageError(f"format: found {format_!r}, allowed: lp, mps")
    try:
        text = model_text(formulations[formulation](instance), format_)
    except OSError as error:
        raise InputError(f"{out or 'temporary file'}: cannot be written: {error.strerror or error}") from None
    if out is None:
        sys.stdout.write(text)
    else:
        write_text(out, text)
    return 0


def model_text(problem: Any, format_: str) -> str:
    """Write a PuLP model with its own names; a maximising one as MPS with its objective negated.

    Not every reader of MPS knows a section for the sense, and all minimise without it.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"model.{format_}")
        if format_ == "lp":
            problem.writeLP(str(path))
        else:
            problem.writeMPS(str(path), mpsSense=1)  # PuLP's number for minimising
        return path.read_text(encoding="utf-8")
