"""``dlsched check``: the independent checker on a result, its objective and its certificate."""

import sys
from fractions import Fraction
from typing import Annotated, Any

import typer

from dlsched.cli.options import InstancePath
from dlsched.core.errors import InputError
from dlsched.core.family import Family
from dlsched.core.files import read_json
from dlsched.core.result import Result
from dlsched.core.result_file import Claim, claim_from
from dlsched.core.status import TerminationStatus
from dlsched.families import family_of, read

NAME = "check"
_OBJECTIVE_TOLERANCE = 1e-9  # relative, of a claimed objective


def run(
    instance: InstancePath,
    result: Annotated[str, typer.Argument(metavar="RESULT", help='A result file, or a bare {"solution": ...}.')],
) -> int:
    """Check a result: is it feasible, is its objective true, does its certificate verify."""
    problem = read(instance)
    claim = read_claim(result, problem)
    family = family_of(problem)
    failures, lines = judge(family, problem, claim, result)
    sys.stdout.write("\n".join([*lines, *(f"FAILED  {failure}" for failure in failures)]) + "\n")
    return 7 if failures else 0


def read_claim(path: str, instance: Any) -> Claim:
    """Read a result file and refuse one of another instance."""
    claim = claim_from(read_json(path), path)
    if claim.result is not None:
        if claim.result.family != instance.family:
            raise InputError(f"{path}: family: found {claim.result.family!r}, allowed: {instance.family!r}")
        sense = family_of(instance).sense
        if claim.result.sense is not sense:
            raise InputError(f"{path}: sense: found {str(claim.result.sense)!r}, allowed: {str(sense)!r}")
        if claim.result.instance.sha256 != instance.sha256:
            raise InputError(
                f"{path}: instance.sha256: found {claim.result.instance.sha256[:60]!r}, "
                f"allowed: {instance.sha256!r}, the hash of {instance.name!r}"
            )
    return claim


def read_solution(family: Family, instance: Any, claim: Claim, path: str) -> Any:
    """Read the claim's solution; errors name the file."""
    try:
        return family.read_solution(claim.solution, instance)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def judge(family: Family, instance: Any, claim: Claim, path: str) -> tuple[list[str], list[str]]:
    """Return what fails, and what holds, one sentence each."""
    failures: list[str] = []
    lines: list[str] = []
    objective = claim.objective
    if claim.solution is not None:
        solution = read_solution(family, instance, claim, path)
        violations = family.check(instance, solution)
        failures += map(str, violations)
        if not violations:
            objective = family.objective(instance, solution)
            lines.append(f"feasible, objective {objective!r} {family.unit}")
            if claim.objective is not None and not _same(claim.objective, objective):
                failures.append(f"objective: {claim.objective!r} is claimed, it is {objective!r}")
    if claim.result is not None:
        _judge_proof(family, instance, claim.result, objective, failures, lines)
    return failures, lines


def _judge_proof(
    family: Family, instance: Any, result: Result[Any], objective: float | None, failures: list[str], lines: list[str]
) -> None:
    """Verify infeasibility by counting and a certificate in exact arithmetic; report a bound with who proved it."""
    if result.status is TerminationStatus.INFEASIBLE:
        reason = family.infeasible(instance)
        if reason is not None:
            lines.append(f"infeasible, verified: {reason}")
        else:
            failures.append("infeasible is claimed; counting does not prove it")
    if result.certificate is not None:
        value = result.certificate.value
        try:
            exact = family.verify(instance, result.certificate)
        except ValueError as error:
            failures.append(f"certificate: {error}")
        else:
            claimed = Fraction(value)
            if exact < claimed if family.sense == "minimize" else exact > claimed:
                failures.append(f"certificate: {value!r} is claimed, it proves {_said(exact)}")
            elif objective is not None and family.sense.better(objective, value) and not _same(objective, value):
                failures.append(f"certificate: its {value!r} contradicts the objective {objective!r}")
            else:
                lines.append(f"verified: {value!r} ({type(result.certificate).__name__}, exact arithmetic)")
    if result.bound is not None:
        lines.append(f"proven by {result.bound_source}: {result.bound!r}, gap {result.gap!r}")


def _said(exact: Fraction) -> str:
    """Write a rational as a float, or as what it is where it has no float."""
    try:
        return f"only {float(exact)!r}"
    except OverflowError:
        return "less than nothing" if exact < 0 else "more than any float holds"


def _same(claimed: float, true: float) -> bool:
    return abs(claimed - true) <= _OBJECTIVE_TOLERANCE * max(abs(claimed), abs(true))
