"""``solve`` and ``bound``: any method, or one of the user's own, on an instance of any family."""

import os
from typing import TYPE_CHECKING, TypedDict, Unpack, overload

from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits, ProgressCallback
from dlsched.core.result import Result, Solution
from dlsched.families import family_of, read_or_same
from dlsched.method_choice import MethodLike, method_of

if TYPE_CHECKING:
    from dlsched import async_sgd, elastic_stream, matching_placement, ring_allocation, ring_embedding, srpt_mapping


class Bounding(TypedDict, total=False):
    """Arguments of ``bound`` by name."""

    limits: Limits | None
    time_limit: float | None
    progress: ProgressCallback | None
    verbose: bool


class Solving(Bounding, total=False):
    """Arguments of ``solve`` by name."""

    method: MethodLike
    seed: int
    solver: str | None
    start: Solution | Result[Solution] | None


@overload
def solve(instance: "ring_allocation.Instance", **given: Unpack[Solving]) -> "Result[ring_allocation.Allocation]": ...
@overload
def solve(instance: "elastic_stream.Instance", **given: Unpack[Solving]) -> "Result[elastic_stream.Stream]": ...
@overload
def solve(
    instance: "matching_placement.Instance", **given: Unpack[Solving]
) -> "Result[matching_placement.Placement]": ...
@overload
def solve(instance: "srpt_mapping.Instance", **given: Unpack[Solving]) -> "Result[srpt_mapping.Schedule]": ...
@overload
def solve(instance: "ring_embedding.Instance", **given: Unpack[Solving]) -> "Result[ring_embedding.Embedding]": ...
@overload
def solve(instance: "async_sgd.Instance", **given: Unpack[Solving]) -> "Result[async_sgd.Allocation]": ...
@overload
def solve(instance: InstanceFile | str | os.PathLike[str], **given: Unpack[Solving]) -> Result[Solution]: ...


def solve(
    instance: InstanceFile | str | os.PathLike[str],
    *,
    method: MethodLike = "exact",
    limits: Limits | None = None,
    seed: int = 0,
    solver: str | None = None,
    start: Solution | Result[Solution] | None = None,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
    verbose: bool = False,
) -> Result[Solution]:
    """Solve an instance of any family.

    Parameters
    ----------
    instance
        As ``read`` returns it, or the path of its file; it is not changed.
    method
        A name from ``dlsched methods``; ``exact`` is the family's best exact method. Or your own: a function of an
        instance, a policy or its class, ``"file.py:function"``, or a ``Method``.
    limits
        Time, nodes and threads; none by default.
    seed
        Of every random draw.
    solver
        Solver to use, for methods that call one.
    start
        A feasible solution to start from.
    time_limit
        Seconds, instead of ``limits``.
    progress
        Called with a ``Progress`` now and then.
    verbose
        Print a line a second on standard error: incumbent, bound, gap, and whence they come.

    Returns
    -------
    A ``Result``; infeasibility, a limit, Ctrl-C and a failing solver are statuses of it, not exceptions.

    Raises
    ------
    UsageError, SolverMissingError
        The call cannot be carried out as asked.
    InstanceError
        The file holds no valid instance.
    """
    instance = read_or_same(instance)
    family = family_of(instance)
    return family.solve(
        instance,
        method=method_of(family, method),
        limits=limits,
        seed=seed,
        solver=solver,
        start=start,
        time_limit=time_limit,
        progress=progress,
        verbose=verbose,
    )


@overload
def bound(instance: "ring_allocation.Instance", **given: Unpack[Bounding]) -> "Result[ring_allocation.Allocation]": ...
@overload
def bound(instance: "elastic_stream.Instance", **given: Unpack[Bounding]) -> "Result[elastic_stream.Stream]": ...
@overload
def bound(
    instance: "matching_placement.Instance", **given: Unpack[Bounding]
) -> "Result[matching_placement.Placement]": ...
@overload
def bound(instance: "srpt_mapping.Instance", **given: Unpack[Bounding]) -> "Result[srpt_mapping.Schedule]": ...
@overload
def bound(instance: "ring_embedding.Instance", **given: Unpack[Bounding]) -> "Result[ring_embedding.Embedding]": ...
@overload
def bound(instance: "async_sgd.Instance", **given: Unpack[Bounding]) -> "Result[async_sgd.Allocation]": ...
@overload
def bound(instance: InstanceFile | str | os.PathLike[str], **given: Unpack[Bounding]) -> Result[Solution]: ...


def bound(
    instance: InstanceFile | str | os.PathLike[str],
    *,
    limits: Limits | None = None,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
    verbose: bool = False,
) -> Result[Solution]:
    """Return the best bound of an instance that is proven without solving it, with its certificate.

    Parameters
    ----------
    instance
        As ``read`` returns it, or the path of its file.
    limits, time_limit
        When to stop; seconds, instead of ``limits``.
    progress, verbose
        Called now and then; whether to print a line a second on standard error.

    Raises
    ------
    UsageError, SolverMissingError
        The call cannot be carried out as asked.
    InstanceError
        The file holds no valid instance.

    >>> import dlsched
    >>> result = dlsched.bound(dlsched.ring_allocation.example())
    >>> result.bound == result.certificate.value
    True
    """
    instance = read_or_same(instance)
    family = family_of(instance)
    return family.solve(
        instance, method=family.best_bound, limits=limits, time_limit=time_limit, progress=progress, verbose=verbose
    )
