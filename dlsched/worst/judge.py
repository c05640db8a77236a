"""The ratio of a method on an instance, and the result of a search for the worst: an instance, its ratio, and proofs.

Ratios are as in studies: above 1 is worse, and the constant part of objectives is subtracted. A ratio is
infinite, *without bound*, if the method has no answer though one exists, or only the denominator is 0.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from dlsched.core.display import Summarised
from dlsched.core.elementary import log
from dlsched.core.errors import DisagreementError, DlschedError, InstanceError, SolverMissingError
from dlsched.core.family import AnyFamily, AnyMethod
from dlsched.core.gap import MEETING, beats
from dlsched.core.instance import InstanceFile
from dlsched.core.instance import Known as KnownOptimum
from dlsched.core.limits import Budget, Limits, Stopped
from dlsched.core.messages import cut, printable, several
from dlsched.core.quantities import number
from dlsched.core.result import Result, Solution
from dlsched.core.status import TerminationStatus
from dlsched.core.verdict import Known, Reference, ReferenceKind, reference_of, verdict
from dlsched.families import find_family, instance_from
from dlsched.version import VERSION
from dlsched.worst.spaces import Data

if TYPE_CHECKING:
    from dlsched.worst.competitive.proven import Supremum
    from dlsched.worst.proving import Proven


NODE_LIMIT = 20_000
"""Nodes of each run, the method's and the reference's, where none are given: unlike seconds, they make answers repeatable."""
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

    ``limits``: seconds of all runs together, nodes of each; ``tell``: called with the first failure of each message; ``judged``:
    called after every evaluation; ``beyond``: ratio above which a search ends. If it is finite, only answers have ratios, to
    proven optima or to another method's answers, as nothing else refutes a bound. ``admits``: as the space says.
    """

    family: AnyFamily
    method: AnyMethod
    reference: AnyMethod
    solver: str | None = None
    limits: Limits = field(default_factory=Limits)
    tell: Callable[[Failure], None] = lambda failure: None
    judged: Callable[[], None] = lambda: None
    beyond: float = math.inf
    admits: Callable[[InstanceFile, float], bool] = lambda instance, optimum: True

    def __post_init__(self) -> None:
        self.budget = Budget(Limits(time_s=self.limits.time_s))
        self.nodes = NODE_LIMIT if self.limits.nodes is None else self.limits.nodes
        self.evaluations = 0
        self.worst: Judged | None = None
        self.failures: dict[str, Failure] = {}

    @property
    def done(self) -> bool:
        """Whether the worst ratio is beyond what was to be shown, or without bound, so that no search is needed."""
        return self.worst is not None and (self.worst.ratio > self.beyond or math.isinf(self.worst.ratio))

    def judge(self, data: Data) -> Judged | None:
        """Evaluate the instance of some data; None: the data are invalid, or no ratio is defined."""
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
        """Run the reference; where nothing is known it is None, and counts as an evaluation without a run of the method."""
        result = self._run(self.reference, instance, self.solver)
        if result is not None:
            # another heuristic's answer is a reference only if the caller asked for that heuristic
            answers = ("answer",) if self.reference.kind == "heuristic" else ()
            # a ratio to a bound is at least the true one, so it refutes nothing
            bounds = ("bound",) if math.isinf(self.beyond) else ()
            found = reference_of(
                [result],
                result.sense,
                Known(result.constant),
                named=[result],
                taken=("optimum", *answers, *bounds),
            )
            if found is not None and self.admits(instance, found.value):
                return found
        self._count()
        return None

    def held_against(self, instance: InstanceFile, reference: Reference, data: Data) -> Judged | None:
        """Run the method, compare it with a reference and with its own guarantee, and count."""
        result = self._run(self.method, instance, None)
        self._count()
        if result is None:
            return None
        # no answer is the worst answer, unless a limit stopped the method or only answers count
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
        """Run a method within the remaining limits; None if it failed, which is recorded and reported."""
        self.budget.tick()
        # nodes are limited for each run, time for all runs together
        limits = Limits(time_s=self.budget.left.time_s, nodes=self.nodes, threads=self.limits.threads)
        try:
            result: Result[Solution] = self.family.solve(instance, method=method, limits=limits, solver=solver)
        except SolverMissingError:
            raise
        except Exception as error:  # whatever a method raises is of interest, with the instance on which it did
            message = str(error) if isinstance(error, DlschedError) else f"{type(error).__name__}: {error}"
            self._fail(f"{method.name}: {message}" if method.name not in message else message, instance, error)
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
        # the guarantee holds for answers of instances that meet its assumptions
        allowed = promise.worst(instance, reference.value)
        if beats(allowed, objective, reference.sense, reference.constant):
            self._fail(f"{self.method.name}: it breaks its guarantee, {promise.words}", instance)

    def _fail(self, message: str, instance: InstanceFile, error: Exception | None = None) -> None:
        if message not in self.failures:
            self.failures[message] = Failure(message, instance, error)
            self.tell(self.failures[message])


def _worth(objective: float | None, reference: Reference) -> float | None:
    """Ratio that a search climbs; None where it learns nothing: both are worth nothing, or one of the two is a loss.

    An answer that meets what is proven is at 1, on either side.
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


Ended = Literal["budget", "limit", "interrupted"]
LONGEST = 200
"""Characters of a fact that is shown."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Worst(Summarised):
    """The worst instance that a search has found.

    ``family``, ``method``: family of the instance, and the method that does badly on it; ``ratio``, ``found``: ratio of the
    instance, and before it was shrunk; None: unbounded; ``objective``, ``reference``, ``reference_kind``: the method's objective
    (None: no answer), what it is compared with, and its kind: with a ``bound``, the true ratio is at most the one stated;
    ``evaluations``, ``seed``: instances evaluated, those of shrinking among them, and the seed of the search; ``instance``: its
    source names command and ratio; ``ended``: budget used up (or nothing more to gain), time limit, or Ctrl-C; ``command``: the
    command that finds the instance again; ``space``, ``wider``: for people, which instances were searched, and options that
    widen the space; ``failures``: one per message; ``proof``, ``proofs``: if asked for, how bad the method can be on any
    instance, for every number of jobs that the search may end with, and the one with the largest supremum.
    """

    family: str
    method: str
    ratio: float | None
    found: float | None
    objective: float | None
    reference: float
    reference_kind: ReferenceKind
    evaluations: int
    seed: int
    instance: InstanceFile
    ended: Ended
    command: str
    space: str = ""
    wider: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    proof: "Proven | Supremum | None" = None
    proofs: "tuple[Proven, ...] | tuple[Supremum, ...]" = ()

    @property
    def ratio_text(self) -> str:
        """The ratio as text for people: with ``<=`` if a bound replaces the optimum."""
        if self.ratio is None:
            return "without bound"
        return f"{'<= ' if self.reference_kind == 'bound' else ''}{self.ratio:.6g}"

    def _summary(self) -> dict[str, str]:
        """How bad, against what, and the command that finds it again."""
        objective = "no answer" if self.objective is None else f"objective {number(self.objective)}"
        judged = {"optimum": "optimum", "bound": "bound", "answer": "reference"}[self.reference_kind]
        how = {"budget": "", "limit": ", ended by the limit", "interrupted": ", interrupted"}[self.ended]
        facts = {
            "Worst": printable(cut(f"{self.method} on {self.family}: ratio {self.ratio_text}", LONGEST)),
            "of": f"{objective}, {judged} {number(self.reference)}",
            "instance": f"{printable(self.instance.name)}{sized(self.instance, ', ')}",
            "search": f"{several(self.evaluations, 'evaluation')}, seed {self.seed}{how}",
            "again": printable(self.command),
        }
        if self.failures:
            facts["failures"] = f"{len(self.failures)}, the first: {printable(cut(self.failures[0].message, LONGEST))}"
        return facts

    def as_data(self) -> dict[str, object]:
        """Return it as ``dlsched worst --json`` prints it."""
        first = ("family", "method", "ratio", "reference_kind", "evaluations", "seed")
        others = ("found", "objective", "reference", "ended", "command", "space")
        data: dict[str, object] = {name: getattr(self, name) for name in first}
        data["proven"] = None if self.proof is None or self.proof.supremum is None else str(self.proof.supremum)
        data["instance"] = self.instance.as_data()
        data |= {name: getattr(self, name) for name in others}
        data["wider"] = list(self.wider)
        data["failures"] = [{"message": each.message, "instance": each.instance.as_data()} for each in self.failures]
        if self.proof is not None:
            data |= {"proof": self.proof.as_data(), "suprema": [each.brief() for each in self.proofs]}
        return data


def said_of(worst: Worst, instance: InstanceFile, reference: str) -> InstanceFile:
    """Return an instance with command and ratio as its source, and with its optimum if that is proven."""
    proof = f"{reference}, dlsched {VERSION}"
    known = KnownOptimum(optimum=worst.reference, proof=proof) if worst.reference_kind == "optimum" else None
    source = f"{worst.command}: {worst.method} {worst.ratio_text}"
    return instance.model_copy(update={"source": source, "known": known})


def finite(ratio: float) -> float | None:
    """Return a ratio as results hold it: None if it is unbounded."""
    return None if math.isinf(ratio) else ratio


def with_proofs(worst: Worst, *proofs: "Proven") -> Worst:
    """Return what a search found with proofs, each for another number of jobs, and the worst instance of both.

    A ``DisagreementError`` says that the search found an instance that is worse than its supremum allows.
    """
    _require_consistent(worst, proofs)
    proof = max(proofs, key=lambda each: (math.inf if each.supremum is None else each.supremum, each.setting.jobs))
    ascending = tuple(sorted(proofs, key=lambda each: each.setting.jobs))
    worst = replace(worst, proof=proof, proofs=ascending, command=f"{worst.command} --prove")
    family = find_family(worst.family)
    judge = Judge(family, family.method(worst.method), family.method("exact"))
    judged = judge.judge(proof.instance.as_data())
    if judged is None or (worst.reference_kind == "optimum" and judged.ratio < _ratio(worst) * (1 - MEETING)):
        return replace(worst, instance=said_of(worst, worst.instance, "exact"))
    whole = replace(
        worst,
        ratio=finite(judged.ratio),
        objective=judged.objective,
        reference=judged.reference.value,
        reference_kind=judged.reference.kind,
    )
    return replace(whole, instance=said_of(whole, proof.instance, "exact"))


def proven_alone(command: str, seed: int, *proofs: "Supremum") -> Worst:
    """Return proofs of a policy, each for another number of jobs, as a result without a search, held against a schedule.

    The schedule is that of the certificate of the largest supremum, an optimum where the supremum is attained.
    """
    proof = max(proofs, key=lambda each: (each.supremum is not None, each.supremum or each.ratio, -each.setting.jobs))
    ended: Ended = next((each.ended for each in proofs if each.ended != "budget"), "budget")
    family = find_family(proof.instance.family)
    weight = sum(job.get("weight", 1) for job in proof.instance.as_data()["jobs"])
    reference = float(proof.schedule.flow.at) / weight
    worst = Worst(
        family=family.name,
        method=proof.setting.method,
        ratio=float(proof.ratio),
        found=None,
        objective=float(proof.ratio * proof.schedule.flow.at) / weight,
        reference=reference,
        reference_kind="optimum" if proof.attained else "answer",
        evaluations=0,
        seed=seed,
        instance=proof.instance,
        ended=ended,
        command=command,
        space=proof.space,
        proof=proof,
        proofs=tuple(sorted(proofs, key=lambda each: each.setting.jobs)),
    )
    return replace(worst, instance=said_of(worst, proof.instance, "worst --prove"))


def sized(instance: InstanceFile, before: str) -> str:
    """How many jobs an instance has, in words after ``before``; empty: its family has none."""
    jobs = getattr(instance, "jobs", None)
    return "" if jobs is None else before + several(len(jobs), "job")


def _require_consistent(worst: Worst, proofs: "tuple[Proven, ...]") -> None:
    """Refuse a ratio that is proven to be too large; what is held against a bound is no ratio that is reached."""
    jobs = len(worst.instance.as_data()["jobs"])
    for proof in proofs:
        alike = jobs == proof.setting.jobs and worst.reference_kind != "bound"
        if alike and proof.supremum is not None and _ratio(worst) > proof.supremum * (1 + MEETING):
            said = f"{worst.ratio_text} was found, but {proof.supremum} is proven to be the supremum"
            raise DisagreementError(f"{worst.method}: {said} of {several(jobs, 'job')}")


def _ratio(worst: Worst) -> float:
    return math.inf if worst.ratio is None else worst.ratio
