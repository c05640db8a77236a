"""The record of a family: its functions by role, for the command line, the benchmarks and the contract test only."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from dlsched.core.certificate import Certificate
from dlsched.core.instance import InstanceFile
from dlsched.core.search import Search, Stopped
from dlsched.core.status import Sense, TerminationStatus
from dlsched.core.violation import Violation

Kind = Literal["exact", "heuristic", "bound"]


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What a heuristic promises, in words and as data.

    Parameters
    ----------
    words
        One sentence.
    holds_for
        Whether the promise is made for an instance.
    worst
        From an instance and its optimum to the worst objective that keeps the promise.
    """

    words: str
    holds_for: Callable[[Any], bool]
    worst: Callable[[Any, float], float]


@dataclass(frozen=True, slots=True)
class Method:
    """One way to solve or bound the instances of a family.

    Parameters
    ----------
    name, kind
        As on the command line.
    run
        From an instance and a ``Search``, which takes the findings, to the reason it stopped.
    guarantee
        A heuristic's promise, None when it has none.
    solvers
        Solvers that can serve, the default first; empty when none is needed.
    seeded
        Whether it draws from ``Search.generator``.
    """

    name: str
    kind: Kind
    run: Callable[[Any, Search], TerminationStatus]
    guarantee: Guarantee | None = None
    solvers: tuple[str, ...] = ()
    seeded: bool = False

    @property
    def promise(self) -> str:
        """The guarantee in words."""
        if self.kind == "exact":
            return "proven optimum"
        if self.kind == "bound":
            return "proven bound, with certificate"
        return "none" if self.guarantee is None else self.guarantee.words


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The rooms of a family, as functions.

    Parameters
    ----------
    name, summary, sense, unit
        Name as in file formats, one sentence, whether the objective is minimised, the objective's unit.
    instance, read_solution
        The instance class, and the reader of a result file's ``solution`` (raises ``InputError``).
    objective, check, infeasible
        The checker: objective and violations of a solution, and a sentence that proves infeasibility by counting.
    methods, aliases, cross_check
        Every method by name (``exact`` first), further names of some, and the one that a second solver runs for
        ``--cross-check``.
    best_bound
        The bound method that ``dlsched bound`` runs.
    formulations
        Builders of linear models by name, for ``dlsched export``.
    verify
        Exact value of a certificate; raises ``ValueError`` when it is not one of this instance.
    presets, generate, example
        Random instances from (preset, jobs, gpus, seed), and the example.
    constant
        The part of an instance's objective that no solution changes; 0 by default.
    figures
        Further figures of a feasible solution, by name.
    """

    name: str
    summary: str
    sense: Sense
    unit: str
    instance: type[InstanceFile]
    read_solution: Callable[[Any, Any], Any]
    objective: Callable[[Any, Any], float]
    check: Callable[[Any, Any], Sequence[Violation]]
    infeasible: Callable[[Any], str | None]
    methods: Mapping[str, Method]
    cross_check: str
    best_bound: str
    formulations: Mapping[str, Callable[[Any], Any]]
    verify: Callable[[Any, Certificate], Fraction]
    presets: Mapping[str, str]
    generate: Callable[..., Any]
    example: Callable[[], Any]
    constant: Callable[[Any], float] = field(default=lambda instance: 0.0)
    aliases: Mapping[str, str] = field(default_factory=dict)
    figures: Callable[[Any, Any], dict[str, float]] = field(default=lambda instance, solution: {})


def heuristic(
    name: str,
    function: Callable[..., Any],
    infeasible: Callable[[Any], str | None],
    quick: Callable[[Any], Any] | None = None,
) -> Callable[[Any, Search], TerminationStatus]:
    """Run a plain heuristic as a method; a sentence that proves infeasibility is its message.

    A function with a parameter ``tick`` is handed ``Search.tick``, which stops it at a limit; then the answer of ``quick``, a
    faster heuristic, is held instead. Limits do not concern the others.
    """
    ticks = "tick" in inspect.signature(function).parameters

    def run(instance: Any, search: Search) -> TerminationStatus:
        reason = infeasible(instance)
        if reason is not None:
            search.say(reason)
            return TerminationStatus.INFEASIBLE
        try:
            found = function(instance, tick=search.tick) if ticks else function(instance)
        except (Stopped, KeyboardInterrupt):
            instead = None if quick is None else quick(instance)
            if instead is not None:
                search.offer(instead, source=name)
                search.say(f"{name} was stopped; what is held is the answer of a faster rule")
            raise
        if found is None:
            return TerminationStatus.NO_SOLUTION
        search.offer(found, source=name)
        return TerminationStatus.FEASIBLE

    return run


def bound_by(
    function: Callable[[Any, Search], Any], infeasible: Callable[[Any], str | None]
) -> Callable[[Any, Search], TerminationStatus]:
    """Run a function that returns a certificate as a method; a sentence that proves infeasibility is its message."""

    def run(instance: Any, search: Search) -> TerminationStatus:
        reason = infeasible(instance)
        if reason is not None:
            search.say(reason)
            return TerminationStatus.INFEASIBLE
        certificate = function(instance, search)
        search.prove(certificate.value, source="certificate", certificate=certificate)
        return TerminationStatus.FEASIBLE

    return run
