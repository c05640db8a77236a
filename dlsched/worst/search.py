"""``find_worst``: a seeded search, within a budget of evaluations, for a method's worst instance.

It draws from the space and from the presets that fit it, then walks uphill from the worst draws. The first draws alternate
between the space and the presets; later draws come from the source of the worst draw so far (a bandit whose arms are the
space and the presets). Walks begin at the worst draw of each arm, then at the worst of the others, with equal numbers of
evaluations; the better half continues until one remains (successive halving, Jamieson and Talwalkar, AISTATS 2016). So a
search is seldom worse than its draws alone, and does not climb a single hill.

A step is taken when it is not worse by more than a threshold that falls to nothing (annealing, as in SAGA's PISA, Coleman and
Krishnamachari, IPDPS 2025); equal ratios are always taken, so that plateaus are crossed.
"""

import math
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from heapq import nlargest
from typing import TYPE_CHECKING

from dlsched.catalogue.families import Value
from dlsched.core.arguments import require_seed
from dlsched.core.elementary import log
from dlsched.core.errors import DlschedError, SolverError, UsageError
from dlsched.core.family import AnyFamily, AnyMethod
from dlsched.core.gap import MEETING
from dlsched.core.limits import Budget, Limits, Progress, ProgressCallback, Stopped, limits_of, watched
from dlsched.families import find_family
from dlsched.solving import MethodLike, method_of
from dlsched.worst.judge import Ended, Failure, Judge, Judged, Worst, finite, said_of
from dlsched.worst.moves import SHARE, least, moved, shrunk
from dlsched.worst.spaces import DrawGenerated, Space, own_space, space_of

if TYPE_CHECKING:
    import numpy as np


SAMPLED = 0.3
"""Share of the evaluations that go to draws."""
BY_TURNS = 0.5
"""Share of the draws that alternate between arms; the others use the arm of the worst draw."""
WORST = 20
"""Number of worst draws by which arms are compared."""
WALKS = 8
"""Largest number of walks that begin."""
LONG = 50
"""One more walk begins for each of this many evaluations after drawing."""
ALONE = 2
"""Number of walks of the one that is left, each from the worst instance so far."""
HEAT, HEAT_TOGETHER = 0.15, 0.03
"""Initial threshold as a fraction of the logarithm of the ratio: for the last walk, and for one of
several."""
COOL = 0.004
"""Least threshold at the start."""
PATIENCE = 500
"""Number of invalid candidates in a row after which a walk, or drawing, ends."""


def turns(space: Space) -> Iterator[DrawGenerated]:
    """Yield the arms in turn: the space every other time, and in between one preset after another."""
    while True:
        for draw in space.presets.values():
            yield space.draw
            yield draw
        if not space.presets:
            yield space.draw


def sample(
    judge: Judge, space: Space, until: int, generator: "np.random.Generator", by_turns: float = 1.0
) -> list[Judged]:
    """Draw and evaluate until ``judge`` has counted ``until`` evaluations, or is done; a share ``by_turns`` of all arms.

    Returned are draws that have a ratio, each once: the worst of each arm, then the others, each the worst first.
    """
    begun, arms = judge.evaluations, [space.draw, *space.presets.values()]
    # by their data, since draws may repeat
    met: dict[str, tuple[Judged, DrawGenerated]] = {}
    turn, idle = turns(space), 0
    while judge.evaluations < until and idle < PATIENCE:
        # the first part by turns; then sources with chances by how many of the worst draws they made
        if judge.evaluations - begun < by_turns * (until - begun):
            draw = next(turn)
        else:
            worst = [drew for _, drew in nlargest(WORST, met.values(), key=lambda each: each[0].ratio)]
            chances = [1 + sum(drew is arm for drew in worst) for arm in arms]
            draw = arms[generator.choice(len(arms), p=[chance / sum(chances) for chance in chances])]
        before = judge.evaluations
        data = draw(generator)
        judged = None if data is None else judge.judge(data)
        idle = 0 if judge.evaluations > before else idle + 1
        if judged is not None:
            met.setdefault(repr(data), (judged, draw))
        if judge.done:
            break
    worst_first = sorted(met.values(), key=lambda each: -each[0].ratio)
    # the worst draw of each source: reversed, so that it is written last
    heads = {draw: judged for judged, draw in reversed(worst_first)}
    return [
        *(judged for judged, draw in worst_first if heads[draw] is judged),
        *(judged for judged, draw in worst_first if heads[draw] is not judged),
    ]


def climb(judge: Judge, space: Space, until: int, generator: "np.random.Generator") -> None:
    """Search until ``judge``, which keeps the worst, has counted so many evaluations, or is done."""
    drawn = judge.evaluations + math.ceil(SAMPLED * (until - judge.evaluations))
    starts = sample(judge, space, drawn, generator, BY_TURNS)
    if not starts or starts[0].ratio <= 1 + MEETING:  # nothing to climb from: look longer
        starts = sample(judge, space, until - (until - judge.evaluations) // 3, generator) or starts
    starts = starts[: max(1, min(WALKS, (until - judge.evaluations) // LONG))]
    # halvings until one walk is left, and a second walk of that one
    rounds = len(starts).bit_length() + ALONE - 1
    for turn in range(rounds):
        # rounds have equal numbers of evaluations, and so have the walks of a round
        share = (until - judge.evaluations) // (rounds - turn)
        heat = HEAT if len(starts) == 1 else HEAT_TOGETHER
        ends = [
            walk(judge, space, start, judge.evaluations + share // len(starts), heat, generator) for start in starts
        ]
        starts = sorted(ends, key=lambda judged: -judged.ratio)[: max(1, len(ends) // 2)]


def walk(judge: Judge, space: Space, start: Judged, end: int, heat: float, generator: "np.random.Generator") -> Judged:
    """Walk from an instance until ``judge`` has counted ``end`` evaluations, or is done; return the worst.

    ``heat`` is the threshold at the start, as a part of the logarithm of the ratio.
    """
    current = worst = start
    began, idle = judge.evaluations, 0
    while judge.evaluations < end and idle < PATIENCE and not judge.done:
        # from 1 down to 0: the threshold falls with its square
        remaining = (end - judge.evaluations) / (end - began)
        before = judge.evaluations
        data = moved(space, current.data, generator)
        judged = None if data is None else judge.judge(data)
        idle = 0 if judge.evaluations > before else idle + 1
        if judged is None:
            continue
        # a random part of the threshold, as in annealing: log U is exponentially distributed
        threshold = max(COOL, heat * abs(worst.score)) * remaining * remaining
        if judged.score >= current.score + threshold * log(1 - generator.random()):
            current = judged
        if judged.ratio > worst.ratio:
            worst = judged
    return worst


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
    arguments: dict[str, Value | None] = {"jobs": jobs, "gpus": gpus, "preset": preset, **options}
    if space is None and preset is None:
        given = {name: value for name, value in arguments.items() if value is not None}
        arguments = {**arguments, **chosen.searched, **given}
    space = space_of(family, **arguments) if space is None else own_space(space, record.name, arguments)
    judging = against or space.reference
    reference = method_of(record, judging)
    command = _command(record, chosen, against, {**arguments, "node_limit": limits_of(limits).nodes}, budget, seed)
    what = f"{family}, {chosen.name}"
    with watched(limits, progress, time_limit=time_limit, verbose=verbose, what=what, words=lambda now: now.doing) as (
        allowed,
        listener,
    ):
        solver = space.solver if against is None else None
        judge = Judge(record, chosen, reference, solver, allowed, beyond=beyond, admits=space.admits)
        if tell is not None:
            judge.tell = tell
        if listener is not None:
            judge.judged = lambda: listener(_standing(judge, budget))
        ended, found, simplest = _search(judge, space, budget, seed, share)
    return _worst(judge, space, found, simplest, seed, ended, command)


def require_search(budget: int, seed: int, share: float = SHARE) -> None:
    """Refuse a budget, a seed or a share out of range with a ``UsageError``."""
    if not isinstance(budget, int) or isinstance(budget, bool) or budget < 1:
        raise UsageError(where="budget", found=repr(budget), allowed="an integer >= 1")
    require_seed(seed)
    if not isinstance(share, int | float) or not 0 <= share < 1:
        raise UsageError(where="share", found=repr(share), allowed="a number >= 0 and < 1")


def _search(judge: Judge, space: Space, budget: int, seed: int, share: float) -> tuple[Ended, Judged, Judged]:
    """Climb, then shrink; return why it ended, the worst instance found, and the shrunk instance.

    Simple instances often have ties, and worse instances near them: half of the remaining evaluations continue there.
    """
    import numpy as np

    ended: Ended = "budget"
    whole = judge.budget
    found: Judged | None = None
    simplest: Judged | None = None
    generator = np.random.default_rng(seed)
    try:
        try:
            if judge.limits.time_s is not None:
                # the climb may not use the time that shrinking needs
                judge.budget = Budget(Limits(time_s=judge.limits.time_s * (1 - SHRINKING)))
            climb(judge, space, budget - int(SHRINKING * budget), generator)
        except Stopped:
            ended = "limit"
        judge.budget = whole
        # again as long as the walk from the shrunk instance finds one that is too bad for it
        while judge.worst is not None and (simplest is None or simplest.ratio < least(judge.worst.ratio, share)):
            found = simplest = judge.worst
            for simpler in shrunk(judge, space, found, budget, share):
                simplest = simpler
            walk(judge, space, simplest, judge.evaluations + (budget - judge.evaluations) // 2, HEAT, generator)
    except Stopped:
        ended = "limit"
    except KeyboardInterrupt:
        if judge.worst is None:
            raise
        ended = "interrupted"
    if judge.worst is None:
        raise _nothing(judge, ended)
    # a limit in the middle of a walk may leave a worse instance that is not shrunk
    if found is None or simplest is None or simplest.ratio < least(judge.worst.ratio, share):
        found = simplest = judge.worst
    return ended, found, simplest


def _nothing(judge: Judge, ended: Ended) -> DlschedError:
    """Say why there is no instance to show: the first failure, if there are any."""
    for failure in judge.failures.values():
        kind = type(failure.error) if isinstance(failure.error, DlschedError) else SolverError
        return kind(f"{failure.message} (and it answers on no instance that was drawn)")
    why = "before the time was up" if ended == "limit" else f"among {judge.evaluations}"
    return UsageError(
        where="budget", found=f"no instance on which {judge.method.name} has a ratio {why}", allowed="more of it"
    )


def _worst(judge: Judge, space: Space, found: Judged, simplest: Judged, seed: int, ended: Ended, command: str) -> Worst:
    reference = simplest.reference
    name = f"worst-{judge.method.name.rpartition(':')[2]}"
    worst = Worst(
        family=judge.family.name,
        method=judge.method.name,
        ratio=finite(simplest.ratio),
        found=finite(found.ratio),
        objective=simplest.objective,
        reference=reference.value,
        reference_kind=reference.kind,
        evaluations=judge.evaluations,
        seed=seed,
        instance=simplest.instance,
        ended=ended,
        command=command,
        space=space.words,
        wider=tuple(space.wider),
        failures=tuple(judge.failures.values()),
    )
    return replace(
        worst, instance=said_of(worst, simplest.instance.model_copy(update={"name": name}), judge.reference.name)
    )


def _standing(judge: Judge, budget: int) -> Progress:
    worst = judge.worst
    standing = (
        "no ratio yet" if worst is None else "without bound" if math.isinf(worst.ratio) else f"ratio {worst.ratio:.6g}"
    )
    ratio = None if worst is None else finite(worst.ratio)
    doing = f"{standing}, {judge.evaluations:,} of {budget:,} evaluations"
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
    arguments = {"against": against, **options, "budget": None if budget == BUDGET else budget}
    for name, value in arguments.items():
        if value is not None:
            option = name.replace("_", "-")
            words += (
                [f"--{option if value else f'no-{option}'}"] if isinstance(value, bool) else [f"--{option}", str(value)]
            )
    return shlex.join([*words, "--seed", str(seed)])
