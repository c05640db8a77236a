"""``dlsched check``: the independent checker on a result, its objective, its figures, its bound and its certificate."""

import sys
from collections.abc import Mapping
from typing import Annotated, cast

import typer

from dlsched.cli.options import AsJson, InstancePath
from dlsched.cli.output import print_json
from dlsched.core.errors import InputError, UsageError
from dlsched.core.family import AnyFamily
from dlsched.core.files import Json, read_json
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import printable, several, shown
from dlsched.families import family_of, read
from dlsched.proofs.verification import verify_alone, verify_proof
from dlsched.results.reading import Claim, claim_from
from dlsched.results.verification import Verification, require_same_instance, verify_claim

KINDS = ("worst", "competitive")
"""Of the certificates of ``worst --prove``: of heuristics, and of policies."""


def run(
    instance: InstancePath,
    result: Annotated[
        str | None,
        typer.Argument(
            metavar="RESULT",
            help='A result file, or a bare {"solution": ...}; or a certificate of `worst --prove`. None with --proof: its own.',
        ),
    ] = None,
    proof: Annotated[
        str | None, typer.Option("--proof", metavar="PROOF", help="Proof in VIPR 1.0, packed by gzip or not.")
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.py:CLASS",
            help="For a certificate of a policy of your own: its code. It is run; what a file names is not.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Check a result: what is verified here, what is computed anew, what is only claimed, and what is false."""
    if result is None and proof is None:
        raise UsageError(where="RESULT", found="nothing", allowed="a result file, or --proof")
    problem = read(instance)
    data = {} if result is None else read_json(result)
    proof_data: dict[str, object] = {}
    if result is None:
        assert proof is not None
        found, own = verify_alone(proof, problem)
        proof_data = {"proof": own}
    elif isinstance(data, dict) and data.get("kind") in KINDS:
        if proof is not None:
            raise UsageError(where="proof", found="a certificate of a supremum to check", allowed="a result")
        found = verify_supremum(problem, data, result, method)
    else:
        family = family_of(problem)
        claim = claim_in(data, result, family, problem)
        found = verify_claim(family, problem, claim, result)
        if proof is not None:
            proof_data = {"proof": verify_proof(proof, problem, found, claim.result)}
    if as_json:
        print_json(found.as_data() | proof_data)
    else:
        sys.stdout.write("\n".join(_lines(found)) + "\n")
    return 0 if found else 7


def verify_supremum(
    instance: InstanceFile, data: Mapping[str, object], path: str, method: str | None = None
) -> Verification:
    """Verify a certificate of ``worst --prove`` and that the instance is the one that it shows.

    ``method``: where the policy of the certificate stands, if it is the user's own.
    """
    from dlsched.worst.competitive.own import own_policy
    from dlsched.worst.competitive.verification import verify as verify_policy
    from dlsched.worst.proving.verification import verify

    of_policy = data["kind"] == KINDS[1]
    if "code_sha256" in data and method is None:
        why = f"{path} is of {shown(data.get('method'))}, and checking runs no code that a file names"
        raise UsageError(where="method", found="none", allowed=f"FILE.py:CLASS: {why}")
    try:
        proven = verify_policy(data, None if method is None else own_policy(method)) if of_policy else verify(data)
    except InputError as error:
        raise type(error)(f"{path}: {error}") from None
    except ValueError as error:
        return Verification(failures=[str(error)])
    if proven.instance.sha256 != instance.sha256:
        raise InputError(
            where=f"{path}: instance",
            found=repr(printable(proven.instance.name)),
            allowed=repr(printable(instance.name)),
        )
    jobs = several(len(proven.instance.as_data()["jobs"]), "job")
    if of_policy:
        tables = "any concave speeds"
        if isinstance(data["speeds"], list):
            tables = "speeds " + "; ".join(", ".join(row) for row in cast("list[list[str]]", data["speeds"]))
        weights = f", weights {', '.join(cast('list[str]', data['weights']))}" if "weights" in data else ""
        asked = f"{data['method']}, {jobs} on {data['units']} units, {tables}{weights}"
    else:
        asked = f"{data['method']}, {jobs} on {data['gpus']}, {data['tables']} tables, counts {data['counts']}"
    supremum = f"the supremum of objective / optimum is {proven.supremum} ({proven.leaves} leaves, exact arithmetic)"
    if proven.supremum is None:
        supremum = "objective / optimum has no bound (exact arithmetic)"
    if proven.interval:
        supremum = f"objective / optimum is at most {proven.supremum} ({proven.leaves} leaves, exact arithmetic)"
    has = f"the instance has {proven.ratio}" + (", the largest there is" if proven.ratio == proven.supremum else "")
    return Verification(verified=[f"verified: {asked}: {supremum}", f"verified: {has}"])


def claim_in(data: Json, path: str, family: AnyFamily, instance: InstanceFile) -> Claim:
    """Read the content of a result file and refuse one of another instance."""
    claim = claim_from(data, path)
    if claim.result is not None:
        require_same_instance(family, instance, claim.result, path)
    elif claim.of(instance) is False:
        raise InputError(
            where=f"{path}: instance", found="another one", allowed=f"{printable(instance.name)!r}, or no such field"
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
