"""``dlsched generate``: a random instance from a seed."""

import inspect
from typing import Annotated

import typer

from dlsched import names
from dlsched.cli import completion
from dlsched.cli.options import FamilyName, OutPath, Seed
from dlsched.core.errors import UsageError
from dlsched.families import find_family, write

NAME = "generate"


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
    record = find_family(family)
    preset = preset or next(iter(record.presets))
    if preset not in record.presets:
        raise UsageError(f"preset: found {preset!r}, allowed: {', '.join(record.presets)}")
    given = {"jobs": jobs, "gpus": gpus, "max_gpus": max_gpus, **own}
    options = {name: value for name, value in given.items() if value is not None}
    takes = inspect.signature(record.generate).parameters
    for name, value in options.items():
        if name not in takes:
            raise UsageError(f"{name}: found {value}, allowed: no such option for {family}")
    write(record.generate(preset=preset, seed=seed, **options), out or "-")
    return 0


def _signature() -> inspect.Signature:
    """Parameters of ``run``, with the families' own options instead of ``own``."""
    *shared, seed, out, _ = inspect.signature(run).parameters.values()
    options = {name: option for family in names.FAMILIES for name, option in names.options(family).items()}
    own = [
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=None,
            annotation=Annotated[kind | None, typer.Option(metavar=metavar, help=words)],
        )
        for name, (kind, metavar, words) in options.items()
    ]
    return inspect.Signature([*shared, *own, seed, out])


# Typer makes options of it
run.__signature__ = _signature()  # type: ignore[attr-defined]
