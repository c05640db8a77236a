"""``dlsched generate``: a random instance from a seed."""

from typing import Annotated

import typer

from dlsched.cli.options import FamilyName, OutPath, Seed
from dlsched.core.errors import UsageError
from dlsched.families import find_family, write

NAME = "generate"


def run(
    family: FamilyName,
    preset: Annotated[str | None, typer.Option(metavar="P", help="What kind; the family's first by default.")] = None,
    jobs: Annotated[int, typer.Option(metavar="N", help="Number of jobs.")] = 10,
    gpus: Annotated[int | None, typer.Option(metavar="N", help="GPUs of the cluster.")] = None,
    max_gpus: Annotated[int, typer.Option(metavar="N", help="Largest count for a job.")] = 64,
    seed: Seed = 0,
    out: OutPath = None,
) -> int:
    """Draw an instance; the same arguments give the same bytes."""
    record = find_family(family)
    preset = preset or next(iter(record.presets))
    if preset not in record.presets:
        raise UsageError(f"preset: found {preset!r}, allowed: {', '.join(record.presets)}")
    write(record.generate(preset=preset, jobs=jobs, gpus=gpus, max_gpus=max_gpus, seed=seed), out or "-")
    return 0
