"""``prove``: the optimum of an instance with a proof that third-party programs check, in the format VIPR 1.0.

The proof is of a linear model of the instance (``model_of``); ``Scale`` converts the model's objectives to the instance's.
"""

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, BinaryIO, cast

from dlsched.core.display import Summarised
from dlsched.core.errors import ContradictionError, InfeasibleError, InputError, ProofError, ProofSizeError, UsageError
from dlsched.core.files import require_writable
from dlsched.core.gap import FEASIBLE
from dlsched.core.gap import gap as relative_gap
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import LOGGER, Budget, Limits, Progress, ProgressCallback, Stopped, limits_of, watched
from dlsched.core.messages import printable, several
from dlsched.core.result import Result, Solution
from dlsched.core.status import Sense, TerminationStatus
from dlsched.families import family_of
from dlsched.proofs.checker import Words, check_words
from dlsched.proofs.prover.derivation import Derivation, problem_lines, proof_lines, write_lines
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.prover import Deadline, finding_of, shortened, starting_point
from dlsched.proofs.prover.search import TreeSearch
from dlsched.solvers.formulation import AnyModel, Formulation, bound_of_all
from dlsched.solvers.linear import from_pulp
from dlsched.version import VERSION

if TYPE_CHECKING:
    import pulp

_FIRST = ("milp", "priced", "span", "arc")
"""Formulations that are taken where none is named, in this order."""
_SMALL = 20_000
"""Number of columns with which a search is short, as a rule; with more another formulation is tried."""
MEETING = Fraction(1, 10**9)
"""Part of the instance's objective within which the two sides of a proof meet."""
_WITHOUT_CUTS = 100
"""Cases that are tried before rows are derived."""
_SHARE = 0.25
"""Part of the time for a first point, by HiGHS, which may be asked twice."""
_IN_MEMORY = 2**26
"""Bytes of a proof up to which no temporary file is made while it is checked."""


def model_of(instance: InstanceFile, formulation: str | None) -> "tuple[str, Formulation[pulp.LpProblem, object]]":
    """Return the name and the model of a formulation, of the first that is small, or else the smallest; UsageError: none."""
    family = family_of(instance)
    names = [formulation] if formulation is not None else [name for name in _FIRST if name in family.formulations]
    if names[0] not in family.formulations:
        raise UsageError(where="formulation", found=repr(formulation), allowed=", ".join(family.formulations))
    errors: list[UsageError] = []
    models: list[tuple[int, str, Formulation[pulp.LpProblem, object]]] = []
    for name in names:
        try:
            built = family.formulations[name](instance)
        except UsageError as error:
            errors.append(error)
            continue
        assert isinstance(built, Formulation)
        models.append((built.model.numVariables(), name, built))
        if models[-1][0] <= _SMALL:
            break
    if not models:
        raise errors[-1]
    return min(models, key=lambda each: each[0])[1:]


def reached_by(
    instance: InstanceFile, start: Solution | Result[Solution] | None, built: "Formulation[pulp.LpProblem, object]"
) -> float | None:
    """Return the objective of the model that a start reaches."""
    family = family_of(instance)
    solution = family.start_of(instance, start)
    if solution is None:
        return None
    return (float(family.objective(instance, solution)) - built.constant) / built.unit


@dataclass(frozen=True)
class Scale:
    """How objectives of the model, as a minimum and without its constant, become those of the instance.

    ``shift``: the part of the instance's objective that no solution changes, which relative gaps leave out.
    ``limit``: that of the formulation.
    """

    sign: int
    unit: Fraction
    constant: Fraction
    shift: Fraction
    limit: float | None = None

    @property
    def sense(self) -> Sense:
        """Whether the instance's objective is minimised or maximised."""
        return Sense.MINIMIZE if self.sign > 0 else Sense.MAXIMIZE

    def of(self, value: Fraction) -> Fraction:
        """Return the instance's objective."""
        return self.unit * self.sign * value + self.constant

    def bound(self, derivation: Derivation | None, *, infeasible: bool = False) -> Fraction | None:
        """Return the bound that is proven of all solutions; None: none."""
        proven = None if derivation is None or infeasible else derivation.proven
        return bound_of_all(None if proven is None else self.of(proven), self.limit, self.sense, infeasible=infeasible)

    def met(self, derivation: Derivation | None, upper: Fraction | None) -> bool:
        """Whether the two sides meet, exactly as the checker judges it."""
        bound = self.bound(derivation)
        if bound is None or upper is None:
            return False
        sides = bound, self.of(upper)
        return abs(sides[0] - sides[1]) <= Fraction(FEASIBLE) * max(abs(side - self.shift) for side in sides)

    def target(self, upper: Fraction, gap: float, step: Fraction | None) -> Fraction:
        """Return what has to be proven for a point of that objective."""
        # between half and nine tenths of the gap, so that the proven number is short; or just above the step below
        room = max(MEETING, Fraction(gap)) * abs(self.of(upper) - self.shift) / self.unit
        target = shortened(upper - room * 9 / 10, upper - room / 2) if room else upper
        if step is not None:
            target = min(target, shortened(upper - step * Fraction(999, 1000), upper - step * Fraction(99, 100)))
        return target


@dataclass(frozen=True, kw_only=True, repr=False)
class Proof(Summarised):
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

    def _summary(self) -> dict[str, str]:
        """What is proven, and where the proof is."""
        sides = ("unknown" if side is None else repr(side) for side in (self.lower, self.upper))
        place = f"{len(self.lines or ()):,} lines" if self.path is None else printable(self.path)
        facts = {
            "Proof": f"by {self.formulation}: {self.status}, {several(self.cases, 'case')}",
            "range": " to ".join(sides),
            "kept": f"{place}, after {self.seconds:.3f} s",
        }
        return facts | ({"message": printable(self.message)} if self.message else {})


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
    InfeasibleError
        Counting shows that the instance has no solution, and the formulation has no model of it.
    UsageError
        There is no such linear model for the instance, or an argument is out of range.
    InputError
        The file cannot be written.
    ContradictionError
        The checker refuses the proof, an error of dlsched; nothing is written then.
    """
    if time_limit is not None or verbose:
        what = f"{instance.name}, proof"
        with watched(limits, progress, time_limit=time_limit, verbose=verbose, what=what) as (limits, progress):
            return prove(
                instance, output, start=start, formulation=formulation, gap=gap, limits=limits, progress=progress
            )
    limits = limits_of(limits)
    if not isinstance(gap, int | float) or not 0 <= gap < 1:
        raise UsageError(where="gap", found=repr(gap), allowed="a number >= 0 and below 1")
    if output is not None:
        require_writable(output)
    budget = Budget(limits)
    try:
        name, built = model_of(instance, formulation)
    except UsageError as error:
        if str(error) != family_of(instance).infeasible(instance):
            raise
        raise InfeasibleError(f"infeasible, which is counted and needs no proof: {error}") from None
    model = from_pulp(built.model)
    exact = ExactModel(model)
    began_s = budget.elapsed_s
    problem = list(problem_lines(exact))
    deadline = Deadline(budget, budget.elapsed_s - began_s)
    constant = Fraction(built.unit) * Fraction(model.constant) + Fraction(built.constant)
    shift = Fraction(family_of(instance).constant(instance))
    scale = Scale(exact.sign, Fraction(built.unit), constant, shift, built.limit)
    step = exact.step()
    search = TreeSearch(exact, lambda upper: scale.target(upper, gap, step), left_s=deadline.left_s)

    def report(doing: str) -> None:
        if progress is not None:
            objective = None if search.upper is None else float(scale.of(search.upper))
            least = search.bound()
            bound = None if least is None else float(scale.of(Fraction(least)))
            between = relative_gap(objective, bound, float(shift))
            progress(Progress(budget.elapsed_s, objective, bound, search.nodes, doing, gap=between))

    def node() -> None:
        deadline.node(search)
        report("cases")

    # a start and HiGHS give a first point and the target; then cases without cuts, and only if these do not do, with cuts
    status = TerminationStatus.FEASIBLE
    try:
        reached = reached_by(instance, start, built)
        deadline.tick()
        share_s = None if limits.time_s is None else min(limits.time_s * _SHARE, deadline.left_s() / 2)
        share = Limits(time_s=share_s, nodes=None, threads=limits.threads)
        if reached is not None:
            search.expect(exact.sign * (Fraction(reached) - Fraction(model.constant)))
        if not budget.none_at_all:
            point = starting_point(exact, share, start=built.start, reached=reached, tick=deadline.tick)
            if point is not None:
                search.offer(point)
        report("start")
        search.run(deadline.tick, node, most=_WITHOUT_CUTS)
        if not search.closed:
            search.cut(deadline.tick, lambda: deadline.rows_enough(search))
            search.run(deadline.tick, node)
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
        **built.parameters,
        "dlsched": VERSION,
        "sense": "maximum" if exact.sign < 0 else "minimum",
        "unit": str(scale.unit),
        "constant": str(scale.constant),
        "solution": "the values of the variables, by name, are those of the formulation; it decodes them",
    }
    lines = proof_lines(exact, comments, search.point, derivation, infeasible=finding.infeasible, problem=problem)
    proof, message = _written(lines, instance, name, built, output)
    proven = scale.bound(derivation, infeasible=finding.infeasible)
    bound = None if proven is None else float(proven)
    value = None if search.upper is None else float(scale.of(search.upper))
    lower, upper = (bound, value) if scale.sign > 0 else (value, bound)
    if status is TerminationStatus.INFEASIBLE and scale.limit is not None:
        status = TerminationStatus.NO_SOLUTION
    if status is TerminationStatus.OPTIMAL and not scale.met(derivation, search.upper):
        status = TerminationStatus.FEASIBLE
    if search.stuck and not search.closed:
        stuck = f"{len(search.stuck)} cases could not be proven from what the solvers say in floats"
        message = "; ".join(filter(None, (stuck, message)))
    return Proof(
        path=None if output is None else os.fspath(output),
        lines=proof,
        status=status,
        lower=lower,
        upper=upper,
        cases=0 if derivation is None else derivation.leaves,
        seconds=budget.elapsed_s,
        message=message,
        sha256=instance.sha256,
        formulation=name,
        sense=scale.sense,
        constant=float(scale.shift),
    )


def _written(
    lines: Iterable[str],
    instance: InstanceFile,
    name: str,
    built: "Formulation[pulp.LpProblem, object]",
    output: str | os.PathLike[str] | None,
) -> tuple[tuple[str, ...] | None, str]:
    """Check a proof and write it to ``output``; return its lines if that is None, and why it was not checked, if so."""
    message = ""
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as spool:
        spool.writelines(line.encode("ascii", "replace") + b"\n" for line in lines)
        spool.seek(0)
        try:
            # a model with parameters is built again by the checker, from the comments of the proof
            check_words(
                Words(cast(BinaryIO, spool)), instance, name, None if built.parameters else cast(AnyModel, built)
            )
        except ProofSizeError as error:
            message = f"not checked, {error}"
        except (ProofError, InputError) as error:
            raise ContradictionError(f"an error of dlsched, nothing was written: {error}") from None
        spool.seek(0)
        if output is None:
            return tuple(line.decode("ascii").rstrip("\n") for line in spool), message
        write_lines(spool, output)
    return None, message
