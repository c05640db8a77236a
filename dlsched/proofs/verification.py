"""What a proof says of a result: optimal, a bound and how far the result is from it, or a contradiction."""

import os
from collections.abc import Iterator, Mapping
from fractions import Fraction

from dlsched.core.errors import ProofError
from dlsched.core.gap import FEASIBLE, beats, gap, meets
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import several
from dlsched.core.result import Result, Solution
from dlsched.core.status import Sense, TerminationStatus
from dlsched.families import family_of
from dlsched.proofs.checker import Verified, check_proof
from dlsched.results.verification import UNPROVEN, Verification


def verify_proof(
    path: str | os.PathLike[str],
    instance: InstanceFile,
    verification: Verification,
    result: Result[Solution] | None = None,
) -> Mapping[str, object] | None:
    """Check a proof and add what it proves of a ``result`` to its verification; return the fields for ``--json``.

    None: the proof is wrong, which is among the failures then. InputError: the file is no proof, or one of another instance.
    """
    try:
        proof = check_proof(path, instance)
    except ProofError as error:
        verification.failures.append(str(error))
        return None
    if result is not None and not result.of_model:
        verification.failures.extend(_contradicted(proof, instance, result))
    return _fields(proof, optimal=_judge(proof, instance, verification))


def verify_alone(
    path: str | os.PathLike[str], instance: InstanceFile
) -> tuple[Verification, Mapping[str, object] | None]:
    """Check a proof without a result: its own solution is the answer; InputError as ``verify_proof``."""
    try:
        proof = check_proof(path, instance)
    except ProofError as error:
        return Verification(failures=[str(error)]), None
    verification = Verification(objective=proof.objective)
    if proof.objective is not None:
        unit = family_of(instance).unit_for(instance)
        verification.verified.append(f"feasible, objective {proof.objective!r} {unit}, of the proof's own solution")
    return verification, _fields(proof, optimal=_judge(proof, instance, verification))


def _fields(proof: Verified, *, optimal: bool) -> Mapping[str, object]:
    fields = ("formulation", "infeasible", "cases", "closed")
    values = {name: getattr(proof, name) for name in fields} | {"optimal": optimal}
    return values | {"lower": _figure(proof.lower), "upper": _figure(proof.upper)}


def _contradicted(proof: Verified, instance: InstanceFile, result: Result[Solution]) -> Iterator[str]:
    """Yield the claims of a result (bound, gap, optimality) that a better solution of the proof disproves."""
    sense, shift = family_of(instance).sense_for(instance), result.constant
    reached = _figure(proof.upper if sense is Sense.MINIMIZE else proof.lower)
    if reached is None:
        return
    shows = f"the proof's solution has {reached!r}"
    if result.bound is not None and beats(reached, result.bound, sense, shift):
        yield f"bound: {result.bound!r} is claimed, {shows}"
        least = gap(result.objective, reached, shift)
        if least and result.gap is not None and sense.better(reached, result.objective or 0.0):
            yield f"gap: {result.gap!r} is claimed, it is {least!r} at least: {shows}"
    if result.status is TerminationStatus.OPTIMAL and beats(reached, result.objective or 0.0, sense, shift):
        yield f"status: optimal is claimed of {result.objective!r}, {shows}"


def _judge(proof: Verified, instance: InstanceFile, verification: Verification) -> bool:
    """Hold the result's solution against the proof; whether it is proven optimal."""
    work = f"{several(proof.cases, 'case')}, exact arithmetic"
    if proof.infeasible:
        if UNPROVEN in verification.failures:
            verification.failures.remove(UNPROVEN)
        if verification.objective is not None:
            verification.failures.append("the proof shows that there is no solution, the result has one")
        else:
            verification.verified.append(f"verified: infeasible, {work}")
        return False
    if UNPROVEN in verification.failures and proof.objective is not None:
        verification.failures.append("the proof holds a solution")
    family = family_of(instance)
    sense, shift = family.sense_for(instance), family.constant(instance)
    bound = _figure(proof.lower if sense is Sense.MINIMIZE else proof.upper)
    if bound is None:
        verification.verified.append(f"verified: no bound, the proof's range is open ({work})")
        return False
    open_range = "" if proof.closed else "; the proof's range is open"
    if verification.objective is None:
        verification.verified.append(f"verified: bound {bound!r} ({work}){open_range}")
        return False
    if meets(verification.objective, bound, shift, within=FEASIBLE):
        if family.objective_of is not None and family.objective_of(instance).lexicographic:
            unit = family.unit_for(instance)
            verification.verified.append(f"verified: optimal in its objective ({unit}), not in what comes next, {work}")
            return False
        verification.verified.append(f"verified: optimal, {work}")
        return True
    if sense.better(verification.objective, bound):
        verification.failures.append(
            f"the result's objective {verification.objective!r} beats the proof's bound {bound!r}"
        )
        return False
    size = abs(bound - shift)
    share = (
        f"{100 * abs(verification.objective - bound) / size:.2g} %"
        if size
        else f"{abs(verification.objective - bound)!r}"
    )
    side = "above" if sense is Sense.MINIMIZE else "below"
    verification.verified.append(f"verified: bound {bound!r}, the result is {share} {side} it ({work}){open_range}")
    return False


def _figure(exact: Fraction | None) -> float | None:
    """Write a rational as the nearest float; None: there is none."""
    try:
        return None if exact is None else float(exact)
    except OverflowError:
        return None
