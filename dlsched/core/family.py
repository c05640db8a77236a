"""The record of a family, its methods, and how plain functions run as methods."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from dlsched.catalogue.families import Kind, ListedFamily, ListedMethod, Option, Value
from dlsched.core.arguments import require_seed
from dlsched.core.errors import InputError, PolicyError, SolverError, UsageError
from dlsched.core.imports import import_failure
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import LOGGER, Limits, ProgressCallback, Stopped, watched
from dlsched.core.objective import Objective
from dlsched.core.result import Certificate, Result, SolutionT, Violation
from dlsched.core.search import Search
from dlsched.core.status import Sense, TerminationStatus

if TYPE_CHECKING:
    import pulp


class Modelled(Protocol):
    """What a builder of a linear model returns."""

    @property
    def model(self) -> "pulp.LpProblem":
        """The linear model with named variables and rows."""

    @property
    def unit(self) -> float:
        """What one unit of the model's objective is worth in the instance's."""


def status_of_run(
    search: Search[SolutionT], infeasible: Callable[[], str | None], follow: Callable[[], TerminationStatus]
) -> TerminationStatus:
    """Run a method, unless counting proves infeasibility; return how it ended, errors and interrupts included."""
    try:
        reason = infeasible()
        if reason is not None:
            search.message = reason
            return TerminationStatus.INFEASIBLE
        status = follow()
    except Stopped as stopped:
        status = stopped.status
    except KeyboardInterrupt as interrupt:
        status = TerminationStatus.INTERRUPTED
        search.say(str(interrupt))
    except SolverError as error:
        status, search.message, search.failure = TerminationStatus.SOLVER_ERROR, str(error), type(error)
    except ImportError as error:
        raise import_failure(error) from None
    except MemoryError as error:
        status = TerminationStatus.MEMORY_LIMIT
        search.say(str(error) or "out of memory")
    final = status in (TerminationStatus.SOLVER_ERROR, TerminationStatus.INFEASIBLE)
    return TerminationStatus.OPTIMAL if search.proven and not final else status


InstanceT = TypeVar("InstanceT", bound=InstanceFile)
Run: TypeAlias = Callable[[InstanceT, Search[SolutionT]], TerminationStatus]
"""How a method runs: it takes an instance, hands findings to a ``Search``, and returns why it stopped."""


@dataclass(frozen=True)
class Guarantee(Generic[InstanceT]):
    """What a heuristic promises, in words and as data.

    ``holds_for``: whether the promise is made for an instance. ``worst`` takes an instance and its optimum, and returns the worst
    objective that keeps the promise.
    """

    words: str
    holds_for: Callable[[InstanceT], bool]
    worst: Callable[[InstanceT, float], float]


@dataclass(frozen=True)
class Method(Generic[InstanceT, SolutionT]):
    """One way to solve or bound instances of a family; never runs on those that counting proves infeasible.

    Parameters
    ----------
    name, kind
        As on the command line.
    run
        Takes an instance, hands its findings to a ``Search``, and returns why it stopped.
    guarantee
        A heuristic's promise, None when it has none.
    solvers, seeded
        Solvers that can serve, the default first; whether it draws from ``Search.generator``.
    warm
        For methods that improve on a start: offers an answer at once. With a limit of no time or no node,
        nothing else runs.
    require
        Raises ``UsageError`` for instances that the method refuses, if that is quickly seen; called first.
    for_some
        Whether it is made for the few instances that ``require`` takes: it runs on others only where it is named.
    searched
        Options of the space in which ``dlsched worst`` searches, where no preset is given.
    in_blocks
        Whether ``run`` takes a ``cluster`` whose workers hold the jobs.
    """

    name: str
    kind: Kind
    run: Run[InstanceT, SolutionT]
    guarantee: Guarantee[InstanceT] | None = None
    solvers: tuple[str, ...] = ()
    seeded: bool = False
    warm: Callable[[InstanceT, Search[SolutionT]], None] | None = None
    require: Callable[[InstanceT], None] | None = None
    for_some: bool = False
    searched: Mapping[str, Value] = field(default_factory=dict)
    in_blocks: bool = False

    @property
    def promise(self) -> str:
        """The guarantee in words."""
        words = {"exact": "proven optimum", "bound": "proven bound, with certificate"}
        return words.get(self.kind, "none" if self.guarantee is None else self.guarantee.words)

    def runs_unasked(self, instance: InstanceT) -> bool:
        """Whether it runs on an instance where no method is named."""
        if not self.for_some or self.require is None:
            return True
        try:
            self.require(instance)
        except UsageError:
            return False
        return True

    def follow(self, instance: InstanceT, search: Search[SolutionT]) -> TerminationStatus:
        """Run the method, beginning with the user's start if there is one (Stopped: a limit; UsageError: it refuses)."""
        if self.require is not None:
            self.require(instance)
        if self.warm is not None:
            search.offer(search.start, source="start")
            if search.budget.none_at_all:
                self.warm(instance, search)
                search.tick(1)
        return self.run(instance, search)


@dataclass(frozen=True, kw_only=True)
class Family(Generic[InstanceT, SolutionT]):
    """The rooms of a family, as functions.

    Parameters
    ----------
    name, summary
        Name as in file formats, and one sentence.
    objectives, objective_of
        The records of its objectives, and which one is an instance's; None: all have the first.
    instance, read_solution
        The instance class, and the reader of a result file's ``solution`` (raises ``InputError``).
    objective, check, infeasible
        The checker: objective and violations of a solution, and a sentence that proves infeasibility by counting.
    methods, aliases, cross_check
        Every method by name (``exact`` first), further names for some of them, and the method that
        ``--cross-check`` runs with a second solver.
    best_bound, formulations
        The bound method that ``dlsched bound`` runs; builders of linear models by name, for ``dlsched export``.
    verify
        Exact value of a certificate; raises ``ValueError`` if the certificate belongs to another instance.
    presets, generate, example, options
        Presets, the generator of random instances, and the example instance; arguments of ``generate`` besides ``preset``,
        ``jobs``, ``gpus``, ``max_gpus``, ``seed``, for the command line.
    gpus, constant
        An instance's number of GPUs (units, workers, nodes); the part of its objective that no solution changes.
    figures, draw
        Further figures of a feasible solution, by name. Draws answers, each with a label, into a file of some width in inches;
        raises ``ValueError`` for what cannot be drawn.
    simulate, stream
        ``simulate`` runs a user's policy and calls ``step`` now and then; ``stream`` makes an instance of
        another family, in which the jobs arrive over time. None: the family has no such function.
    case
        Target (``package.module:NAME``) of the ``dlsched.testing.cases.Case`` that tests take instances from; empty: none.
    space, space_of
        Options of the space of worst instances, beside those of all families, and the target of its function, from these to a
        ``dlsched.worst.spaces.Space``; None: ``dlsched worst`` cannot search.
    """

    name: str
    summary: str
    objectives: Sequence[Objective[InstanceT, SolutionT]]
    instance: type[InstanceT]
    read_solution: Callable[[object, InstanceT], SolutionT]
    objective: Callable[[InstanceT, SolutionT], float]
    check: Callable[[InstanceT, SolutionT], Sequence[Violation]]
    infeasible: Callable[[InstanceT], str | None]
    methods: Mapping[str, Method[InstanceT, SolutionT]]
    cross_check: str
    best_bound: str
    formulations: Mapping[str, Callable[[InstanceT], Modelled]]
    verify: Callable[[InstanceT, Certificate], Fraction]
    presets: Mapping[str, str]
    generate: Callable[..., InstanceT]
    example: Callable[[], InstanceT]
    gpus: Callable[[InstanceT], int | None] = field(default=lambda instance: None)
    constant: Callable[[InstanceT], float] = field(default=lambda instance: 0.0)
    aliases: Mapping[str, str] = field(default_factory=dict)
    objective_of: Callable[[InstanceT], Objective[InstanceT, SolutionT]] | None = None
    figures: Callable[[InstanceT, SolutionT], dict[str, float]] = field(default=lambda instance, solution: {})
    options: Mapping[str, Option] = field(default_factory=dict)
    draw: Callable[[InstanceT, Sequence[tuple[str, SolutionT]], Path, float], Path] | None = None
    simulate: Callable[..., SolutionT] | None = None
    stream: Callable[..., InstanceFile] | None = None
    case: str = ""
    space: Mapping[str, Option] | None = None
    space_of: str = ""

    @property
    def sense(self) -> Sense:
        """Whether the first objective is minimised or maximised."""
        return self.objectives[0].sense

    @property
    def unit(self) -> str:
        """Unit of the first objective."""
        return self.objectives[0].unit

    def objective_for(self, instance: InstanceT) -> Objective[InstanceT, SolutionT]:
        """Return the objective of an instance."""
        return self.objectives[0] if self.objective_of is None else self.objective_of(instance)

    def objective_named(self, name: str) -> Objective[InstanceT, SolutionT]:
        """Return the objective of that name, or whose name a number follows in it, as in ``alpha_fair 2``; else the first."""
        bare = name.rpartition(" ")[0]
        return next(
            (each for wanted in (name, bare) for each in self.objectives if each.name == wanted), self.objectives[0]
        )

    def sense_for(self, instance: InstanceT) -> Sense:
        """Whether the objective of an instance is minimised or maximised."""
        return self.objective_for(instance).sense

    def unit_for(self, instance: InstanceT) -> str:
        """Unit of the objective of an instance."""
        return self.objective_for(instance).unit

    def method(self, name: str) -> Method[InstanceT, SolutionT]:
        """Return the method of that name; UsageError: there is none, and the message lists the methods."""
        name = self.aliases.get(name, name)
        if name not in self.methods:
            raise UsageError(where="method", found=repr(name), allowed=", ".join(self.methods))
        return self.methods[name]

    def solve(
        self,
        instance: InstanceT,
        *,
        method: str | Method[InstanceT, SolutionT] = "exact",
        limits: Limits | None = None,
        seed: int = 0,
        solver: str | None = None,
        start: SolutionT | Result[SolutionT] | None = None,
        progress: ProgressCallback | None = None,
        time_limit: float | None = None,
        verbose: bool = False,
    ) -> Result[SolutionT]:
        """Run a method; a limit, Ctrl-C or a solver's failure ends it with its best answer. See ``solve``."""
        chosen = method if isinstance(method, Method) else self.method(method)
        if solver is not None and solver not in chosen.solvers:
            allowed = ", ".join(chosen.solvers) or "none, it needs no solver"
            raise UsageError(where=f"solver of method {chosen.name}", found=repr(solver), allowed=allowed)
        title = f"{instance.name}, {chosen.name}"
        with watched(limits, progress, time_limit=time_limit, verbose=verbose, what=title) as watch:
            search = self._search(instance, title, watch[0], seed, solver, start, watch[1])
            LOGGER.debug("%s: %s, limits %s", self.name, title, search.budget.limits.as_data())
            status = status_of_run(search, partial(self.infeasible, instance), partial(chosen.follow, instance, search))
            LOGGER.debug("%s: %s after %.3f s", title, status, search.budget.elapsed_s)
        return Result(
            family=self.name,
            instance=instance,
            method=chosen.name,
            status=status,
            sense=search.sense,
            objective=search.objective,
            constant=search.constant,
            bound=search.bound,
            bound_source=search.bound_source,
            runtime_s=search.budget.elapsed_s if search.called_s is None else search.called_s,
            solver=search.solver_version,
            seed=seed if chosen.seeded else None,
            limits=search.budget.limits,
            certificate=search.certificate,
            solution=search.solution,
            figures={} if search.solution is None else self.figures(instance, search.solution),
            message=search.message,
            failure=search.failure,
            of_model=search.of_model,
        )

    def _search(
        self,
        instance: InstanceT,
        title: str,
        limits: Limits,
        seed: int,
        solver: str | None,
        start: SolutionT | Result[SolutionT] | None,
        progress: ProgressCallback | None,
    ) -> Search[SolutionT]:
        """Refuse invalid arguments, and start the clock."""
        require_seed(seed)
        start = self.start_of(instance, start)
        return Search[SolutionT](
            objective=partial(self.objective, instance),
            check=partial(self.check, instance),
            sense=self.sense_for(instance),
            constant=self.constant(instance),
            limits=limits,
            seed=seed,
            solver=solver,
            start=start,
            progress=progress,
            name=title,
        )

    def violations(self, instance: InstanceT, solution: SolutionT, where: str) -> list[Violation]:
        """Check a solution that a user gave; UsageError: it is of another family."""
        try:
            return list(self.check(instance, solution))
        except (AttributeError, TypeError, KeyError):
            try:
                self.read_solution(solution.as_data(), instance)
            except (InputError, AttributeError):
                found, allowed = type(solution).__name__, f"a solution of {self.name}"
                raise UsageError(where=where, found=found, allowed=allowed) from None
            raise

    def start_of(self, instance: InstanceT, start: SolutionT | Result[SolutionT] | None) -> SolutionT | None:
        """Return the solution that a user gave to start from; UsageError: it is none of the family, or infeasible."""
        start = start.solution if isinstance(start, Result) else start
        if start is None:
            return None
        if not hasattr(start, "as_data"):
            raise UsageError(where="start", found=type(start).__name__, allowed="a solution or a result of the family")
        violations = self.violations(instance, start, "start")
        if violations:
            raise UsageError(where="start", found=f"a solution that breaks {violations[0]}", allowed="a feasible one")
        return start


AnyMethod: TypeAlias = Method[Any, Any]
AnyFamily: TypeAlias = Family[Any, Any]
"""A family whose types are not known statically, as where the command line looks it up by name."""


Way = Callable[[str, Callable[..., Any]], Run[InstanceT, SolutionT]]
"""Takes a name and a plain function, returns how the method runs."""


def methods_of(
    listed: ListedFamily,
    *,
    heuristic: Way[InstanceT, SolutionT],
    bound: Way[InstanceT, SolutionT] | None = None,
) -> dict[str, Method[InstanceT, SolutionT]]:
    """Make the methods of a family, by name; ``heuristic`` and ``bound`` wrap its plain functions."""
    ways = {"heuristic": heuristic, "bound": bound}
    functions = dict([*listed.functions("heuristic"), *listed.functions("bound")])

    def run_of(method: ListedMethod) -> Run[InstanceT, SolutionT]:
        way = ways.get(method.kind)
        if method.run or way is None:
            run: Run[InstanceT, SolutionT] = listed.load(method.run)
            return run
        return way(method.name, functions[method.name])

    return {
        method.name: Method(
            method.name,
            method.kind,
            run_of(method),
            listed.load(method.guarantee) if method.guarantee else None,
            solvers=method.solvers,
            seeded=method.seeded,
            warm=listed.load(method.warm) if method.warm else None,
            require=listed.load(method.require) if method.require else None,
            for_some=method.for_some,
            searched=method.searched,
            in_blocks=method.in_blocks,
        )
        for method in listed.methods
    }


def heuristic(
    name: str,
    function: Callable[..., SolutionT | None],
    quick: Callable[[InstanceT], SolutionT | None] | None = None,
    *,
    early: bool = False,
) -> Run[InstanceT, SolutionT]:
    """Run a plain heuristic as a method; a ``PolicyError`` becomes the message of a result without a solution.

    A function with a parameter ``tick`` gets ``Search.tick``, which stops it at a limit; the search then
    holds the answer of ``quick``, a faster heuristic. One with a parameter ``step`` gets ``Search.report``. ``early``: with a
    limit of time, ``quick`` runs first, since it too takes a while on large instances.
    """
    known = inspect.signature(function).parameters

    def run(instance: InstanceT, search: Search[SolutionT]) -> TerminationStatus:
        called = {"tick": search.tick, "step": search.report}
        instead = quick(instance) if quick is not None and early and search.budget.limits.time_s is not None else None
        try:
            found = function(instance, **{name: each for name, each in called.items() if name in known})
        except PolicyError as error:
            search.message = str(error)
            return TerminationStatus.NO_SOLUTION
        except (Stopped, KeyboardInterrupt):
            instead = quick(instance) if quick is not None and instead is None else instead
            if instead is not None:
                search.offer(instead, source=name)
                search.say(f"{name} was stopped; the answer is that of a faster rule")
            raise
        if found is None:
            return TerminationStatus.NO_SOLUTION
        search.offer(found, source=name)
        return TerminationStatus.FEASIBLE

    return run


def bound_by(function: Callable[[InstanceT, Search[SolutionT]], Certificate]) -> Run[InstanceT, SolutionT]:
    """Wrap a function that returns a certificate as a method."""

    def run(instance: InstanceT, search: Search[SolutionT]) -> TerminationStatus:
        certificate = function(instance, search)
        search.prove(certificate.value, source="certificate", certificate=certificate)
        return TerminationStatus.FEASIBLE

    return run


def bound_in_ticks(name: str, function: Callable[..., Certificate]) -> Run[InstanceT, SolutionT]:
    """Wrap a bound that calls ``tick``, and so stops at limits, as a method."""
    return bound_by(lambda instance, search: function(instance, tick=search.tick))
