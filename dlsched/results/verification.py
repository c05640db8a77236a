"""Verification of results: what is proven, recomputed, only claimed, or false, without trust in the result.

============  ====================================================================================================
kind          meaning
============  ====================================================================================================
verified      proven here: feasibility, a certificate's value, infeasibility by counting
recomputed    computed anew, and equal: objective, gap, figures, the status against both and against the limits
claimed       taken on trust: a bound beyond the certificate, what a solver or an algorithm is said to have proven
failures      false, or impossible
============  ====================================================================================================
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction

from dlsched.catalogue.solvers import SOLVERS, either
from dlsched.core.errors import InputError
from dlsched.core.family import AnyFamily
from dlsched.core.gap import meets, rounding, tolerance
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import FOUND, printable
from dlsched.core.result import Result, Solution
from dlsched.core.status import TerminationStatus
from dlsched.results.reading import Claim

_OWN_METHOD = re.compile(r"[^\s:]+:\w+")  # the user's own method: file.py:function, package.module:Policy
UNPROVEN = "infeasible is claimed; counting does not prove it"  # a failure, unless a proof of its own shows it
_EARLY = 0.5  # a method that a time limit stopped has used at least this share of it


@dataclass(frozen=True, slots=True)
class Verification:
    """Findings of a verification, one sentence each, by kind; see the module. True if nothing failed.

    ``objective``: the checker's figure for the solution, None without a feasible one. ``verified_bound``, ``claimed_bound``:
    the bound that the certificate proves, and the bound claimed beyond it; None without.
    """

    failures: list[str] = field(default_factory=list)
    verified: list[str] = field(default_factory=list)
    recomputed: list[str] = field(default_factory=list)
    claimed: list[str] = field(default_factory=list)
    objective: float | None = None
    verified_bound: float | None = None
    claimed_bound: float | None = None

    def __bool__(self) -> bool:
        return not self.failures

    def as_data(self) -> dict[str, object]:
        """Return the findings as ``dlsched check --json`` prints them."""
        return {name: getattr(self, name) for name in self.__slots__}


def verify_claim(
    family: AnyFamily, instance: InstanceFile, claim: Claim, where: str = "result", *, judged: bool = False
) -> Verification:
    """Verify a result file; InputError: its solution cannot be read, or it is of another instance.

    ``judged``: the result is this process's own, by ``Family.solve``, which has solution, objective and figures from the checker.
    """
    found = Verification()
    objective, solution = None, None
    if claim.solution is not None:
        if judged and claim.objective is not None:
            objective = claim.objective
        else:
            solution = read_solution(family, instance, claim, where)
            violations = family.check(instance, solution)
            found.failures.extend(map(str, violations))
            if violations:
                return found
            objective = family.objective(instance, solution)
        found.verified.append(f"feasible, objective {objective!r} {family.unit_for(instance)}")
        constant, sense = family.constant(instance), family.sense_for(instance)
        if claim.objective is not None and not _same(claim.objective, objective, constant):
            found.failures.append(f"objective: {claim.objective!r} is claimed, it is {objective!r}")
        known = None if instance.known is None else instance.known.bound(sense)
        if known is not None and sense.better(objective, known) and not meets(objective, known, constant):
            found.failures.append(f"known: the instance calls {known!r} a bound, this solution has {objective!r}")
    verified_bound = claimed_bound = None
    if claim.result is not None:
        result = claim.result
        found.failures.extend(_names(family, instance, result))
        found.failures.extend(_ends(result))
        if not judged:
            found.failures.extend(_figures(family, instance, result, solution))
        _infeasible(family, instance, result, found)
        verified_bound = _certificate(family, instance, result, objective, found)
        claimed_bound = _bound(family, instance, result, verified_bound, found)
        if not found.failures:
            found.recomputed.append(_recomputed(result))
            found.claimed.extend(_trusted(result))
    return replace(found, objective=objective, verified_bound=verified_bound, claimed_bound=claimed_bound)


def require_same_instance(family: AnyFamily, instance: InstanceFile, result: Result[Solution], where: str) -> None:
    """Refuse the result of another instance, family or sense; InputError names what is wrong."""
    if result.family != family.name:
        raise InputError(where=f"{where}: family", found=repr(printable(result.family)), allowed=repr(family.name))
    if result.sense is not family.sense_for(instance) and not result.of_model:
        raise InputError(
            where=f"{where}: sense", found=repr(str(result.sense)), allowed=repr(str(family.sense_for(instance)))
        )
    if result.instance.sha256 != instance.sha256:
        raise InputError(
            where=f"{where}: instance.sha256",
            found=repr(result.instance.sha256[:60]),
            allowed=f"{instance.sha256!r}, the hash of {instance.name!r}",
        )


def read_solution(family: AnyFamily, instance: InstanceFile, claim: Claim, where: str) -> Solution:
    """Read the claim's solution; an InputError names the file, ``where``."""
    try:
        solution: Solution = family.read_solution(claim.solution, instance)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    return solution


def _names(family: AnyFamily, instance: InstanceFile, result: Result[Solution]) -> Iterator[str]:
    """Check the names of instance, method and solver, and what the method draws."""
    if result.instance.name != instance.name:
        yield f"instance.name: {printable(result.instance.name)!r} is claimed, it is {printable(instance.name)!r}"
    if result.constant != family.constant(instance):
        yield f"constant: {result.constant!r} is claimed, it is {family.constant(instance)!r}"
    if result.solver is not None and not any(solver.said(result.solver) for solver in SOLVERS.values()):
        names = either(solver.full_name for solver in SOLVERS.values())
        yield f"solver: found {printable(result.solver)!r}, allowed: the name and version of {names}"
    source = result.bound_source or ""
    if not source.isprintable():
        yield f"bound_source: found {source[:FOUND]!r}, allowed: a name on one line"
    if result.seed is not None and result.seed < 0:
        yield f"seed: found {result.seed}, allowed: an integer >= 0"
    method = family.methods.get(result.method)
    if result.of_model and result.method in family.formulations:
        return
    if method is None:
        if not _OWN_METHOD.fullmatch(result.method):
            yield f"method: found {printable(result.method)!r}, allowed: {', '.join(family.methods)}, or file.py:function"
        return
    if method.kind == "bound" and result.solution is not None:
        yield f"solution: method {method.name} bounds, it finds none"
    if method.kind != "bound" and result.solution is None and result.status is TerminationStatus.FEASIBLE:
        yield f"status: feasible, but method {method.name} holds no solution"
    if method.seeded != (result.seed is not None):
        yield f"seed: found {result.seed}, but method {method.name} is {'seeded' if method.seeded else 'not random'}"


def _ends(result: Result[Solution]) -> Iterator[str]:
    """Check the status against gap and limits."""
    if result.proven and result.status not in (TerminationStatus.OPTIMAL, TerminationStatus.SOLVER_ERROR):
        yield f"status: {result.status} is claimed, but the bound meets the objective: optimal"
    limit_s = result.limits.time_s
    if result.status is TerminationStatus.TIME_LIMIT and limit_s is not None and result.runtime_s < _EARLY * limit_s:
        yield f"status: time_limit is claimed after {result.runtime_s!r} s of {limit_s!r} s"


def _figures(
    family: AnyFamily, instance: InstanceFile, result: Result[Solution], solution: Solution | None
) -> Iterator[str]:
    """Recompute every figure."""
    true = {} if solution is None else family.figures(instance, solution)
    for name, value in result.figures.items():
        if name not in true:
            yield f"figures.{printable(name)}: there is no such figure" + (" without a solution" if not true else "")
        elif not math.isclose(value, true[name], rel_tol=1e-9):
            yield f"figures.{name}: {value!r} is claimed, it is {true[name]!r}"


def _infeasible(family: AnyFamily, instance: InstanceFile, result: Result[Solution], found: Verification) -> None:
    """Prove infeasibility by counting, or disprove the claim of it."""
    reason = family.infeasible(instance)
    if result.status is TerminationStatus.INFEASIBLE:
        if reason is not None:
            found.verified.append(f"infeasible, verified: {reason}")
        elif not result.of_model:
            found.failures.append(UNPROVEN)
    elif reason is not None:
        found.failures.append(f"status: {result.status} is claimed, but it is infeasible: {reason}")


def _certificate(
    family: AnyFamily, instance: InstanceFile, result: Result[Solution], objective: float | None, found: Verification
) -> float | None:
    """Verify a certificate; return what it proves."""
    certificate = result.certificate
    if certificate is None:
        return None
    value, sense = certificate.value, family.sense_for(instance)
    try:
        exact = family.verify(instance, certificate)
    except ValueError as error:
        found.failures.append(f"certificate: {error}")
        return None
    # The stated value may be weaker than what the certificate proves, never stronger.
    if exact < Fraction(value) if sense == "minimize" else exact > Fraction(value):
        found.failures.append(f"certificate: {value!r} is claimed, it proves {_said(exact)}")
        return None
    if objective is not None and sense.better(objective, value) and not meets(objective, value, result.constant):
        found.failures.append(f"certificate: its {value!r} contradicts the objective {objective!r}")
        return None
    arithmetic = getattr(certificate, "arithmetic", "exact")
    found.verified.append(f"verified: {value!r} ({type(certificate).__name__}, {arithmetic} arithmetic)")
    return value


def _bound(
    family: AnyFamily, instance: InstanceFile, result: Result[Solution], verified: float | None, found: Verification
) -> float | None:
    """Say what part of a bound is verified and what is claimed; return a bound beyond the certificate."""
    bound = result.bound
    if bound is None:
        return None
    if result.of_model:
        by, own = printable(result.bound_source or "unnamed"), "which may have rows of its own, not of the instance"
        rests = "; so is that it is optimal there" if result.status is TerminationStatus.OPTIMAL else ""
        found.claimed.append(f"bound {bound!r} of a model, {own}, by {by}{rests}")
        return None
    sense = family.sense_for(instance)
    beyond = verified is None or sense.better(verified, bound)
    if beyond and result.bound_source == "certificate":
        proves = "there is none that holds" if verified is None else f"it proves {verified!r}"
        found.failures.append(f"bound: {bound!r} is claimed of the certificate; {proves}")
        return None
    known = None if instance.known is None else instance.known.answer(sense)
    if known is not None and sense.better(known, bound) and not meets(known, bound, result.constant):
        found.failures.append(f"bound: {bound!r} contradicts the {known!r} that the instance calls known")
        return None
    # The certificate proves this bound, or a tighter one: nothing is left to claim.
    if not beyond:
        return None
    by = printable(result.bound_source or "unnamed")
    rests = "; so is that it is optimal" if result.status is TerminationStatus.OPTIMAL else ""
    if verified is not None and result.objective is not None and meets(result.objective, verified, result.constant):
        rests = "; the certificate alone proves the optimum"
    found.claimed.append(f"bound {bound!r}, by {by}{rests}")
    return bound


def _recomputed(result: Result[Solution]) -> str:
    facts = [f"{name} {value!r}" for name in ("objective", "gap") if (value := getattr(result, name)) is not None]
    facts.append(f"status {result.status}" + (", of a model" if result.of_model else ""))
    facts += [f"{len(result.figures)} figures"] * bool(result.figures)
    return ", ".join(facts)


def _trusted(result: Result[Solution]) -> Iterator[str]:
    """Yield the statements that nobody can recompute, those of a model alone first."""
    if result.of_model and result.status in (TerminationStatus.INFEASIBLE, TerminationStatus.UNBOUNDED):
        by = printable(result.solver or "an unnamed solver")
        yield f"{result.status}, by {by}, of a model that may have rows of its own, not of the instance"
    facts = [f"runtime {result.runtime_s!r} s"]
    if result.solver is not None:
        facts.append(f"solver {result.solver}")
    if _OWN_METHOD.fullmatch(result.method):
        facts.append(f"method {printable(result.method)}, which is not dlsched's")
    if result.message:
        facts.append(f"message {printable(result.message[:60])!r}")
    yield ", ".join(facts)


def _said(exact: Fraction) -> str:
    """Write a rational as a float, or in words if it has no float."""
    try:
        return f"only {float(exact)!r}"
    except OverflowError:
        return "less than nothing" if exact < 0 else "more than any float holds"


def _same(claimed: float, true: float, constant: float) -> bool:
    return abs(claimed - true) <= tolerance(claimed - constant, true - constant) + rounding(claimed, true)
