"""``dlsched import``: an instance from a public file, audited."""

import sys
from typing import Annotated

import typer

from dlsched.cli.options import OutPath
from dlsched.families import write
from dlsched.traces import SOURCES, import_instance

NAME = "import"


def run(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=f"What kind of file: {', '.join(SOURCES)}.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file, or the folder of AdaptDL.")],
    gpus: Annotated[int | None, typer.Option(metavar="N", help="GPUs of the cluster.")] = None,
    epochs: Annotated[float, typer.Option(metavar="X", help="Epochs that every job has left.")] = 100.0,
    out: OutPath = None,
) -> int:
    """Read a public file as an instance; say what was dropped, repaired or assumed (on standard error, and in `source`)."""
    instance, audit = import_instance(source, file, gpus=gpus, epochs=epochs)
    for sentence in audit:
        print(f"audit: {sentence}", file=sys.stderr)
    write(instance, out or "-")
    return 0
