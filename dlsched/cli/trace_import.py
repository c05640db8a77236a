"""``dlsched import``: an instance from a public file, audited."""

import sys
from typing import Annotated

import typer

from dlsched.cli import completion
from dlsched.cli.options import OutPath
from dlsched.core.messages import printable
from dlsched.families import write
from dlsched.names import SOURCES

NAME = "import"


def run(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help=f"What kind of file: {', '.join(SOURCES)}.", autocompletion=completion.sources
        ),
    ],
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file, or the folder of AdaptDL.")],
    gpus: Annotated[int | None, typer.Option(metavar="N", help="GPUs of the cluster.")] = None,
    epochs: Annotated[
        float | None, typer.Option(metavar="X", help="Epochs that every job has left; tables, 100.")
    ] = None,
    max_gpus: Annotated[int | None, typer.Option(metavar="N", help="GPUs to which a job may grow; philly.")] = None,
    gpu_type: Annotated[str | None, typer.Option(metavar="TYPE", help="V100, P100 or K80; gavel, V100.")] = None,
    restart: Annotated[
        float | None, typer.Option(metavar="S", help="Seconds that a restart costs; streams, 0.")
    ] = None,
    from_: Annotated[str | None, typer.Option("--from", metavar="T", help="Arrivals from here on; traces.")] = None,
    to: Annotated[str | None, typer.Option("--to", metavar="T", help="Arrivals before it; date or seconds.")] = None,
    out: OutPath = None,
) -> int:
    """Read a public file as an instance; say what was dropped, repaired or assumed (on standard error, and in `source`)."""
    from dlsched.traces import import_instance

    instance, audit = import_instance(
        source,
        file,
        gpus=gpus,
        epochs=epochs,
        max_gpus=max_gpus,
        gpu_type=gpu_type,
        restart_s=restart,
        from_=from_,
        to=to,
    )
    for sentence in audit:
        print(f"audit: {printable(sentence)}", file=sys.stderr)
    write(instance, out or "-")
    return 0
