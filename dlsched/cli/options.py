"""Options that several commands share, written once."""

from typing import Annotated

import typer

from dlsched.cli import completion

InstancePath = Annotated[str, typer.Argument(metavar="FILE", help="Instance file, - for standard input.")]
FamilyName = Annotated[
    str, typer.Argument(metavar="FAMILY", help="Family, e.g. ring_allocation.", autocompletion=completion.families)
]
OutPath = Annotated[str | None, typer.Option("-o", metavar="OUT", help="Write to this file, whole or not at all.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else on standard output.")]
TimeLimit = Annotated[float | None, typer.Option("--time-limit", metavar="S", help="Seconds; 0 starts no search.")]
NodeLimit = Annotated[int | None, typer.Option("--node-limit", metavar="N", help="Search nodes.")]
Threads = Annotated[int, typer.Option("--threads", metavar="N", help="Threads that a solver may use.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of every random draw.")]
