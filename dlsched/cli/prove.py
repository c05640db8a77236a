"""``dlsched prove``: the optimum of an instance, with a file that programs of others check step by step."""

import os
import shlex
import sys
from typing import Annotated

import typer

from dlsched.cli.check import claim_in
from dlsched.cli.options import AsJson, InstancePath, Linear, NodeLimit, Threads, TimeLimit
from dlsched.cli.output import cases, duration, number, percent, print_json, progress_line
from dlsched.core.errors import DisagreementError, InputError
from dlsched.core.files import read_json
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits
from dlsched.core.messages import printable, several
from dlsched.core.result import Solution
from dlsched.core.status import TerminationStatus
from dlsched.families import family_of, read
from dlsched.proofs.proof import Proof, prove
from dlsched.results.disproof import disproof
from dlsched.results.reading import Claim
from dlsched.results.verification import read_solution


def run(
    file: InstancePath,
    out: Annotated[
        str, typer.Option("-o", metavar="PROOF", help="Write the proof to this file; packed if it ends with .gz.")
    ],
    start: Annotated[
        str | None, typer.Option(metavar="RESULT", help="A result file whose solution is the first one.")
    ] = None,
    formulation: Linear = None,
    gap: Annotated[
        float, typer.Option(metavar="G", help="Relative gap between the two sides that is enough, 0 to 1.")
    ] = 0.0,
    time_limit: TimeLimit = None,
    node_limit: NodeLimit = None,
    threads: Threads = 1,
    as_json: AsJson = False,
) -> int:
    """Prove the optimum of an instance, into a file that programs of others check.

    A limit or Ctrl-C leaves a valid proof of what is proven. --threads are for the first solution, by HiGHS.
    """
    limits = Limits(time_s=time_limit, nodes=node_limit, threads=threads)
    instance = read(file)
    first = None if start is None else _first(instance, start)
    with progress_line(f"{instance.name}, proof", words=cases) as progress:
        proof = prove(instance, out, start=first, formulation=formulation, gap=gap, limits=limits, progress=progress)
    checks = _checks(file, start, out)
    if out != "-" and as_json:
        print_json(_data(instance, proof, out, checks))
    elif out != "-":
        _print(instance, proof, out, checks)
    wrong = disproof(instance, proof)
    if wrong is not None:
        raise DisagreementError(wrong)
    if proof.objective is not None:
        return 0
    return 4 if proof.status is TerminationStatus.INFEASIBLE else 5


def _first(instance: InstanceFile, path: str) -> Solution:
    """Read the solution to start from."""
    family = family_of(instance)
    claim: Claim = claim_in(read_json(path), path, family, instance)
    if claim.solution is None:
        raise InputError(where=f"{path}: solution", found="null", allowed="a solution")
    return read_solution(family, instance, claim, path)


def _checks(instance: str, start: str | None, path: str) -> list[str]:
    """Return the commands that check a proof."""
    ours = shlex.join(["dlsched", "check", instance, *filter(None, (start,)), "--proof", path])
    packed = path.endswith(".gz")
    theirs = shlex.join(["viprchk", path.removesuffix(".gz")])
    return [ours, f"{shlex.join(['gunzip', '-k', path])} && {theirs}" if packed else theirs]


def _data(instance: InstanceFile, proof: Proof, path: str, checks: list[str]) -> dict[str, object]:
    return {
        "family": instance.family,
        "instance": {"name": instance.name, "sha256": proof.sha256},
        "formulation": proof.formulation,
        "status": str(proof.status),
        "sense": str(proof.sense),
        "objective": proof.objective,
        "bound": proof.bound,
        "gap": proof.gap,
        "cases": proof.cases,
        "runtime_s": proof.seconds,
        "proof": path,
        "bytes": os.path.getsize(path),
        "check": checks,
        "message": proof.message,
    }


def _print(instance: InstanceFile, proof: Proof, path: str, checks: list[str]) -> None:
    """Say for people what is proven, and how to check it."""
    lines = [f"{instance.name}: {proof.status} (proof by {proof.formulation})"]
    if proof.objective is not None:
        lines.append(f"  objective    {number(proof.objective)} {family_of(instance).unit_for(instance)}")
    if proof.bound is not None:
        gap = f", gap {percent(proof.gap)}" if proof.gap is not None else ""
        lines.append(f"  bound        {number(proof.bound)}{gap}, exact arithmetic")
    lines.append(f"  proof        {path}: {several(proof.cases, 'case')}, {several(os.path.getsize(path), 'byte')}")
    lines.append(f"  time         {duration(proof.seconds)}")
    if proof.message:
        lines.append(f"  note         {proof.message}")
    lines += [f"  {'check' if check is checks[0] else '':12s} {check}" for check in checks]
    sys.stdout.write("\n".join(map(printable, lines)) + "\n")
