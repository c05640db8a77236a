"""The question of an evaluation (queue, clusters, policies, windows), the study that answers it, and the audit of its windows."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from dlsched.core.errors import InputError, UsageError
from dlsched.core.messages import Refused, several
from dlsched.evaluation.measures import Jobs, JobTimes, Part, jobs_of, times_of
from dlsched.families import FAMILIES
from dlsched.study.plans.method_entries import read_method
from dlsched.study.plans.plan import CellLimits, Given, Plan, PlannedMethod
from dlsched.study.recipes import Recipe, recipe_of_instance
from dlsched.traces.gpu_counts import GPUS_OF_A_SERVER, most_held
from dlsched.traces.instances import instance_from
from dlsched.traces.queue import Example, Figure, Queue, Sentence, Window, sentence_of
from dlsched.traces.queue import Piece as SentencePiece
from dlsched.traces.walls import pools_of, ranks_of, with_walls


def in_short(audits: Sequence[Sequence[str]]) -> list[Sentence]:
    """Merge sentences that differ only in figures, in order of first appearance."""
    by_words: dict[tuple[str | type, ...], dict[int, Sentence]] = {}
    # Sentences are alike that differ in figures and examples only.
    for window, audit in enumerate(audits):
        for sentence in map(sentence_of, audit):
            words = tuple(piece if isinstance(piece, str) else type(piece) for piece in sentence.pieces)
            by_words.setdefault(words, {})[window] = sentence
    return [_one(list(alike.values()), len(audits)) for alike in by_words.values()]


def _one(alike: Sequence[Sentence], windows: int) -> Sentence:
    """Merge sentences that have the same words."""
    text = "".join(map(_together, zip(*(sentence.pieces for sentence in alike), strict=True)))
    if len(alike) < windows:
        text = f"{text.removesuffix('.')} ({len(alike)} of {windows} windows)."
    return Sentence(text, warns=alike[0].warns)


def _together(pieces: Sequence[SentencePiece]) -> str:
    """Merge the pieces at one position of sentences: equal words, figures, or examples."""
    figures = sorted(piece for piece in pieces if isinstance(piece, Figure))
    if figures:
        least, most = figures[0].text, figures[-1].text
        return least if least == most else f"{least} to {most}"
    first = pieces[0]
    if isinstance(first, Example):
        return first.text if len(set(pieces)) == 1 else f"{first.text}, and others"
    return str(first)


POLICIES: Final[Mapping[str, tuple[str, ...]]] = {
    "srpt_mapping": ("fifo", "easy", "fifo-backfill", "shortest-backfill", "work-patient"),
    "elastic_stream": ("fifo-fixed", "sjf-fixed", "srpt-fixed", "las-fixed", "equal"),
}
"""Default policies by family; the first is the one that most clusters use, but see ``usual_first``."""


FIRST_COME: Final = ("easy", "fifo", "fifo-backfill")
"""Policies that serve in the order of arrival, as workload managers do."""


def usual_first(family: str, source: str) -> tuple[str, ...]:
    """The default policies for a record, first what its workload manager does as a rule: Slurm backfills as EASY does."""
    names = POLICIES.get(family, ())
    if source == "slurm" and "easy" in names:
        return ("easy", *(name for name in names if name != "easy"))
    return names


BOUND: Final = "bound"  # the method whose bound is shown

MOST_WARNINGS = 12

LIMITS: Final = CellLimits(time_s=60.0)


@dataclass(frozen=True, slots=True)
class Question:
    """A question for the evaluator.

    ``policies`` are methods of the family by name, or ``file.py:function`` from ``folder`` on; empty: those of ``POLICIES``.
    ``usual``: those of them of which the one that reproduces what happened best is the usual policy; empty: the first.
    ``gpus`` are sizes of the cluster, today's first; None: chosen by ``instance_from``, whose further ``options`` there are.
    Submissions of ``window`` are cut every ``window_s`` seconds into instances that begin with the jobs present then; None: one
    instance. ``estimates``: policies know users' estimates instead of true running times. ``limits`` are of each policy and of
    the bound, on each window.
    """

    queue: Queue
    policies: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()
    family: str = "srpt_mapping"
    gpus: tuple[int | None, ...] = (None,)
    window: Window = Window(None, None)  # noqa: RUF009  frozen
    window_s: float | None = None
    estimates: bool = False
    folder: Path = Path()
    limits: CellLimits = LIMITS
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Piece:
    """A window on a pool of ``gpus`` GPUs, of ``nodes`` (GPUs of each; empty: all GPUs are alike).

    ``pool`` is its name, empty where the cluster is one; ``size`` the place of the cluster's size in the question.
    ``name`` is of the window, empty for the whole trace; ``recipe`` makes its instance, ``jobs`` are in the instance's order.
    ``happened``: the times in the trace, None if unknown; ``placed``: the trace says on which nodes. ``outside``: GPU-seconds
    that other jobs held, as a part of those of the cluster. ``left_out`` and ``whole``: ids of jobs on parts of GPUs that are
    left out, or get a whole GPU for every part; ``tasks``: of arrays with a limit on concurrent tasks; ``silent``: without an
    estimate, where policies use only estimates.
    """

    gpus: int
    nodes: tuple[int, ...]
    name: str
    recipe: Recipe
    jobs: Jobs
    happened: JobTimes | None
    placed: bool
    outside: Part
    audit: tuple[str, ...]
    left_out: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    tasks: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()
    pool: str = ""
    size: int = 0


def pieces(question: Question) -> list[Piece]:
    """Make the instances, the windows of the first cluster first; errors as ``instance_from`` and ``methods_of``."""
    methods_of(question.policies, question.family, question.folder)
    if not question.gpus:
        raise UsageError(where="gpus", found="none", allowed="one or more numbers of GPUs")
    made: list[Piece] = []
    left_out: dict[int, list[str]] = defaultdict(list)
    walled = question.family == "srpt_mapping"
    pools = pools_of(question.queue) if walled else {"": question.queue}
    ranks, classes = ranks_of(list(pools.values())) if walled else ({}, "")
    if classes:
        pools = {name: replace(queue, audit=(*queue.audit, classes)) for name, queue in pools.items()}
    own = {name: _gpus_of(queue, question.options) for name, queue in pools.items()}
    for size, gpus in enumerate(question.gpus):
        for pool, queue in pools.items():
            # pools of a cluster of another size keep their parts of it
            here = gpus if len(pools) == 1 else own[pool] if gpus is None else _scaled(own, gpus)[pool]
            of_pool = with_walls(queue, here or own[pool], ranks) if walled else queue
            part = replace(question, queue=of_pool)
            try:
                made += [_piece(part, here, window, name, pool, size) for window, name in _windows(part)]
            except InputError:
                # on another size of the cluster a pool may be too small for any of its jobs
                if not size or len(pools) == 1:
                    raise
                left_out[size].append(pool)
    without = {
        size: f"Pools that hold none of their jobs, left out: {', '.join(names)}." for size, names in left_out.items()
    }
    return [
        replace(piece, audit=(*piece.audit, Sentence(without[piece.size], warns=True)))
        if piece.size in without
        else piece
        for piece in made
    ]


def _gpus_of(queue: Queue, options: Mapping[str, object]) -> int:
    """GPUs of a pool as its nodes, its quota or its jobs show them."""
    per = int(str(options.get("gpus_of_node", GPUS_OF_A_SERVER)))
    held = per * math.ceil(most_held(queue.jobs, queue.slices) / per)
    return sum(node.gpus for node in queue.nodes) or sum(queue.pools.values()) or max(1, held)


def _scaled(own: Mapping[str, int], gpus: int) -> dict[str, int]:
    """Part GPUs among pools as they have them now, at least one each; what is left over goes to the largest remainders."""
    total = sum(own.values())
    parts = {name: max(1, gpus * count // total) for name, count in own.items()}
    for name in sorted(own, key=lambda each: -(gpus * own[each] % total))[: max(0, gpus - sum(parts.values()))]:
        parts[name] += 1
    return parts


def _piece(question: Question, gpus: int | None, window: Window, name: str, pool: str, size: int) -> Piece:
    imported = instance_from(
        question.queue,
        question.family,
        gpus=gpus,
        window=window,
        carried=window.start_s is not None,
        estimates=question.estimates,
        **question.options,
    )
    record, instance = FAMILIES[question.family], imported.instance
    words = ", ".join(filter(None, (pool, name)))
    where = f"{Path(question.queue.path).name} [{words}]" if words else Path(question.queue.path).name
    total = record.gpus(instance)
    assert total is not None  # of both families
    happened = imported.happened
    if happened is not None and record.check(instance, happened):
        happened = None  # what happened breaks a rule of the family, so it is not shown
    return Piece(
        total,
        tuple(server.gpus for server in getattr(instance, "servers", ())),
        name,
        recipe_of_instance(instance, f"{where} on {several(total, 'GPU')}"),
        jobs_of(instance, imported.jobs),
        None if happened is None else times_of(instance, happened),
        any(job.nodes for job in imported.jobs),
        Part(*imported.outside),
        tuple(imported.audit),
        imported.slices,
        frozenset(job.id for job in imported.jobs if job.share < 1),
        imported.tasks,
        imported.silent,
        pool,
        size,
    )


def _windows(question: Question) -> list[tuple[Window, str]]:
    """Return the windows with submissions, and their names."""
    queue, whole, length_s = question.queue, question.window, question.window_s
    if length_s is None:
        bare = whole.start_s is None and whole.end_s is None
        return [(whole, "" if bare else f"{_moment(queue, whole.start_s)}, {_moment(queue, whole.end_s)}")]
    submits_s = sorted(job.submit_s for job in queue.jobs if job.duration_s is not None and whole.holds(job.submit_s))
    if not submits_s:
        return [(whole, "")]  # the import then refuses it, with the reasons
    start_s = submits_s[0] if whole.start_s is None else whole.start_s
    windows = []
    # Only windows with submissions; the last ends where the whole does.
    for number in dict.fromkeys(math.floor((submit_s - start_s) / length_s) for submit_s in submits_s):
        end_s = start_s + (number + 1) * length_s
        window = Window(start_s + number * length_s, end_s if whole.end_s is None else min(end_s, whole.end_s))
        windows.append((window, f"{_moment(queue, window.start_s)}, {_moment(queue, window.end_s)}"))
    return windows


def _moment(queue: Queue, time_s: float | None) -> str:
    if time_s is None:
        return ""
    if not queue.dated:
        return f"{time_s:,.0f} s"
    return datetime.fromtimestamp(time_s, UTC).replace(tzinfo=None).isoformat(" ", "seconds")


def audit_of(pieces: Sequence[Piece]) -> list[str]:
    """Return the audit of all windows on the first cluster, and new warnings of the other clusters."""
    of_pool = {
        pool: in_short([piece.audit for piece in pieces if piece.size == 0 and piece.pool == pool])
        for pool in dict.fromkeys(piece.pool for piece in pieces)
    }
    # what is said of every pool once, the rest by pool
    common = [each for each in next(iter(of_pool.values())) if all(each in said for said in of_pool.values())]
    own = [f"{pool}: {each}" for pool, said in of_pool.items() for each in said if each not in common]
    first, known = [*common, *own], {each for said in of_pool.values() for each in said}
    totals = {piece.size: sum_of_gpus(pieces, piece.size) for piece in pieces if piece.size}
    warnings = [
        f"On {several(gpus, 'GPU')}: {sentence}"
        for size, gpus in totals.items()
        for sentence in in_short([piece.audit for piece in pieces if piece.size == size])
        if sentence.warns and sentence not in known
    ]
    more = [f"And {len(warnings) - MOST_WARNINGS:,} more such sentences."] if len(warnings) > MOST_WARNINGS else []
    return [*first, *warnings[:MOST_WARNINGS], *more]


def sum_of_gpus(pieces: Sequence[Piece], size: int) -> int:
    """GPUs of all pools of a cluster."""
    return sum({piece.pool: piece.gpus for piece in pieces if piece.size == size}.values())


def plan_of(question: Question, pieces: Sequence[Piece], words: str) -> Plan:
    """Make the study of the pieces; ``words``, the command, stand for the text of a plan; errors as ``methods_of``."""
    names = question.policies or usual_first(question.family, question.queue.source)
    policies = methods_of(names, question.family, question.folder)
    return Plan(
        name=f"what if: {Path(question.queue.path).name}",
        sources=(Given(tuple(piece.recipe for piece in pieces)),),
        methods=(*policies, PlannedMethod(BOUND, "name", BOUND)),
        limits=question.limits,
        folder=question.folder.absolute(),
        text=words,
    )


def methods_of(policies: Sequence[str], family: str, folder: Path = Path()) -> tuple[PlannedMethod, ...]:
    """Find policies by their names, or as ``file.py:function`` from a folder on; UsageError: one is unfit or named twice."""
    if not isinstance(family, str) or family not in POLICIES:
        raise UsageError(where="family", found=repr(family), allowed=", ".join(POLICIES))
    for index, name in enumerate(policies):
        if not isinstance(name, str):
            kind = getattr(name, "__name__", type(name).__name__)
            raise UsageError(where="policies", found=kind, allowed="names, or file.py:function")
        if name in policies[:index]:
            raise UsageError(where="policies", found=f"{name!r} twice", allowed="each once")
    return tuple(_method(name, family, folder) for name in policies)


def _method(name: str, family: str, folder: Path) -> PlannedMethod:
    entry = {"python" if ":" in name else "name": name}
    try:
        (method,) = read_method(entry, [family], folder, ())
        if method.kind == "name" and FAMILIES[family].method(name).kind == "bound":
            raise Refused(repr(name), "a policy, which starts jobs")
    except Refused as refusal:
        raise UsageError(where="policies", found=refusal.found, allowed=refusal.allowed) from None
    return method
