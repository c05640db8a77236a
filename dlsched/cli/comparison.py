"""The rows of ``dlsched compare``: methods and answers from elsewhere on one instance, against the best that is proven."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dlsched.cli.output import progress_line
from dlsched.cli.solve import disproof
from dlsched.core.errors import DlschedError
from dlsched.core.family import Family
from dlsched.core.gap import gap, meets, ratio
from dlsched.core.limits import Limits
from dlsched.core.result_file import Claim
from dlsched.core.run import find_method
from dlsched.core.search import CONTRADICTION
from dlsched.core.status import TerminationStatus
from dlsched.core.verification import read_solution, verify_claim
from dlsched.families import family_of, solve


@dataclass(frozen=True, slots=True)
class Row:
    """One method (or one answer from elsewhere) on one instance; ``status`` may be a sentence of what went wrong."""

    instance: str
    method: str
    kind: str
    status: str
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    ratio: float | None = None
    ratio_is_at_most: bool = False
    runtime_s: float | None = None
    figures: Mapping[str, float] = field(default_factory=dict)
    solution: Any = None
    disproof: str | None = None  # of what the instance's file calls known

    @property
    def contradicted(self) -> bool:
        """Whether two proofs, or a proof and a checked answer, exclude each other."""
        said = self.status.startswith(f"solver_error: {CONTRADICTION}") or ", contradicts the proven " in self.status
        return said or self.disproof is not None


def compare_one(
    instance: Any, wanted: list[str] | None, claims: dict[str, Claim], limits: Limits, *, alone: bool
) -> tuple[list[Row], bool]:
    """Rows of one instance, with gaps and ratios against the best that is proven; and whether Ctrl-C ended it."""
    family = family_of(instance)
    names = wanted or [method.name for method in family.methods.values() if method.kind != "bound"]
    rows: list[Row] = []
    interrupted = False
    for name in names:
        row = _method_row(family, instance, name, limits)
        rows.append(row)
        if row.status == TerminationStatus.INTERRUPTED:
            interrupted = True
            break
    rows += [
        _claim_row(family, instance, path, claim) for path, claim in claims.items() if concerns(claim, instance, alone)
    ]
    bound = _best_bound(family, instance, rows)
    optimum = _optimum(family, instance, rows)
    return [_against(family, row, bound, optimum) for row in rows], interrupted


def _method_row(family: Family, instance: Any, name: str, limits: Limits) -> Row:
    method = find_method(family, name)
    try:
        with progress_line(f"{instance.name}, {name}") as progress:
            result = solve(instance, method=name, limits=limits, progress=progress)
    except DlschedError as error:
        return Row(instance.name, method.name, method.kind, str(error))
    status = (
        str(result.status) if result.status is not TerminationStatus.SOLVER_ERROR else f"solver_error: {result.message}"
    )
    return Row(
        instance.name,
        method.name,
        method.kind,
        status,
        result.objective,
        result.bound,
        runtime_s=result.runtime_s,
        figures=result.figures,
        solution=result.solution,
        disproof=disproof(instance, result),
    )


def concerns(claim: Claim, instance: Any, alone: bool) -> bool:
    """Whether an answer is one to this instance: a complete result says so, a bare solution belongs to the only file."""
    if claim.result is None:
        return alone
    return bool(claim.result.family == instance.family and claim.result.instance.sha256 == instance.sha256)


def stray_row(path: str, claim: Claim) -> Row:
    """Say of an answer that it belongs to none of the instances, or that it does not say to which."""
    label = claim.method or Path(path).stem
    if claim.result is None:
        return Row(
            "-", label, "foreign", f"{path}: a bare solution does not say to which of several instances it belongs"
        )
    return Row(claim.result.instance.name, label, "foreign", f"{path}: belongs to no instance that was given")


def _claim_row(family: Family, instance: Any, path: str, claim: Claim) -> Row:
    label = claim.method or Path(path).stem
    try:
        failures = verify_claim(family, instance, replace(claim, result=None), path).failures
    except DlschedError as error:
        return Row(instance.name, label, "foreign", f"rejected: {error}")
    if failures:
        return Row(instance.name, label, "foreign", f"rejected: {failures[0]}")
    if claim.solution is None:
        return Row(instance.name, label, "foreign", str(TerminationStatus.NO_SOLUTION))
    solution = read_solution(family, instance, claim, path)
    return Row(
        instance.name,
        label,
        "foreign",
        str(TerminationStatus.FEASIBLE),
        family.objective(instance, solution),
        figures=family.figures(instance, solution),
        solution=solution,
    )


def _best_bound(family: Family, instance: Any, rows: list[Row]) -> float | None:
    """The tightest bound of the rows, of the family's bound method, and of what is known of the instance."""
    bounds = [row.bound for row in rows if row.bound is not None]
    if family.infeasible(instance) is None:
        bound = solve(instance, method=family.best_bound).bound
        bounds += [] if bound is None else [bound]
    known = instance.known
    if known is not None:
        bounds += [value for value in (known.optimum, known.lower) if value is not None]
    return max(bounds, default=None) if family.sense == "minimize" else min(bounds, default=None)


def _optimum(family: Family, instance: Any, rows: list[Row]) -> float | None:
    """A proven optimum: of a row of this run, else the one the instance's file states."""
    proven = [row.objective for row in rows if row.status == TerminationStatus.OPTIMAL]
    if proven:
        return proven[0]
    return None if instance.known is None else instance.known.optimum


def _against(family: Family, row: Row, bound: float | None, optimum: float | None) -> Row:
    """Fill in gap and ratio; an objective that beats a proven value is said to contradict it."""
    if row.objective is None:
        return row
    reference = optimum if optimum is not None else bound
    if reference is None:
        return row
    if family.sense.better(row.objective, reference):
        if not meets(row.objective, reference):
            return replace(row, status=f"{row.status}, contradicts the proven {reference!r}")
        reference = row.objective
    at_most = optimum is None and not (bound is not None and meets(row.objective, bound))
    factor = ratio(row.objective, reference, family.sense)
    return replace(row, gap=gap(row.objective, reference), ratio=factor, ratio_is_at_most=at_most)
