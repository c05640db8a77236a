"""``prove``: an optimum of an instance with a proof that other programs check, in the format VIPR 1.0."""

import os
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dlsched.core.budget import Budget, Stopped
from dlsched.core.errors import UsageError
from dlsched.core.files import require_writable
from dlsched.core.gap import gap as relative_gap
from dlsched.core.gap import meets
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits, Progress, ProgressCallback
from dlsched.core.result import Result, Solution
from dlsched.core.status import Sense, TerminationStatus
from dlsched.core.tolerance import FEASIBLE
from dlsched.core.watching import LOGGER, watched
from dlsched.families import family_of
from dlsched.proofs.models import model_of
from dlsched.proofs.prover.derivation import Derivation
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.finding import finding_of
from dlsched.proofs.prover.search import TreeSearch
from dlsched.proofs.prover.starting import shortened, starting_point
from dlsched.proofs.prover.writer import proof_lines, write_lines
from dlsched.solvers.formulation import Formulation
from dlsched.solvers.linear import from_pulp
from dlsched.version import VERSION

if TYPE_CHECKING:
    import pulp

MEETING = Fraction(1, 10**9)
"""Part of the instance's objective within which the two sides of a proof meet."""
_WITHOUT_CUTS = 100
"""Cases that are tried before rows are derived."""
_SHARE = 0.5
"""Part of the time for a first point."""


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A proof that was written, and what it proves.

    Parameters
    ----------
    path, lines
        The file; or, without one, its lines.
    status
        ``optimal``: lower and upper meet; ``feasible``: within the gap asked for, or as far as could be proven;
        ``infeasible``; or what stopped the search. The proof is valid in every case.
    lower, upper
        The proven range of the instance's optimum; None: open on that side.
    cases
        Cases into which the proof splits, 1 without any split.
    seconds
        Wall-clock time.
    message
        What the reader should know; empty by default.
    sha256, formulation
        The hash of the instance, and the name of the model.
    sense, constant
        Of the instance: which side is the objective of a solution, and the part of it that no solution changes.
    """

    path: str | None
    lines: tuple[str, ...] | None
    status: TerminationStatus
    lower: float | None
    upper: float | None
    cases: int
    seconds: float
    message: str
    sha256: str
    formulation: str
    sense: Sense
    constant: float

    @property
    def objective(self) -> float | None:
        """The objective of the solution in the proof; None without one."""
        return self.upper if self.sense is Sense.MINIMIZE else self.lower

    @property
    def bound(self) -> float | None:
        """The bound that is proven; None without one."""
        return self.lower if self.sense is Sense.MINIMIZE else self.upper

    @property
    def gap(self) -> float | None:
        """Relative gap between objective and bound, as results have it; None when either is unknown."""
        return relative_gap(self.objective, self.bound, self.constant)


@dataclass(frozen=True)
class _Scale:
    """How objectives of the model, as a minimum and without its constant, become those of the instance.

    ``shift``: the part of the instance's objective that no solution changes, which relative gaps leave out.
    """

    sign: int
    unit: Fraction
    constant: Fraction
    shift: Fraction

    def of(self, value: Fraction) -> Fraction:
        return self.unit * self.sign * value + self.constant

    def target(self, upper: Fraction, gap: float, step: Fraction | None) -> Fraction:
        """Return what has to be proven for a point of that objective."""
        room = max(MEETING, Fraction(gap)) * abs(self.of(upper) - self.shift) / self.unit
        target = shortened(upper - room * 9 / 10, upper - room / 2) if room else upper
        if step is not None:
            target = min(target, shortened(upper - step * Fraction(999, 1000), upper - step * Fraction(99, 100)))
        return target


def prove(
    instance: InstanceFile,
    output: str | os.PathLike[str] | None = None,
    *,
    start: Solution | Result[Solution] | None = None,
    formulation: str | None = None,
    gap: float = 0.0,
    limits: Limits | None = None,
    progress: ProgressCallback | None = None,
    time_limit: float | None = None,
    verbose: bool = False,
) -> Proof:
    """Solve an instance by its linear model, and prove every step in whole numbers.

    Parameters
    ----------
    instance
        As ``dlsched.read`` returns it.
    output
        File to write; compressed if its name ends with ``.gz``. None: the proof holds its lines.
    start
        A solution or a result to start from; by default HiGHS solves the model first.
    formulation
        Name of the model, as ``dlsched export`` has it.
    gap
        Relative gap that is allowed between the two sides of the proof, >= 0.
    limits
        When to stop. A proof that is stopped, by Ctrl-C too, is valid, and proves a range.
    progress
        Called now and then.
    time_limit, verbose
        Seconds, instead of ``limits``; and whether to print a line a second on standard error.

    Raises
    ------
    UsageError
        There is no such linear model for the instance, or an argument is out of range.
    InputError
        The file cannot be written.
    """
    if time_limit is not None or verbose:
        said = f"{instance.name}, proof"
        with watched(limits, progress, time_limit=time_limit, verbose=verbose, what=said) as (limits, progress):
            return prove(
                instance, output, start=start, formulation=formulation, gap=gap, limits=limits, progress=progress
            )
    limits = limits or Limits()
    if not 0 <= gap < 1:
        raise UsageError(where="gap", found=gap, allowed="a number >= 0 and below 1")
    if output is not None:
        require_writable(output)
    budget = Budget(limits)
    name, built = model_of(instance, formulation)
    model = from_pulp(built.model)
    exact = ExactModel(model)
    constant = Fraction(built.unit) * Fraction(model.constant) + Fraction(built.constant)
    shift = Fraction(family_of(instance).constant(instance))
    scale = _Scale(exact.sign, Fraction(built.unit), constant, shift)
    step = exact.step()
    search = TreeSearch(exact, lambda upper: scale.target(upper, gap, step))

    def told(doing: str) -> None:
        if progress is not None:
            objective = None if search.upper is None else float(scale.of(search.upper))
            least = search.bound()
            bound = None if least is None else float(scale.of(Fraction(least)))
            between = relative_gap(objective, bound, float(shift))
            progress(Progress(budget.elapsed_s, objective, bound, search.nodes, doing, gap=between))

    def node() -> None:
        budget.tick(1)
        told("cases")

    status = TerminationStatus.FEASIBLE
    try:
        reached = _reached(instance, start, built)
        share = Limits(
            time_s=None if limits.time_s is None else limits.time_s * _SHARE, nodes=None, threads=limits.threads
        )
        point = None if budget.none_at_all else starting_point(exact, share, start=built.start, reached=reached)
        if point is not None:
            search.offer(point)
        told("start")
        search.run(budget.tick, node, most=_WITHOUT_CUTS)
        if not search.closed:
            search.cut(budget.tick)
            search.run(budget.tick, node)
    except Stopped as stopped:
        status = stopped.status
    except KeyboardInterrupt:
        status = TerminationStatus.INTERRUPTED
    finding = finding_of(exact, search)
    if search.closed or (search.target is not None and finding.lower == search.target):
        status = TerminationStatus.INFEASIBLE if finding.infeasible else TerminationStatus.OPTIMAL
    LOGGER.debug("%s, proof by %s: %s after %.3f s", instance.name, name, status, budget.elapsed_s)
    derivation = finding.derivation(search)
    comments = {
        "instance": instance.name,
        "sha256": instance.sha256,
        "formulation": name,
        "dlsched": VERSION,
        "sense": "maximum" if exact.sign < 0 else "minimum",
        "unit": str(scale.unit),
        "constant": str(scale.constant),
        "solution": "the values of the variables, by name, are those of the formulation; it decodes them",
    }
    lines = proof_lines(exact, comments, search.point, derivation, infeasible=finding.infeasible)
    held = None
    if output is None:
        held = tuple(lines)
    else:
        write_lines(lines, output)
    return _said(scale, search, derivation, finding.infeasible, status, budget, instance, name, output, held)


def _said(
    scale: _Scale,
    search: TreeSearch,
    derivation: Derivation | None,
    infeasible: bool,
    status: TerminationStatus,
    budget: Budget,
    instance: InstanceFile,
    name: str,
    output: str | os.PathLike[str] | None,
    held: tuple[str, ...] | None,
) -> Proof:
    bound = (
        None if derivation is None or derivation.proven is None or infeasible else float(scale.of(derivation.proven))
    )
    value = None if search.upper is None else float(scale.of(search.upper))
    lower, upper = (bound, value) if scale.sign > 0 else (value, bound)
    constant = family_of(instance).constant(instance)
    if status is TerminationStatus.OPTIMAL and (
        bound is None or value is None or not meets(value, bound, constant, within=FEASIBLE)
    ):
        status = TerminationStatus.FEASIBLE
    message = ""
    if search.stuck and not search.closed:
        message = f"{len(search.stuck)} cases could not be proven from what the solvers say in floats"
    return Proof(
        path=None if output is None else os.fspath(output),
        lines=held,
        status=status,
        lower=lower,
        upper=upper,
        cases=0 if derivation is None else derivation.leaves,
        seconds=budget.elapsed_s,
        message=message,
        sha256=instance.sha256,
        formulation=name,
        sense=Sense.MINIMIZE if scale.sign > 0 else Sense.MAXIMIZE,
        constant=constant,
    )


def _reached(
    instance: InstanceFile, start: Solution | Result[Solution] | None, built: "Formulation[pulp.LpProblem, object]"
) -> float | None:
    """Return the objective of the model that a start reaches."""
    solution = start.solution if isinstance(start, Result) else start
    if solution is None:
        return None
    family = family_of(instance)
    violations = family.check(instance, solution)
    if violations:
        raise UsageError(where="start", found=f"a solution that breaks {violations[0]}", allowed="a feasible one")
    return (float(family.objective(instance, solution)) - built.constant) / built.unit
