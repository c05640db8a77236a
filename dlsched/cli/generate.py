"""``dlsched generate``: a random instance from a seed."""

from typing import Annotated

import typer

from dlsched.catalogue.families import FAMILIES, options
from dlsched.cli import completion
from dlsched.cli.options import FamilyName, OutPath, Seed, taking
from dlsched.families import write
from dlsched.generation import generate

NAME = "generate"
OWN = {name: option for family in FAMILIES for name, option in options(family).items()}
"""Options of the families; of those that several have, the words of the last."""


@taking(OWN.values(), before="seed")
def run(
    family: FamilyName,
    preset: Annotated[
        str | None,
        typer.Option(metavar="P", help="What kind; the family's first by default.", autocompletion=completion.presets),
    ] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="Number of jobs.")] = None,
    gpus: Annotated[int | None, typer.Option(metavar="N", help="GPUs (units, workers) of the cluster.")] = None,
    max_gpus: Annotated[int | None, typer.Option(metavar="N", help="Largest count for a job.")] = None,
    seed: Seed = 0,
    out: OutPath = None,
    **own: float | str | None,
) -> int:
    """Draw an instance; the same arguments give the same bytes."""
    write(generate(family, preset=preset, jobs=jobs, gpus=gpus, max_gpus=max_gpus, seed=seed, **own), out or "-")
    return 0
