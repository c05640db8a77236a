"""Solutions, the rules that they may break, and ``Result``, the outcome of a method, which cannot contradict itself."""

import math
from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from dlsched.core.display import Summarised
from dlsched.core.errors import SolverError
from dlsched.core.gap import gap, meets
from dlsched.core.limits import Limits
from dlsched.core.messages import printable
from dlsched.core.status import Sense, TerminationStatus


@dataclass(frozen=True, slots=True)
class Violation:
    """One violated constraint.

    Parameters
    ----------
    rule
        Name of the constraint, as in the mathematics and in the model's rows, e.g. ``capacity``.
    where
        The job, server, slot ... that it concerns; empty for a single global constraint.
    amount
        By how much it is violated, in the constraint's unit; None where a number makes no sense.
    message
        One sentence.
    """

    rule: str
    where: str = ""
    amount: float | None = None
    message: str = ""

    def __str__(self) -> str:
        place = f"[{printable(self.where)}]" if self.where else ""
        return f"{self.rule}{place}: {self.message}"


K = TypeVar("K")
V = TypeVar("V")


class FrozenMapping(Mapping[K, V]):
    """A mapping that keeps the order it was given, cannot be changed, and can be hashed and pickled."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[K, V]) -> None:
        self._items = dict(items)

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def items(self) -> ItemsView[K, V]:
        """Keys and values, at the speed of a dictionary."""
        return self._items.items()

    def values(self) -> ValuesView[V]:
        """Values, at the speed of a dictionary."""
        return self._items.values()

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)


class Solution(Protocol):
    """A decision, as data."""

    def as_data(self) -> Mapping[str, object]:
        """Return the solution as result files hold it."""


class Certificate(Protocol):
    """Data that prove a bound, ``value``, on their own."""

    @property
    def value(self) -> float:
        """The bound."""

    def as_data(self) -> Mapping[str, object]:
        """Return the certificate as result files hold it, its ``kind`` first."""


class Identified(Protocol):
    """The instance of a result: its name, and the SHA-256 of its canonical JSON, computed on demand."""

    @property
    def name(self) -> str:
        """Name of the instance."""

    @property
    def sha256(self) -> str:
        """Hash of its canonical JSON."""


SolutionT = TypeVar("SolutionT", bound=Solution)
SolutionT_co = TypeVar("SolutionT_co", bound=Solution, covariant=True)


@dataclass(frozen=True, slots=True)
class InstanceId:
    """Name and hash of an instance that was not loaded, as read from a result file."""

    name: str
    sha256: str


@dataclass(frozen=True, kw_only=True, repr=False)
class Result(Summarised, Generic[SolutionT_co]):
    """The outcome of one method on one instance.

    Parameters
    ----------
    family, instance, method
        What was solved, by which method.
    status
        Why it stopped.
    sense
        Whether the objective is minimised or maximised.
    objective
        The checker's value of ``solution``, in the unit of the family's objective; None without a solution.
    constant
        The part of the objective that no solution changes; ``gap`` and ``proven`` leave it out.
    bound
        Proven bound on the optimum, or None. A bound on the wrong side of the objective by no more than the tolerance
        of ``gap.meets`` is set to the objective.
    bound_source
        What proved the bound: ``certificate``, or an algorithm or solver with its version.
    runtime_s
        Seconds, >= 0, from the call to the answer.
    solver, seed, limits
        Solver and version, None without one; the seed, None when nothing is random; the limits that were set.
    certificate
        Data that prove ``certificate.value`` on their own.
    solution
        The decision, or None.
    figures
        Further numbers of interest, by name.
    message
        A solver's message about its failure, or a remark on the answer; empty by default.
    of_model
        Whether ``bound``, and the statuses ``optimal`` and ``infeasible``, are those of a model of the instance
        that a user may have extended (``Formulation.solve``), and say nothing of the instance without it.
    failure
        Class of the error that ended the method with status ``solver_error``; None otherwise, and in results read
        from files. ``message`` has its words.

    Raises
    ------
    ValueError
        The facts contradict each other.
    """

    family: str
    instance: Identified
    method: str
    status: TerminationStatus
    sense: Sense = Sense.MINIMIZE
    objective: float | None = None
    constant: float = 0.0
    bound: float | None = None
    bound_source: str | None = None
    runtime_s: float = 0.0
    solver: str | None = None
    seed: int | None = None
    limits: Limits = field(default_factory=Limits)
    certificate: Certificate | None = None
    solution: SolutionT_co | None = None
    figures: dict[str, float] = field(default_factory=dict, hash=False)
    message: str = ""
    of_model: bool = False
    failure: type[SolverError] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "status", TerminationStatus(self.status))
        object.__setattr__(self, "sense", Sense(self.sense))
        objective, bound, status = self.objective, self.bound, self.status
        for name, value in (
            *(("objective", objective), ("bound", bound)),
            *(("constant", self.constant), ("runtime_s", self.runtime_s)),
        ):
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{name} {value} is not finite")
        if self.runtime_s < 0:
            raise ValueError(f"runtime_s {self.runtime_s} is negative")
        if (self.solution is None) != (objective is None):
            raise ValueError("a solution and its objective come together")
        if (bound is None) != (self.bound_source is None):
            raise ValueError("a bound and its source come together")
        # A bound that is wrong by rounding only becomes the objective; one that is wrong by more is refused.
        if objective is not None and bound is not None and self.sense.better(objective, bound):
            if not meets(objective, bound, self.constant):
                raise ValueError(f"bound {bound} is on the wrong side of the objective {objective}")
            object.__setattr__(self, "bound", objective)
        if status is TerminationStatus.OPTIMAL and not self.proven:
            raise ValueError(f"optimal, but objective {objective} and bound {bound} do not meet")
        if status in (TerminationStatus.INFEASIBLE, TerminationStatus.NO_SOLUTION) and objective is not None:
            raise ValueError(f"{status}, but a solution is held")
        if status is TerminationStatus.INFEASIBLE and bound is not None:
            raise ValueError("infeasible, but a bound is claimed")
        if status is TerminationStatus.UNBOUNDED and (bound is not None or not self.of_model):
            raise ValueError("unbounded, but a bound is claimed, or the result is not of a model")
        if status is TerminationStatus.FEASIBLE and objective is None and bound is None:
            raise ValueError("feasible, but neither a solution nor a bound is held")
        if status is TerminationStatus.TIME_LIMIT and self.limits.time_s is None:
            raise ValueError("stopped by a time limit that was not set")
        if status is TerminationStatus.NODE_LIMIT and self.limits.nodes is None:
            raise ValueError("stopped by a node limit that was not set")

    def failed_by(self, kind: type[SolverError]) -> bool:
        """Whether an error of this class ended the method."""
        return self.failure is not None and issubclass(self.failure, kind)

    @property
    def gap(self) -> float | None:
        """Relative gap between objective and bound; None when either is unknown."""
        return gap(self.objective, self.bound, self.constant)

    @property
    def proven(self) -> bool:
        """Whether the bound meets the objective."""
        return (
            self.objective is not None and self.bound is not None and meets(self.objective, self.bound, self.constant)
        )

    def _summary(self) -> dict[str, str]:
        """What was found, without the solution."""
        facts = {
            "Result": f"{printable(self.method)} on {printable(self.instance.name)} ({self.family}): {self.status}"
        }
        if self.of_model:
            facts["Result"] += ", of the model"
        if self.objective is not None:
            facts["objective"] = repr(self.objective)
        if self.bound is not None:
            gap = "" if self.gap is None else f", gap {self.gap:.3g}"
            facts["bound"] = f"{self.bound!r}{gap}, by {printable(self.bound_source or '')}"
        facts["time"] = f"{self.runtime_s:.3f} s" + (f", {printable(self.solver)}" if self.solver else "")
        if self.message:
            facts["message"] = printable(self.message)
        return facts

    def as_data(self) -> dict[str, object]:
        """Return the result as ``dlsched/result/1`` holds it; computes the hash of the instance."""
        return {
            "format": "dlsched/result/1",
            "family": self.family,
            "instance": {"name": self.instance.name, "sha256": self.instance.sha256},
            "method": self.method,
            "status": str(self.status),
            "sense": str(self.sense),
            "objective": self.objective,
            **({"constant": self.constant} if self.constant else {}),
            "bound": self.bound,
            "bound_source": self.bound_source,
            "gap": self.gap,
            "runtime_s": self.runtime_s,
            "solver": self.solver,
            "seed": self.seed,
            "limits": self.limits.as_data(),
            "certificate": None if self.certificate is None else self.certificate.as_data(),
            "solution": None if self.solution is None else self.solution.as_data(),
            "figures": dict(self.figures),
            "message": self.message,
            **({"of_model": True} if self.of_model else {}),
        }
