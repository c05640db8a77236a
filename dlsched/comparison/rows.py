"""Rows of a comparison: methods and external answers on one instance, against the best proven value."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from dlsched.core.errors import ContradictionError, DlschedError
from dlsched.core.family import AnyFamily, AnyMethod
from dlsched.core.gap import CLOSED
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits, ProgressCallback
from dlsched.core.result import Solution
from dlsched.core.status import TerminationStatus
from dlsched.core.verdict import Known, Reference, Verdict, reference_of, verdict
from dlsched.families import family_of, objective_name
from dlsched.results.disproof import disproof
from dlsched.results.reading import Claim
from dlsched.results.verification import read_solution, verify_claim
from dlsched.solving import MethodLike, method_of, solve

_FAILED = 7  # exit code if something is wrong

Watch = Callable[[str], AbstractContextManager[ProgressCallback | None]]
"""Takes what runs, instance and method, and yields who is told of its progress."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One method (or one answer from elsewhere) on one instance; ``status`` may be a sentence of what went wrong.

    ``left``: gap to its own bound that an optimum leaves. ``wrong``: what ``status`` means for the exit code, a line on stderr.
    ``family`` and ``index`` of the instance; empty and -1 for an answer that belongs to none. ``objective_name`` and
    ``sense``: what its objective is called where its family has several, and which is better. ``message``: what a user's
    function reports, or a note on its run. ``asked``: whether its method was asked for, not needed for a bound.
    """

    instance: str
    method: str
    kind: str
    status: str
    objective: float | None = None
    bound: float | None = None
    runtime_s: float | None = None
    figures: Mapping[str, float] = field(default_factory=dict, hash=False)
    solution: Solution | None = None
    left: float | None = None
    wrong: str = ""
    family: str = ""
    index: int = -1
    objective_name: str = ""
    sense: str = ""
    verdict: Verdict = field(default_factory=Verdict)
    message: str = ""
    asked: bool = True

    @property
    def gap(self) -> float | None:
        """Gap to the best that is proven."""
        return self.verdict.gap

    @property
    def ratio(self) -> float | None:
        """Ratio to the best that is proven."""
        return self.verdict.ratio

    @property
    def ratio_is_at_most(self) -> bool:
        """Whether the reference is a bound that the answer does not meet."""
        return self.verdict.at_most

    @property
    def label(self) -> str:
        """Name of the method, marked where the answer is from elsewhere."""
        return self.method if self.kind != "foreign" else f"{self.method} *"


def compare_one(
    instance: InstanceFile,
    methods: Sequence[AnyMethod],
    claims: Mapping[str, Claim],
    limits: Limits,
    *,
    seed: int = 0,
    watch: Watch = lambda what: nullcontext(),
) -> tuple[list[Compared], bool]:
    """Rows of one instance against the best that is proven, with a bound where needed; and whether Ctrl-C ended it."""
    family = family_of(instance)
    rows: list[Compared] = []
    interrupted = False
    for method in methods:
        if not method.runs_unasked(instance):
            continue
        rows.append(_method_row(instance, method, limits, seed, watch))
        interrupted = rows[-1].status == TerminationStatus.INTERRUPTED
        if interrupted:
            break
    if not interrupted and _needs_bound(family, instance, rows):
        bound = _method_row(instance, family.method(family.best_bound), limits, seed, watch)
        rows.append(replace(bound, asked=False))
        interrupted = rows[-1].status == TerminationStatus.INTERRUPTED
    rows += [replace(_claim_row(family, instance, path, claim), asked=False) for path, claim in claims.items()]
    sense, named = family.sense_for(instance), objective_name(instance)
    reference = reference_of(rows, sense, _known(family, instance))
    found = [_against(row, reference) for row in rows]
    return [replace(row, family=family.name, objective_name=named, sense=sense) for row in found], interrupted


def _method_row(instance: InstanceFile, method: AnyMethod, limits: Limits, seed: int, watch: Watch) -> Compared:
    try:
        with watch(f"{instance.name}, {method.name}") as progress:
            result = solve(instance, method=method, limits=limits, seed=seed, progress=progress)
    except DlschedError as error:
        wrong = f"{instance.name}: {error}" if error.exit_code == _FAILED else ""
        return Compared(instance.name, method.name, method.kind, str(error), wrong=wrong)
    status = str(result.status)
    wrong = disproof(instance, result) or ""
    if result.status is TerminationStatus.SOLVER_ERROR:
        status = f"solver_error: {result.message}"
        if result.failed_by(ContradictionError):
            wrong = f"{instance.name}: {method.name}: {result.message}"
    return Compared(
        instance.name,
        method.name,
        method.kind,
        status,
        result.objective,
        result.bound,
        runtime_s=result.runtime_s,
        figures=result.figures,
        solution=result.solution,
        left=result.gap if result.status is TerminationStatus.OPTIMAL and (result.gap or 0.0) > CLOSED else None,
        wrong=wrong,
        message=result.message if ":" in method.name and status == result.status else "",
    )


def _needs_bound(family: AnyFamily, instance: InstanceFile, rows: Sequence[Compared]) -> bool:
    """Whether the bound of the family can improve on what is known."""
    reference = reference_of(rows, family.sense_for(instance), _known(family, instance))
    return (
        (reference is None or reference.kind != "optimum")
        and not any(row.method == family.best_bound for row in rows)
        and family.infeasible(instance) is None
    )


def _claim_row(family: AnyFamily, instance: InstanceFile, path: str, claim: Claim) -> Compared:
    label = claim.method or Path(path).stem
    try:
        failures = verify_claim(family, instance, replace(claim, result=None), path).failures
    except DlschedError as error:
        failures = [str(error)]
    if failures:
        message = f"{path}: rejected as an answer to {instance.name}: {failures[0]}"
        return Compared(instance.name, label, "foreign", f"rejected: {failures[0]}", wrong=message)
    if claim.solution is None:
        return Compared(instance.name, label, "foreign", str(TerminationStatus.NO_SOLUTION))
    solution = read_solution(family, instance, claim, path)
    return Compared(
        instance.name,
        label,
        "foreign",
        str(TerminationStatus.FEASIBLE),
        family.objective(instance, solution),
        figures=family.figures(instance, solution),
        solution=solution,
    )


def _known(family: AnyFamily, instance: InstanceFile) -> Known:
    """What is known of an instance before a method runs."""
    known, constant = instance.known, family.constant(instance)
    return Known(constant) if known is None else Known(constant, known.optimum, known.bound(family.sense_for(instance)))


def _against(row: Compared, reference: Reference | None) -> Compared:
    """Compare a row with the reference; marks an objective that beats a proven value as contradicting it."""
    if row.objective is None:
        return row
    judged = verdict(row.objective, reference)
    if judged.contradicts is None:
        return replace(row, verdict=judged)
    contradiction = f"contradicts the proven {judged.contradicts!r}"
    wrong = row.wrong or f"{row.instance}: {row.method}: the objective {row.objective!r} {contradiction}"
    return replace(row, status=f"{row.status}, {contradiction}", wrong=wrong)


def rows_of(
    instances: Sequence[InstanceFile],
    methods: Mapping[str, Sequence[AnyMethod]],
    claims: Mapping[str, Claim],
    limits: Limits,
    *,
    seed: int = 0,
    watch: Watch,
) -> tuple[list[Compared], bool]:
    """Rows of all instances, and whether Ctrl-C ended them; ``methods`` by family, ``claims`` by path."""
    owners = {path: owners_of(claim, instances) for path, claim in claims.items()}
    rows: list[Compared] = []
    # An answer from elsewhere joins the rows of each instance that it may belong to.
    for index, instance in enumerate(instances):
        own = {path: claim for path, claim in claims.items() if index in owners[path]}
        of_instance, interrupted = compare_one(instance, methods[instance.family], own, limits, seed=seed, watch=watch)
        rows += [replace(row, index=index) for row in of_instance]
        if interrupted:
            return rows, True
    return rows, False


def methods_of(family: AnyFamily, wanted: Sequence[MethodLike] | None) -> list[AnyMethod]:
    """Return the methods that are wanted of a family; None: all but its bounds."""
    if wanted is None:
        return [method for method in family.methods.values() if method.kind != "bound"]
    chosen, times = [replace(method_of(family, each), for_some=False) for each in wanted], Counter[str]()
    for place, method in enumerate(chosen):
        times[method.name] += 1
        if times[method.name] > 1 and ":" in method.name:  # two functions of one name, such as lambdas
            chosen[place] = replace(method, name=f"{method.name} ({times[method.name]})")
    return chosen


def owners_of(claim: Claim, instances: Sequence[InstanceFile]) -> set[int]:
    """Indices of the instances to which an answer belongs; one that does not say belongs to the only one."""
    if len(instances) == 1 and claim.of(instances[0]) is None:
        return {0}
    return {index for index, instance in enumerate(instances) if claim.of(instance)}


def stray_row(path: str, claim: Claim) -> Compared:
    """Say of an answer that it belongs to none of the instances, or that it does not say to which."""
    label = claim.method or Path(path).stem
    named = claim.instance if claim.result is None else claim.result.instance
    if named is None:
        reason = "a bare solution does not say to which of several instances it belongs"
        return Compared("-", label, "foreign", f"{path}: {reason}")
    return Compared(named.name or "-", label, "foreign", f"{path}: belongs to none of the instances")
