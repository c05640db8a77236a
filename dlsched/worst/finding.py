"""``find_worst``: a seeded search, within a budget of evaluations, for a method's worst instance."""

import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace

from dlsched.catalogue.option import Value
from dlsched.core.arguments import require_seed
from dlsched.core.budget import Budget, Stopped
from dlsched.core.errors import DlschedError, SolverError, UsageError
from dlsched.core.family import AnyFamily, AnyMethod
from dlsched.core.limits import Limits, Progress, ProgressCallback
from dlsched.core.watching import limits_of, watched
from dlsched.families import find_family
from dlsched.method_choice import MethodLike, method_of
from dlsched.worst.climbing import HEAT, climb, walk
from dlsched.worst.judging import Failure, Judge, Judged
from dlsched.worst.options import own_space, space_of
from dlsched.worst.result import Ended, Worst, finite, said_of
from dlsched.worst.shrinking import SHARE, least, shrunk
from dlsched.worst.space import Space

BUDGET = 2000
SHRINKING = 0.2
"""Share of the budget, and of the time if limited, that is kept for shrinking."""


def find_worst(
    family: str,
    method: MethodLike,
    *,
    against: str | None = None,
    jobs: int | None = None,
    gpus: int | None = None,
    preset: str | None = None,
    budget: int = BUDGET,
    seed: int = 0,
    limits: Limits | None = None,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
    verbose: bool = False,
    tell: Callable[[Failure], None] | None = None,
    space: Space | None = None,
    share: float = SHARE,
    beyond: float = math.inf,
    **options: Value,
) -> Worst:
    """Search for the instance on which a method does worst, and shrink it until a person can read it.

    Parameters
    ----------
    family
        Name of a family.
    method
        A name from ``dlsched methods``, ``file.py:function``, a function or policy of your own, or a ``Method``.
    against
        The reference: an exact method, a bound, or another heuristic; None: the space's default, which
        proves optima.
    jobs, gpus, preset
        Sizes and kind of the instances; None: the space's own.
    budget
        Number of evaluations, >= 1, each a run of the method and of its reference. A fifth is kept for
        shrinking.
    seed
        Seed of the search; methods that draw do so from seed 0.
    limits
        Limits on the seconds of the whole search and on the nodes of every run.
    time_limit
        Seconds of the whole search, instead of ``limits``.
    progress
        Called after every evaluation; ``objective`` is the worst ratio so far, ``nodes`` counts evaluations.
    verbose
        Print a line a second on standard error.
    tell
        Called at once when the method fails on an instance, or breaks its guarantee.
    space
        The space to search; None: the family's space, made from ``jobs``, ``gpus``, ``preset`` and
        ``options``.
    share
        Share of the ratio that shrinking may lose.
    beyond
        A ratio above which an instance is bad enough: the search ends, and shrinks it. If it is finite, only answers
        count, and only ratios to proven optima or to another method's answers.
    **options
        The family's own options, such as ``tables`` of ring_allocation.

    Raises
    ------
    UsageError
        An invalid name, size or option, or the search found no instance with a defined ratio.
    KeyboardInterrupt
        Ctrl-C before any instance was found.
    """
    record = find_family(family)
    require_search(budget, seed, share)
    chosen = method_of(record, method)
    if chosen.kind == "bound":
        raise UsageError(
            where="method", found=f"{chosen.name!r}, a bound", allowed="one that answers; a bound may judge: against"
        )
    given = {"jobs": jobs, "gpus": gpus, "preset": preset, **options}
    space = space_of(family, **given) if space is None else own_space(space, record.name, given)
    judging = against or space.reference
    reference = method_of(record, judging)
    command = _command(record, chosen, against, {**given, "node_limit": limits_of(limits).nodes}, budget, seed)
    what = f"{family}, {chosen.name}"
    with watched(limits, progress, time_limit=time_limit, verbose=verbose, what=what, words=lambda now: now.doing) as (
        allowed,
        told,
    ):
        judge = Judge(record, chosen, reference, space.solver if against is None else None, allowed, beyond=beyond)
        if tell is not None:
            judge.tell = tell
        if told is not None:
            judge.judged = lambda: told(_standing(judge, budget))
        ended, found, kept = _search(judge, space, budget, seed, share)
    return _worst(judge, space, found, kept, seed, ended, command)


def require_search(budget: int, seed: int, share: float = SHARE) -> None:
    """Refuse a budget, a seed or a share out of range with a ``UsageError``."""
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
        raise UsageError(where="budget", found=repr(budget), allowed="an integer >= 1")
    require_seed(seed)
    if not isinstance(share, int | float) or not 0 <= share < 1:
        raise UsageError(where="share", found=repr(share), allowed="a number >= 0 and < 1")


def _search(judge: Judge, space: Space, budget: int, seed: int, share: float) -> tuple[Ended, Judged, Judged]:
    """Climb, then shrink; return why it ended, the worst instance found, and the shrunk instance.

    Simple instances often have ties, and worse instances near them. So half of the remaining evaluations
    continue from the shrunk instance, and if they find a worse one, that is shrunk.
    """
    import numpy as np

    ended: Ended = "budget"
    whole = judge.budget
    found: Judged | None = None
    kept: Judged | None = None
    generator = np.random.default_rng(seed)
    try:
        try:
            if judge.limits.time_s is not None:
                judge.budget = Budget(Limits(time_s=judge.limits.time_s * (1 - SHRINKING)))
            climb(judge, space, budget - int(SHRINKING * budget), generator)
        except Stopped:
            ended = "limit"
        judge.budget = whole
        while judge.worst is not None and (kept is None or kept.ratio < least(judge.worst.ratio, share)):
            found = kept = judge.worst
            for simpler in shrunk(judge, space, found, budget, share):
                kept = simpler
            walk(judge, space, kept, judge.evaluations + (budget - judge.evaluations) // 2, HEAT, generator)
    except Stopped:
        ended = "limit"
    except KeyboardInterrupt:
        if judge.worst is None:
            raise
        ended = "interrupted"
    if judge.worst is None:
        raise _nothing(judge, ended)
    if found is None or kept is None or kept.ratio < least(judge.worst.ratio, share):
        found = kept = judge.worst
    return ended, found, kept


def _nothing(judge: Judge, ended: Ended) -> DlschedError:
    """Say why there is no instance to show: the first failure, if there are any."""
    for failure in judge.failures.values():
        kind = type(failure.error) if isinstance(failure.error, DlschedError) else SolverError
        return kind(f"{failure.message} (and it answers on no instance that was drawn)")
    why = "before the time was up" if ended == "limit" else f"among {judge.evaluations}"
    return UsageError(
        where="budget", found=f"no instance on which {judge.method.name} has a ratio {why}", allowed="more of it"
    )


def _worst(judge: Judge, space: Space, found: Judged, kept: Judged, seed: int, ended: Ended, command: str) -> Worst:
    reference = kept.reference
    name = f"worst-{judge.method.name.rpartition(':')[2]}"
    worst = Worst(
        family=judge.family.name,
        method=judge.method.name,
        ratio=finite(kept.ratio),
        found=finite(found.ratio),
        objective=kept.objective,
        reference=reference.value,
        reference_kind=reference.kind,
        evaluations=judge.evaluations,
        seed=seed,
        instance=kept.instance,
        ended=ended,
        command=command,
        space=space.words,
        wider=tuple(space.wider),
        failures=tuple(judge.failures.values()),
    )
    return replace(
        worst, instance=said_of(worst, kept.instance.model_copy(update={"name": name}), judge.reference.name)
    )


def _standing(judge: Judge, budget: int) -> Progress:
    worst = judge.worst
    said = (
        "no ratio yet" if worst is None else "without bound" if math.isinf(worst.ratio) else f"ratio {worst.ratio:.6g}"
    )
    ratio = None if worst is None else finite(worst.ratio)
    doing = f"{said}, {judge.evaluations:,} of {budget:,} evaluations"
    return Progress(judge.budget.elapsed_s, ratio, None, judge.evaluations, doing)


def _command(
    family: AnyFamily,
    method: AnyMethod,
    against: str | None,
    options: Mapping[str, Value | None],
    budget: int,
    seed: int,
) -> str:
    """The command line that does the same search."""
    words = ["dlsched", "worst", family.name, "--method", method.name]
    given = {"against": against, **options, "budget": None if budget == BUDGET else budget}
    for name, value in given.items():
        if value is not None:
            option = name.replace("_", "-")
            words += (
                [f"--{option if value else f'no-{option}'}"] if isinstance(value, bool) else [f"--{option}", str(value)]
            )
    return shlex.join([*words, "--seed", str(seed)])
