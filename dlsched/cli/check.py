"""``dlsched check``: the independent checker on a result, its objective, its figures, its bound and its certificate."""

import sys
from typing import Annotated

import typer

from dlsched.cli.options import AsJson, InstancePath
from dlsched.cli.output import print_json
from dlsched.core.errors import InputError
from dlsched.core.family import AnyFamily
from dlsched.core.files import read_json
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import printable
from dlsched.families import family_of, read
from dlsched.results.reading import Claim, claim_from
from dlsched.results.verification import Verification, require_same_instance, verify_claim

NAME = "check"


def run(
    instance: InstancePath,
    result: Annotated[str, typer.Argument(metavar="RESULT", help='A result file, or a bare {"solution": ...}.')],
    as_json: AsJson = False,
) -> int:
    """Check a result: what is verified here, what is computed anew, what is only claimed, and what is false."""
    problem = read(instance)
    family = family_of(problem)
    found = verify_claim(family, problem, read_claim(result, family, problem), result)
    if as_json:
        print_json(found.as_data())
    else:
        sys.stdout.write("\n".join(_lines(found)) + "\n")
    return 0 if found else 7


def read_claim(path: str, family: AnyFamily, instance: InstanceFile) -> Claim:
    """Read a result file and refuse one of another instance."""
    claim = claim_from(read_json(path), path)
    if claim.result is not None:
        require_same_instance(family, instance, claim.result, path)
    elif claim.of(instance) is False:
        raise InputError(
            f"{path}: instance: found another one, allowed: {printable(instance.name)!r}, or no such field"
        )
    return claim


def _lines(found: Verification) -> list[str]:
    """One line a sentence; nothing that a file says can begin a line of its own."""
    kinds = (
        ("", found.verified),
        ("recomputed: ", found.recomputed),
        ("claimed: ", found.claimed),
        ("FAILED  ", found.failures),
    )
    return [kind + printable(sentence) for kind, sentences in kinds for sentence in sentences]
