"""``solve`` and ``bound``, and the choice of a method: one of the family by name, or a user-defined one.

Under a time limit a user-defined method runs in a contained process, which is killed at the limit.
"""

import contextlib
import functools
import itertools
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, TypeAlias, TypedDict, Unpack, cast, overload

from dlsched.core.arguments import Decider, callable_of, file_of, kind_of, require_engine
from dlsched.core.errors import UsageError
from dlsched.core.family import AnyFamily, AnyMethod, Method
from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits, ProgressCallback
from dlsched.core.result import Result, Solution
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.families import FAMILIES, family_of, read, read_or_same, require_own
from dlsched.own_methods import find_method_of_user, handed, import_of_user, runner, session_text

if TYPE_CHECKING:
    from dlsched import async_sgd, elastic_stream, matching_placement, ring_allocation, ring_embedding, srpt_mapping


GRACE_S = 0.1
"""Seconds past its limit after which a function is killed; within them, one that calls ``tick`` ends by itself."""

_Asked: TypeAlias = tuple[str, str, str, str, int]
"""Family, name, what the process imports, folder, and a number, so that it imports anew what is imported anew here."""

_numbers = itertools.count()


MethodLike: TypeAlias = str | AnyMethod | Callable[..., object] | Decider
"""A method of a family: its name, ``file.py:function``, a record, a function, a policy class, or a policy."""


def method_of(family: AnyFamily, method: MethodLike) -> AnyMethod:
    """Return what is meant by a method, whichever way it is given; UsageError: there is none, or nothing that answers."""
    if isinstance(method, Method):
        require_own(family, method)
        return method
    if isinstance(method, str):
        return method_named(family, method)
    thing = callable_of(method)
    kind = kind_of(thing)
    own = getattr(kind, "__qualname__", type(kind).__qualname__).rpartition(".")[2]
    home = getattr(kind, "__module__", None) or type(kind).__module__
    text = f"{home}:{re.sub(r'[^0-9A-Za-z_]+', '', own) or 'function'}"
    run = runner(family, text, thing, {}, file_of(kind), in_program=True)
    return _stoppable(family, Method(text, "heuristic", run, seeded="seed" in handed(thing)), text, thing)


def method_named(family: AnyFamily, text: str) -> AnyMethod:
    """Return a method of the family by its name, or one of the user's own, which has a colon (UsageError: there is none)."""
    return _stoppable(family, find_method_of_user(family, text), text) if ":" in text else family.method(text)


def _stoppable(
    family: AnyFamily, method: AnyMethod, text: str, thing: Callable[..., object] | None = None
) -> AnyMethod:
    """Have a method run in a process of its own whenever the time is limited.

    ``text``: its name, for messages. ``thing``: what it calls, which cloudpickle sends to the process; None: what the process
    imports by ``text``.
    """
    folder, number = os.getcwd(), next(_numbers)

    def run(instance: InstanceFile, search: Search[Solution]) -> TerminationStatus:
        limits = search.budget.limits
        if limits.time_s is None:
            return method.run(instance, search)
        search.tick()
        from dlsched.results.answers import judge  # both needed for users' methods alone
        from dlsched.solvers.child import FUNCTION, OutOfTime, call

        in_process = functools.partial(call, of=FUNCTION, waiting=lambda: search.report(f"{text} runs"))
        try:
            asked: _Asked = (family.name, text, text if thing is None else session_text(thing), folder, number)
            in_process(f"{__name__}:prepare", asked, time_s=None)
        except UsageError as error:
            search.say(f"ran without a limit: {error.found or error}")
            return method.run(instance, search)
        began = perf_counter()
        try:
            status, message, answer, search.called_s = in_process(
                f"{__name__}:solve_in_process",
                asked,
                instance,
                limits,
                search.seed,
                time_s=limits.time_s,
                grace_s=GRACE_S,
            )
        except OutOfTime:
            search.called_s = perf_counter() - began
            search.say(f"killed at its limit of {limits.time_s:g} s")
            return TerminationStatus.TIME_LIMIT
        search.say(message)
        return TerminationStatus(status) if answer is None else judge(answer, family, instance, search, text)

    return replace(method, run=run)


def prepare(asked: _Asked) -> None:
    """Import a method in the process, before its time begins."""
    _imported(asked)


def solve_in_process(asked: _Asked, instance: InstanceFile, limits: Limits, seed: int) -> tuple[str, str, Json, float]:
    """Run a method in the process; return status, message, the data of its solution, and the seconds of its call."""
    result = FAMILIES[asked[0]].solve(instance, method=_imported(asked), limits=limits, seed=seed)
    answer = None if result.solution is None else result.solution.as_data()
    return str(result.status), result.message, answer, result.runtime_s


@functools.lru_cache(maxsize=16)
def _imported(asked: _Asked) -> AnyMethod:
    family, text, imported, folder, _ = asked
    thing, file = import_of_user(imported, folder)
    return Method(text, "heuristic", runner(FAMILIES[family], text, thing, {}, file))


def on_engine(method: AnyMethod, engine: str, workers: int | None, scheduler: str | None) -> AnyMethod:
    """Have a method run where it is asked to; UsageError: it cannot run there, or there is no such engine or number."""
    require_engine(workers, engine, scheduler)
    if engine == "local":
        if workers is not None:
            raise UsageError(where="workers", found=repr(workers), allowed="only with engine dask")
        return method
    if not method.in_blocks:
        allowed = "methods that add up blocks of jobs: lagrange of ring_allocation"
        raise UsageError(where="engine", found=f"{engine!r} with method {method.name}", allowed=allowed)
    from dlsched.processes.dask_blocks import Cluster

    cluster = Cluster(workers or os.cpu_count() or 1, scheduler)
    run: Callable[..., TerminationStatus] = method.run
    return replace(method, run=functools.partial(run, cluster=cluster))


@contextlib.contextmanager
def placed(path: str, engine: str, workers: int | None, scheduler: str | None) -> Iterator[InstanceFile]:
    """Read an instance; with engine ``dask``, workers read the jobs of a large file, and hold them until the block ends."""
    if engine != "dask":
        yield read(path)
        return
    require_engine(workers, engine, scheduler)
    from dlsched.afar import read_in_blocks
    from dlsched.processes.dask_blocks import Cluster

    with read_in_blocks(path, Cluster(workers or os.cpu_count() or 1, scheduler)) as instance:
        yield cast(InstanceFile, instance)  # or what stands for one


class Bounding(TypedDict, total=False):
    """Arguments of ``bound`` by name."""

    limits: Limits | None
    time_limit: float | None
    progress: ProgressCallback | None
    verbose: bool
    engine: str
    workers: int | None
    scheduler: str | None


class Solving(Bounding, total=False):
    """Arguments of ``solve`` by name."""

    method: MethodLike
    seed: int
    solver: str | None
    start: Solution | Result[Solution] | None


@overload
def solve(instance: "ring_allocation.Instance", **named: Unpack[Solving]) -> "Result[ring_allocation.Allocation]": ...
@overload
def solve(instance: "elastic_stream.Instance", **named: Unpack[Solving]) -> "Result[elastic_stream.Stream]": ...
@overload
def solve(
    instance: "matching_placement.Instance", **named: Unpack[Solving]
) -> "Result[matching_placement.Placement]": ...
@overload
def solve(instance: "srpt_mapping.Instance", **named: Unpack[Solving]) -> "Result[srpt_mapping.Schedule]": ...
@overload
def solve(instance: "ring_embedding.Instance", **named: Unpack[Solving]) -> "Result[ring_embedding.Embedding]": ...
@overload
def solve(instance: "async_sgd.Instance", **named: Unpack[Solving]) -> "Result[async_sgd.Allocation]": ...
@overload
def solve(instance: InstanceFile | str | os.PathLike[str], **named: Unpack[Solving]) -> Result[Solution]: ...


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
    engine: str = "local",
    workers: int | None = None,
    scheduler: str | None = None,
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
    engine
        ``local``, in this process, or ``dask``: on a cluster, for methods that add up blocks of jobs (``lagrange`` of
        ``ring_allocation``). The certificate is the same to the bit.
    workers, scheduler
        Of engine ``dask``: the address of its scheduler, or else the number of workers that are started on this machine, by
        default one for each processor.

    Returns
    -------
    A ``Result``; infeasibility, a limit, Ctrl-C and a failing solver are statuses of it, not exceptions.

    Raises
    ------
    UsageError, SolverMissingError
        The call cannot be carried out as asked.
    InstanceError
        The file holds no valid instance.
    InputError
        No scheduler answers.
    """
    instance = read_or_same(instance)
    family = family_of(instance)
    return family.solve(
        instance,
        method=on_engine(method_of(family, method), engine, workers, scheduler),
        limits=limits,
        seed=seed,
        solver=solver,
        start=start,
        time_limit=time_limit,
        progress=progress,
        verbose=verbose,
    )


@overload
def bound(instance: "ring_allocation.Instance", **named: Unpack[Bounding]) -> "Result[ring_allocation.Allocation]": ...
@overload
def bound(instance: "elastic_stream.Instance", **named: Unpack[Bounding]) -> "Result[elastic_stream.Stream]": ...
@overload
def bound(
    instance: "matching_placement.Instance", **named: Unpack[Bounding]
) -> "Result[matching_placement.Placement]": ...
@overload
def bound(instance: "srpt_mapping.Instance", **named: Unpack[Bounding]) -> "Result[srpt_mapping.Schedule]": ...
@overload
def bound(instance: "ring_embedding.Instance", **named: Unpack[Bounding]) -> "Result[ring_embedding.Embedding]": ...
@overload
def bound(instance: "async_sgd.Instance", **named: Unpack[Bounding]) -> "Result[async_sgd.Allocation]": ...
@overload
def bound(instance: InstanceFile | str | os.PathLike[str], **named: Unpack[Bounding]) -> Result[Solution]: ...


def bound(
    instance: InstanceFile | str | os.PathLike[str],
    *,
    limits: Limits | None = None,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
    verbose: bool = False,
    engine: str = "local",
    workers: int | None = None,
    scheduler: str | None = None,
) -> Result[Solution]:
    """Return the best bound of an instance that is proven without solving it, with its certificate.

    Parameters
    ----------
    instance, limits, time_limit, progress, verbose, engine, workers, scheduler
        As in ``solve``.

    Raises
    ------
    UsageError, SolverMissingError, InstanceError, InputError
        As ``solve`` does.

    >>> import dlsched
    >>> result = dlsched.bound(dlsched.ring_allocation.example())
    >>> result.bound == result.certificate.value
    True
    """
    instance = read_or_same(instance)
    family = family_of(instance)
    method = on_engine(family.method(family.best_bound), engine, workers, scheduler)
    return family.solve(
        instance, method=method, limits=limits, time_limit=time_limit, progress=progress, verbose=verbose
    )
