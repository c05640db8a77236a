"""``dlsched import``: an instance from a public file or from what a workload manager has recorded, audited."""

import inspect
import sys
from typing import Annotated

import typer

from dlsched import names
from dlsched.cli import completion
from dlsched.cli.options import OutPath
from dlsched.core.errors import InputError
from dlsched.core.files import json_text, write_text
from dlsched.core.messages import printable
from dlsched.families import write

NAME = "import"


def run(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE", help=f"What kind of file: {', '.join(names.SOURCES)}.", autocompletion=completion.sources
        ),
    ],
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file; the folder of AdaptDL, of PAI.")],
    happened: Annotated[
        str | None, typer.Option(metavar="RESULT", help="Write what really happened, for check and compare.")
    ] = None,
    out: OutPath = None,
    **own: str | float | None,
) -> int:
    """Read a file as an instance; say what was dropped, repaired or assumed (on standard error, and in `source`)."""
    from dlsched.traces import import_instance, import_made
    from dlsched.traces.queues.happened import UNKNOWN

    if happened is None:
        instance, audit = import_instance(source, file, **own)
    else:
        made = import_made(source, file, **own)
        instance, audit = made.instance, made.audit
        if made.happened is None:
            unknown = [sentence for sentence in audit if sentence.startswith(UNKNOWN)]
            raise InputError(f"{file}: {unknown[0] if unknown else f'{UNKNOWN} {instance.family} has no such answer.'}")
        claim = {"instance": {"name": instance.name, "sha256": instance.sha256}, "method": "what happened"}
        write_text(happened, json_text({**claim, "solution": made.happened.as_data()}))
    for sentence in audit:
        print(f"audit: {printable(sentence)}", file=sys.stderr)
    write(instance, out or "-")
    return 0


def _signature() -> inspect.Signature:
    """Parameters of ``run``, with those that stand in ``names`` instead of ``own``."""
    source, file, happened, out, _ = inspect.signature(run).parameters.values()
    own = [
        inspect.Parameter(
            names.import_argument(name),
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=None,
            annotation=Annotated[
                kind | None,
                typer.Option(
                    f"--{name.replace('_', '-')}",
                    metavar=metavar or None,
                    help=words,
                    autocompletion=completion.slices if name == "slices" else None,
                ),
            ],
        )
        for name, (kind, metavar, words) in names.IMPORT_OPTIONS.items()
    ]
    return inspect.Signature([source, file, *own, happened, out])


# Typer makes options of it
run.__signature__ = _signature()  # type: ignore[attr-defined]
