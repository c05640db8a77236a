"""Judging a method on an instance: its objective relative to the optimum, a bound, or another answer.

Ratios are as in studies: above 1 is worse, and the constant part of objectives is subtracted. A ratio is
infinite, *without bound*, if the method has no answer though one exists, or only the denominator is 0.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from dlsched.core.budget import Budget, Stopped
from dlsched.core.elementary import log
from dlsched.core.errors import DlschedError, InstanceError, SolverMissingError
from dlsched.core.family import AnyFamily, AnyMethod
from dlsched.core.gap import beats
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits
from dlsched.core.result import Result, Solution
from dlsched.core.status import TerminationStatus
from dlsched.core.verdict import Known, Reference, reference_of, verdict
from dlsched.families import instance_from
from dlsched.worst.space import Data

NODES = 20_000
"""Node limit of a run without other limits: unlike a limit of time, it makes answers repeatable."""
_DEFECTS = (TerminationStatus.SOLVER_ERROR,)
_CUT_SHORT = (TerminationStatus.NODE_LIMIT, TerminationStatus.MEMORY_LIMIT)

LEAST = 1e-9
"""Ratios below this are not distinguished."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A method on an instance: the ratio (infinite: without bound), its objective if it has an answer, and the reference."""

    data: Data
    instance: InstanceFile
    ratio: float
    objective: float | None
    reference: Reference

    @property
    def score(self) -> float:
        """Logarithm of the ratio: what a search climbs; finite also where another method's answer is worth nothing."""
        return log(max(self.ratio, LEAST))


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong on an instance: a method raised an error or broke a rule, its own guarantee or a proof."""

    message: str
    instance: InstanceFile
    error: Exception | None = None


@dataclass
class Judge:
    """Runs a method and its reference on instances, counts runs, and keeps the worst ratio and the failures.

    Parameters
    ----------
    family, method, reference, solver
        The judged method, its reference, and the solver of the reference.
    limits
        Limits on the seconds of all runs together and on the nodes of each.
    tell
        Called with a failure at once; the first of each message.
    judged
        Called after every evaluation.
    beyond
        Ratio above which a search ends. If it is finite, only answers have ratios, to proven optima or to another
        method's answers, as nothing else refutes a bound.
    """

    family: AnyFamily
    method: AnyMethod
    reference: AnyMethod
    solver: str | None = None
    limits: Limits = field(default_factory=Limits)
    tell: Callable[[Failure], None] = lambda failure: None
    judged: Callable[[], None] = lambda: None
    beyond: float = math.inf

    def __post_init__(self) -> None:
        self.budget = Budget(Limits(time_s=self.limits.time_s))
        self.nodes = NODES if self.limits.nodes is None else self.limits.nodes
        self.evaluations = 0
        self.worst: Judged | None = None
        self.failures: dict[str, Failure] = {}

    @property
    def done(self) -> bool:
        """Whether the worst ratio is beyond what was to be shown, or without bound, so that no search is needed."""
        return self.worst is not None and (self.worst.ratio > self.beyond or math.isinf(self.worst.ratio))

    def judge(self, data: Data) -> Judged | None:
        """Evaluate the instance of some data; None: the data are invalid, or no ratio is defined.

        Raises
        ------
        Stopped
            The time is up.
        KeyboardInterrupt
            Ctrl-C.
        """
        instance = self.instance_of(data)
        reference = None if instance is None else self.reference_of(instance)
        return None if instance is None or reference is None else self.held_against(instance, reference, data)

    def instance_of(self, data: Data) -> InstanceFile | None:
        """Return the instance of some data, or None if it is invalid."""
        try:
            return instance_from({key: data[key] for key in data if key not in ("source", "known")}, "candidate")
        except InstanceError:
            return None

    def reference_of(self, instance: InstanceFile) -> Reference | None:
        """Run the reference; None if there is no solution, or nothing is known.

        Counts as an evaluation where nothing is known: the method is not run on it.
        """
        result = self._run(self.reference, instance, self.solver)
        if result is not None:
            answers = ("answer",) if self.reference.kind == "heuristic" else ()
            bounds = ("bound",) if math.isinf(self.beyond) else ()
            found = reference_of(
                [result],
                result.sense,
                Known(result.constant),
                named=[result],
                taken=("optimum", *answers, *bounds),
            )
            if found is not None:
                return found
        self._count()
        return None

    def held_against(self, instance: InstanceFile, reference: Reference, data: Data) -> Judged | None:
        """Run the method, compare it with a reference and with its own guarantee, and count."""
        result = self._run(self.method, instance, None)
        self._count()
        if result is None:
            return None
        if result.objective is None and (
            result.status is not TerminationStatus.NO_SOLUTION or math.isfinite(self.beyond)
        ):
            return None
        if result.status in _CUT_SHORT and self.method.kind == "heuristic":
            return None  # the answer held then may come from another rule
        self._hold_to_proofs(instance, result.objective, reference)
        worth = _worth(result.objective, reference)
        if worth is None:
            return None
        judged = Judged(data, instance, worth, result.objective, reference)
        if self.worst is None or judged.ratio > self.worst.ratio:
            self.worst = judged
        return judged

    def _count(self) -> None:
        self.evaluations += 1
        self.judged()

    def _run(self, method: AnyMethod, instance: InstanceFile, solver: str | None) -> Result[Solution] | None:
        """Run a method within the remaining limits; None if it failed, which is recorded and told."""
        self.budget.tick()
        limits = Limits(time_s=self.budget.left.time_s, nodes=self.nodes, threads=self.limits.threads)
        try:
            result: Result[Solution] = self.family.solve(instance, method=method, limits=limits, solver=solver)
        except SolverMissingError:
            raise
        except Exception as error:  # whatever a method raises is of interest, with the instance on which it did
            said = str(error) if isinstance(error, DlschedError) else f"{type(error).__name__}: {error}"
            self._fail(f"{method.name}: {said}" if method.name not in said else said, instance, error)
            return None
        if result.status is TerminationStatus.INTERRUPTED:
            raise KeyboardInterrupt
        if result.status is TerminationStatus.TIME_LIMIT:
            raise Stopped(TerminationStatus.TIME_LIMIT)
        if result.status in _DEFECTS:
            self._fail(f"{method.name}: {result.message}", instance)
            return None
        return result

    def _hold_to_proofs(self, instance: InstanceFile, objective: float | None, reference: Reference) -> None:
        """Record a failure if the objective contradicts the reference or breaks the method's guarantee."""
        if verdict(objective, reference).contradicts is not None:
            self._fail(f"{self.method.name}: its objective contradicts what {self.reference.name} proved", instance)
        promise = self.method.guarantee  # of its answers: that it has none breaks no promise
        if promise is None or objective is None or reference.kind != "optimum" or not promise.holds_for(instance):
            return
        allowed = promise.worst(instance, reference.value)
        if beats(allowed, objective, reference.sense, reference.constant):
            self._fail(f"{self.method.name}: it breaks its guarantee, {promise.words}", instance)

    def _fail(self, message: str, instance: InstanceFile, error: Exception | None = None) -> None:
        if message not in self.failures:
            self.failures[message] = Failure(message, instance, error)
            self.tell(self.failures[message])


def _worth(objective: float | None, reference: Reference) -> float | None:
    """Ratio that a search climbs: that of studies, infinite where it is without bound.

    It is None where the search learns nothing: both are worth nothing, or one of the two is a loss. An answer that meets what is
    proven is at 1, on either side.
    """
    value, constant = reference.value, reference.constant
    if objective is None:
        return math.inf if reference.answered else None
    found = verdict(objective, reference)
    if found.unbounded:
        return math.inf
    if objective == value == constant or min(objective, value) < constant:
        return None
    return 1.0 if found.met and found.kind != "answer" else found.ratio
