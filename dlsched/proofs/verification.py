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
    path: str | os.PathLike[str], instance: InstanceFile, found: Verification, result: Result[Solution] | None = None
) -> Mapping[str, object] | None:
    """Check a proof and add to what was found of a ``result`` what it proves of it; return the fields for ``--json``.

    None: the proof states what is not so, which is among the failures then.

    Raises
    ------
    InputError
        The file is no proof, or one of another instance.
    """
    try:
        proof = check_proof(path, instance)
    except ProofError as error:
        found.failures.append(str(error))
        return None
    if result is not None and not result.of_model:
        found.failures.extend(_contradicted(proof, instance, result))
    return _said(proof, optimal=_judge(proof, instance, found))


def verify_alone(
    path: str | os.PathLike[str], instance: InstanceFile
) -> tuple[Verification, Mapping[str, object] | None]:
    """Check a proof without a result: its own solution is the answer; InputError as ``verify_proof``."""
    try:
        proof = check_proof(path, instance)
    except ProofError as error:
        return Verification(failures=[str(error)]), None
    found = Verification(objective=proof.objective)
    if proof.objective is not None:
        unit = family_of(instance).unit_for(instance)
        found.verified.append(f"feasible, objective {proof.objective!r} {unit}, of the proof's own solution")
    return found, _said(proof, optimal=_judge(proof, instance, found))


def _said(proof: Verified, *, optimal: bool) -> Mapping[str, object]:
    fields = ("formulation", "infeasible", "cases", "closed")
    said = {name: getattr(proof, name) for name in fields} | {"optimal": optimal}
    return said | {"lower": _figure(proof.lower), "upper": _figure(proof.upper)}


def _contradicted(proof: Verified, instance: InstanceFile, result: Result[Solution]) -> Iterator[str]:
    """Yield what a result claims and a better solution of the proof disproves: its bound, its gap, that it is optimal."""
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


def _judge(proof: Verified, instance: InstanceFile, found: Verification) -> bool:
    """Hold the result's solution against the proof; whether it is proven optimal."""
    work = f"{several(proof.cases, 'case')}, exact arithmetic"
    if proof.infeasible:
        if UNPROVEN in found.failures:
            found.failures.remove(UNPROVEN)
        if found.objective is not None:
            found.failures.append("the proof shows that there is no solution, the result has one")
        else:
            found.verified.append(f"verified: infeasible, {work}")
        return False
    if UNPROVEN in found.failures and proof.objective is not None:
        found.failures.append("the proof holds a solution")
    family = family_of(instance)
    sense, shift = family.sense_for(instance), family.constant(instance)
    bound = _figure(proof.lower if sense is Sense.MINIMIZE else proof.upper)
    if bound is None:
        found.verified.append(f"verified: no bound, the proof's range is open ({work})")
        return False
    open_range = "" if proof.closed else "; the proof's range is open"
    if found.objective is None:
        found.verified.append(f"verified: bound {bound!r} ({work}){open_range}")
        return False
    if meets(found.objective, bound, shift, within=FEASIBLE):
        if family.objective_of is not None and family.objective_of(instance).lexicographic:
            unit = family.unit_for(instance)
            found.verified.append(f"verified: optimal in its objective ({unit}), not in what comes next, {work}")
            return False
        found.verified.append(f"verified: optimal, {work}")
        return True
    if sense.better(found.objective, bound):
        found.failures.append(f"the result's objective {found.objective!r} beats the proof's bound {bound!r}")
        return False
    size = abs(bound - shift)
    share = f"{100 * abs(found.objective - bound) / size:.2g} %" if size else f"{abs(found.objective - bound)!r}"
    side = "above" if sense is Sense.MINIMIZE else "below"
    found.verified.append(f"verified: bound {bound!r}, the result is {share} {side} it ({work}){open_range}")
    return False


def _figure(exact: Fraction | None) -> float | None:
    """Write a rational as the nearest float; None: there is none."""
    try:
        return None if exact is None else float(exact)
    except OverflowError:
        return None
