"""``dlsched import``: an instance from a public file or from what a workload manager has recorded, audited."""

import sys
from typing import Annotated

import typer

from dlsched.catalogue.import_options import OPTIONS
from dlsched.catalogue.sources import SOURCES
from dlsched.cli import completion
from dlsched.cli.options import OutPath, taking
from dlsched.core.errors import InputError
from dlsched.core.files import json_text, write_text
from dlsched.core.messages import printable
from dlsched.families import write

NAME = "import"


@taking(OPTIONS.values(), before="happened")
def run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file; the folder of AdaptDL, of PAI.")],
    source: Annotated[
        str,
        typer.Option(
            metavar="SOURCE", help=f"What kind of file: {', '.join(SOURCES)}.", autocompletion=completion.sources
        ),
    ],
    happened: Annotated[
        str | None, typer.Option(metavar="RESULT", help="Write what really happened, for check and compare.")
    ] = None,
    out: OutPath = None,
    **own: str | float | None,
) -> int:
    """Read a file as an instance; say what was dropped, repaired or assumed (on standard error, and in `source`)."""
    from dlsched.traces import import_instance, import_made
    from dlsched.traces.recorded_schedule import UNKNOWN

    if happened is None:
        instance, audit = import_instance(source, file, **own)
    else:
        made = import_made(source, file, **own)
        instance, audit = made.instance, made.audit
        if made.happened is None:
            raise InputError(made.unknown or f"{UNKNOWN} {instance.family} has no such answer.", where=file)
        claim = {"instance": {"name": instance.name, "sha256": instance.sha256}, "method": "what happened"}
        write_text(happened, json_text({**claim, "solution": made.happened.as_data()}))
    for sentence in audit:
        print(f"audit: {printable(sentence)}", file=sys.stderr)
    write(instance, out or "-")
    return 0
