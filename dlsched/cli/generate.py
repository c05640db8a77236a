"""``dlsched generate``: a random instance from a seed."""

import inspect
from typing import Annotated

import typer

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
    servers: Annotated[int | None, typer.Option(metavar="N", help="Servers of the network; rings only.")] = None,
    slots: Annotated[int | None, typer.Option(metavar="N", help="Slots of time; rings only.")] = None,
    max_gpus: Annotated[int | None, typer.Option(metavar="N", help="Largest count for a job.")] = None,
    nodes: Annotated[int | None, typer.Option(metavar="N", help="Nodes of the cluster; asynchronous SGD.")] = None,
    max_nodes: Annotated[int | None, typer.Option(metavar="N", help="Most nodes of a job; asynchronous SGD.")] = None,
    load: Annotated[
        float | None, typer.Option(metavar="X", help="Work that arrives over capacity; streams and gangs.")
    ] = None,
    tick: Annotated[float | None, typer.Option(metavar="S", help="Seconds between decisions; streams only.")] = None,
    seed: Seed = 0,
    out: OutPath = None,
) -> int:
    """Draw an instance; the same arguments give the same bytes."""
    record = find_family(family)
    preset = preset or next(iter(record.presets))
    if preset not in record.presets:
        raise UsageError(f"preset: found {preset!r}, allowed: {', '.join(record.presets)}")
    given = {
        **{"jobs": jobs, "gpus": gpus, "servers": servers, "slots": slots},
        **{"max_gpus": max_gpus, "nodes": nodes, "max_nodes": max_nodes, "load": load, "tick": tick},
    }
    options = {name: value for name, value in given.items() if value is not None}
    takes = inspect.signature(record.generate).parameters
    for name, value in options.items():
        if name not in takes:
            raise UsageError(f"{name}: found {value}, allowed: no such option for {family}")
    write(record.generate(preset=preset, seed=seed, **options), out or "-")
    return 0
