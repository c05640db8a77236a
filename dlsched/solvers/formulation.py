"""The record of a formulation: a model for a solver, how its values are decoded, and what its variables mean.

A ``Parametric`` builder makes models that depend on parameters: a proof names them, and its checker builds the same model.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import FrozenInstanceError, dataclass, field, replace
from fractions import Fraction
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

from dlsched.core.errors import InputError, UsageError
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits, ProgressCallback
from dlsched.core.objective import Late
from dlsched.core.result import Result, Solution, SolutionT
from dlsched.core.status import Sense
from dlsched.solvers.outcome import Incumbent

if TYPE_CHECKING:
    import pulp

    Value: TypeAlias = pulp.LpVariable | pulp.LpAffineExpression

Key = str | tuple[str | int, ...]
AnyKey: TypeAlias = Any
Decided = Mapping[str, Mapping[AnyKey, float]]
"""Values by kind and key of ``Variables``."""

ModelT = TypeVar("ModelT")
AnswerT = TypeVar("AnswerT")
BuilderT = TypeVar("BuilderT", bound=Callable[..., object])

_SHOWN = 12  # keys that a message lists


class UnknownChoiceError(UsageError, KeyError):
    """A key that a mapping of variables does not have; also a ``KeyError``, so that ``in`` and ``get`` work."""

    __str__ = Exception.__str__


class Choices(Mapping[AnyKey, "Value"]):
    """Variables of a PuLP model, or affine expressions of them, by what they decide: a name, or a tuple of names and numbers.

    A choice that no solution has may be absent. A missing key raises UsageError, whose message lists the keys.
    """

    def __init__(self, name: str, values: "Mapping[Key, Value]") -> None:
        self._name, self._values = name, dict(values)

    def __getitem__(self, key: Key) -> "Value":
        try:
            return self._values[key]
        except (KeyError, TypeError):  # a TypeError: a list and the like
            raise self._unknown(key) from None

    def __iter__(self) -> Iterator[Key]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<variables.{self._name}: {len(self)}>"

    def _unknown(self, key: object) -> UnknownChoiceError:
        """Name keys that begin as the wrong one does, if there are any, else the first."""
        parts = key if isinstance(key, tuple) else (key,)
        keys = list(self._values)
        for place, part in enumerate(parts):
            near: list[Key] = [each for each in keys if isinstance(each, tuple) and each[place : place + 1] == (part,)]
            if not near:
                break
            keys = near
        more = f", ... ({len(keys)} in all)" if len(keys) > _SHOWN else ""
        allowed = (", ".join(map(repr, keys[:_SHOWN])) or "none") + more
        return UnknownChoiceError(where=f"variables.{self._name}", found=repr(key), allowed=allowed)


class Variables(Mapping[str, Choices]):
    """What a model decides, one mapping for each kind of decision: ``variables.gpus["a", 2]``, ``variables["gpus"]``.

    A kind that the model does not have raises AttributeError or UsageError, whose message lists the kinds.
    """

    def __init__(self, **kinds: "Mapping[Key, Value]") -> None:
        self._kinds = {name: Choices(name, values) for name, values in kinds.items()}

    def __getattr__(self, name: str) -> Choices:
        kinds: dict[str, Choices] = self.__dict__.get("_kinds", {})
        if name not in kinds:
            raise AttributeError(f"there are no variables {name!r}, there are: {', '.join(kinds) or 'none'}")
        return kinds[name]

    def __getitem__(self, name: str) -> Choices:
        if name not in self._kinds:
            raise UnknownChoiceError(where="variables", found=repr(name), allowed=", ".join(self._kinds) or "none")
        return self._kinds[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._kinds]

    def __repr__(self) -> str:
        return f"Variables({', '.join(map(repr, self._kinds.values()))})"


@dataclass(frozen=True)
class Origin:
    """How a formulation was built, so that its model can be solved after a user has extended it."""

    name: str
    """Name of the formulation in its family."""
    instance: InstanceFile
    complete: bool
    """Whether every solution of the instance, up to what the builder's docstring says, is a point of the model."""
    build: Callable[[], object]
    """Builds the formulation anew, without what was added."""


@dataclass(eq=False)
class Formulation(Generic[ModelT, AnswerT]):
    """A model of an instance, as every builder returns it.

    Parameters
    ----------
    model
        The model for its solver: a PuLP ``LpProblem``, a ``LinearModel``, a Pyomo, CP-SAT or
        ``IntervalModel``. Rows may be added to a PuLP model, and its objective replaced.
    decode
        Turns values of variables, by name, into a solution, or the part of one that the model decides.
    unit, constant
        The objective of the instance is ``unit`` times that of the model, plus ``constant``.
    start
        Values by name of a solution to start from.
    limit, parameters
        Objective of the instance up to which every solution is in the model, None: all are; and what ``Parametric`` builders
        make the same model of.
    variables, chosen
        What the variables of a PuLP model mean; and what a solution decides, so that it is a start of the model: values by key
        of some mappings of ``variables``, in which all other keys are 0.
    origin
        How it was built; None for models that are not extended.
    horizon_s
        The time by which all jobs end in the solutions that a complete model holds; None: it has no horizon.
    """

    model: ModelT
    decode: Callable[[Incumbent], AnswerT]
    unit: float = 1.0
    constant: float = 0.0
    start: Incumbent | None = None
    limit: float | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    variables: Variables = field(default_factory=Variables)
    chosen: Callable[[AnswerT], Decided] | None = None
    origin: Origin | None = None
    horizon_s: float | None = None

    def __setattr__(self, name: str, value: object) -> None:
        """Set a field once. ``formulation.model += row`` passes, as PuLP ends it by assigning the same model."""
        if name in self.__dict__ and self.__dict__[name] is not value:
            raise FrozenInstanceError(f"{name} of a formulation cannot be replaced; its model can be extended")
        object.__setattr__(self, name, value)

    def solve(
        self: "Formulation[pulp.LpProblem, SolutionT]",
        *,
        solver: str = "highs",
        start: SolutionT | Result[SolutionT] | None = None,
        limits: Limits | None = None,
        time_limit: float | None = None,
        progress: ProgressCallback | None = None,
        verbose: bool = False,
    ) -> Result[SolutionT]:
        """Solve the model as it is now, with the rows and the objective that were added to it.

        Parameters
        ----------
        solver
            A solver of linear models; ``cpsat`` takes those of bounded whole variables whose rows are whole numbers, some
            power of two up to 2**20 times.
        start
            A solution or a result to start from, which keeps all rows, those added too. It is held whether or not the
            solver takes it: the answer is no worse.
        limits, time_limit, progress, verbose
            As in ``dlsched.solve``.

        Returns
        -------
        A ``Result``, whose solution and objective are judged by the instance's checker. Status and bound are those of the
        model: with rows added, ``infeasible`` and ``optimal`` say nothing of the instance without them. If the objective was
        changed into a multiple of the instance's own, or is maximised in place of minimised, the bound is in the instance's
        units, and ``sense`` says which side is better. Of any other objective there is no bound, and the message says what was
        proven of the model's own; where that has no end the status is ``unbounded``.

        Raises
        ------
        UsageError
            The model was changed though it was not built with ``complete=True``; rows that it was built with are gone or changed,
            other than by tighter sides; it has two variables of one name, or special ordered sets; the solver does not take it;
            the start breaks a row; or another argument is wrong.
        SolverMissingError
            The solver is not installed.
        """
        solved: Late[Result[SolutionT]] = Late("modelling:solve_formulation")
        return solved(
            self, solver=solver, start=start, limits=limits, time_limit=time_limit, progress=progress, verbose=verbose
        )


def extendable(name: str) -> Callable[[BuilderT], BuilderT]:
    """Give every formulation that a builder returns its origin, under the ``name`` it has in its family."""

    def wrapped(build: BuilderT) -> BuilderT:
        @wraps(build)
        def built(instance: InstanceFile, *args: object, **options: object) -> object:
            formulation = build(instance, *args, **options)
            assert isinstance(formulation, Formulation)
            again = partial(build, instance, *args, **options)
            return replace(formulation, origin=Origin(name, instance, bool(options.get("complete")), again))

        return cast(BuilderT, built)

    return wrapped


AnyModel: TypeAlias = Formulation[object, Solution]


@dataclass(frozen=True)
class Parametric(Generic[ModelT, AnswerT]):
    """A builder that finds parameters of its model, or takes them as keywords, in words: ``Formulation.parameters``.

    Whatever they are, every solution up to ``Formulation.limit`` is in the model. ``names`` are those of the parameters.
    """

    build: Callable[..., Formulation[ModelT, AnswerT]]
    names: tuple[str, ...]

    def __call__(self, instance: object, *, complete: bool = False, **parameters: str) -> Formulation[ModelT, AnswerT]:
        """Build the model; missing parameters are computed. ``complete``: with all solutions, so without any."""
        if complete and parameters:
            raise UsageError(where="complete", found="with " + ", ".join(parameters), allowed="without parameters")
        return self.build(instance, complete=True) if complete else self.build(instance, **parameters)


def rebuilt(build: Callable[..., object], instance: object, comments: Mapping[str, str], name: str) -> AnyModel:
    """Build the model of a proof from the instance and the parameters among the comments of the file ``name`` (InputError)."""
    if not isinstance(build, Parametric):
        return cast(AnyModel, build(instance))
    missing = [parameter for parameter in build.names if parameter not in comments]
    if missing:
        raise InputError(where=name, found=f"no comment {missing[0]}", allowed=f"comments {', '.join(build.names)}")
    try:
        built = build.build(instance, **{parameter: comments[parameter] for parameter in build.names})
        return cast(AnyModel, built)
    except UsageError as error:
        raise InputError(f"{name}: {error}") from None


def bound_of_all(bound: Fraction | None, limit: float | None, sense: Sense, *, infeasible: bool) -> Fraction | None:
    """Return the bound on all solutions that follows from a bound on those in a model, or from there being none.

    Solutions beyond the limit may be missing in the model: the optimum is the model's, or not better than the limit.

    >>> bound_of_all(Fraction(7), 5.0, Sense.MINIMIZE, infeasible=False)
    Fraction(5, 1)
    """
    if limit is None or (bound is None and not infeasible):
        return bound
    beyond = Fraction(limit)
    return beyond if bound is None else (min if sense is Sense.MINIMIZE else max)(bound, beyond)
