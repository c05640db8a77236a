"""``dlsched methods``: what there is, what it promises, and whether it can run here."""

from typing import Annotated, TypedDict

import typer

from dlsched.catalogue.solvers import SOLVERS
from dlsched.cli import completion
from dlsched.cli.options import AsJson
from dlsched.cli.output import print_json, print_table
from dlsched.core.family import AnyMethod
from dlsched.families import FAMILIES, find_family

NAME = "methods"


def run(
    family: Annotated[
        str | None,
        typer.Argument(metavar="[FAMILY]", help="One family; all by default.", autocompletion=completion.families),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """List exact methods, heuristics and bounds."""
    families = FAMILIES.values() if family is None else (find_family(family),)
    listed = [describe(record.name, method) for record in families for method in record.methods.values()]
    if as_json:
        print_json(listed)
        return 0
    rows = [
        (
            entry["family"],
            entry["name"],
            entry["kind"],
            "yes" if entry["available"] else "no",
            entry["needs"] or "-",
            entry["guarantee"],
        )
        for entry in listed
    ]
    print_table(("family", "method", "kind", "here", "needs", "guarantee"), rows)
    return 0


class Described(TypedDict):
    """A method as ``methods --json`` prints it; it needs one of the solvers named."""

    family: str
    name: str
    kind: str
    available: bool
    needs: str | None
    guarantee: str


def describe(family: str, method: AnyMethod) -> Described:
    """Return what is said of a method."""
    return {
        "family": family,
        "name": method.name,
        "kind": method.kind,
        "available": not method.solvers or any(SOLVERS[name].available for name in method.solvers),
        "needs": " or ".join(method.solvers) or None,
        "guarantee": method.promise,
    }
