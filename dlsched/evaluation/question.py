"""The question of an evaluation (queue, clusters, policies, windows), and the study that answers it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from dlsched.core.errors import UsageError
from dlsched.core.messages import Refused, several
from dlsched.evaluation.audits import in_short
from dlsched.evaluation.figures import Part
from dlsched.evaluation.job_times import Jobs, JobTimes, jobs_of, times_of
from dlsched.families import FAMILIES
from dlsched.study.plans.method_entries import read_method
from dlsched.study.plans.plan import CellLimits, Given, Plan, PlannedMethod
from dlsched.study.recipes.given import given
from dlsched.study.recipes.recipe import Recipe
from dlsched.traces.instances import instance_from
from dlsched.traces.queue import Queue, Window

POLICIES: Final[Mapping[str, tuple[str, ...]]] = {
    "srpt_mapping": ("fifo", "fifo-backfill", "shortest-backfill", "a-srpt", "work-patient"),
    "elastic_stream": ("fifo-fixed", "sjf-fixed", "srpt-fixed", "las-fixed", "equal"),
}
"""Default policies by family; the first is the one that most clusters use."""

BOUND: Final = "bound"
"""The method whose bound is shown."""

MOST_WARNINGS = 12

LIMITS: Final = CellLimits(time_s=60.0)


@dataclass(frozen=True, slots=True)
class Question:
    """A question for the evaluator.

    Parameters
    ----------
    queue
        The recorded queue.
    policies
        Methods of the family by name, or ``file.py:function``; empty: those of ``POLICIES``.
    family
        A key of ``POLICIES``.
    gpus
        Sizes of the cluster, today's first; None: chosen by ``instance_from``.
    window
        Window of the submissions that are evaluated.
    window_s
        Seconds of the windows into which submissions are cut, each an instance that begins with the jobs
        present then; None: one instance.
    estimates
        Whether policies know users' estimates instead of true running times.
    folder
        Folder to which paths of policies are relative.
    limits
        Limits of each policy and of the bound, on each window.
    options
        Further options of ``instance_from``.
    """

    queue: Queue
    policies: tuple[str, ...] = ()
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
    """A window on a cluster.

    Parameters
    ----------
    gpus, nodes
        GPUs of the cluster, and of each node; no nodes: all GPUs are alike.
    name
        Name of the window; empty: the whole trace.
    recipe
        Recipe of its instance.
    jobs
        Jobs of the instance, in its order.
    happened
        What happened according to the trace; None: unknown.
    placed
        Whether the trace says on which nodes jobs ran.
    outside
        GPU-seconds that other jobs held, as a part of those of the cluster; see ``ImportedInstance``.
    audit
        Audit of the import.
    left_out, whole
        Ids of jobs on parts of GPUs: those left out, and those that get a whole GPU for every part.
    tasks
        Ids of tasks of arrays with a limit on concurrent tasks.
    silent
        Ids of jobs without an estimate, where policies use only estimates.
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


def pieces(question: Question) -> list[Piece]:
    """Make the instances, the windows of the first cluster first; errors as ``instance_from``.

    Raises
    ------
    UsageError
        As ``methods_of``, or no number of GPUs.
    """
    methods_of(question.policies, question.family, question.folder)
    if not question.gpus:
        raise UsageError(where="gpus", found="none", allowed="one or more numbers of GPUs")
    windows = _windows(question)
    return [_piece(question, gpus, window, name) for gpus in question.gpus for window, name in windows]


def _piece(question: Question, gpus: int | None, window: Window, name: str) -> Piece:
    made = instance_from(
        question.queue,
        question.family,
        gpus=gpus,
        window=window,
        carried=window.start_s is not None,
        estimates=question.estimates,
        **question.options,
    )
    record, instance = FAMILIES[question.family], made.instance
    where = f"{Path(question.queue.path).name} [{name}]" if name else Path(question.queue.path).name
    total = record.gpus(instance)
    assert total is not None  # of both families
    happened = made.happened
    if happened is not None and record.check(instance, happened):
        happened = None  # what happened breaks a rule of the family, so it is not shown
    return Piece(
        total,
        tuple(server.gpus for server in getattr(instance, "servers", ())),
        name,
        given(instance, f"{where} on {several(total, 'GPU')}"),
        jobs_of(instance, made.jobs),
        None if happened is None else times_of(instance, happened),
        any(job.nodes for job in made.jobs),
        Part(*made.outside),
        tuple(made.audit),
        made.slices,
        frozenset(job.id for job in made.jobs if job.share < 1),
        made.tasks,
        made.silent,
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
    found = []
    for number in dict.fromkeys(math.floor((submit_s - start_s) / length_s) for submit_s in submits_s):
        end_s = start_s + (number + 1) * length_s
        window = Window(start_s + number * length_s, end_s if whole.end_s is None else min(end_s, whole.end_s))
        found.append((window, f"{_moment(queue, window.start_s)}, {_moment(queue, window.end_s)}"))
    return found


def _moment(queue: Queue, time_s: float | None) -> str:
    if time_s is None:
        return ""
    if not queue.dated:
        return f"{time_s:,.0f} s"
    return datetime.fromtimestamp(time_s, UTC).replace(tzinfo=None).isoformat(" ", "seconds")


def audit_of(made: Sequence[Piece]) -> list[str]:
    """Return the audit of all windows on the first cluster, and new warnings of the other clusters."""
    today, *others = dict.fromkeys(piece.gpus for piece in made)
    first = in_short([piece.audit for piece in made if piece.gpus == today])
    said = [
        f"On {several(gpus, 'GPU')}: {sentence}"
        for gpus in others
        for sentence in in_short([piece.audit for piece in made if piece.gpus == gpus])
        if sentence.warns and sentence not in first
    ]
    more = [f"And {len(said) - MOST_WARNINGS:,} more such sentences."] if len(said) > MOST_WARNINGS else []
    return [*first, *said[:MOST_WARNINGS], *more]


def plan_of(question: Question, made: Sequence[Piece], words: str) -> Plan:
    """Make the study of the pieces; ``words``, the command, stand for the text of a plan.

    Raises
    ------
    UsageError
        A policy that does not exist or cannot be imported, or one of them twice.
    """
    policies = methods_of(question.policies or POLICIES[question.family], question.family, question.folder)
    return Plan(
        name=f"what if: {Path(question.queue.path).name}",
        sources=(Given(tuple(piece.recipe for piece in made)),),
        methods=(*policies, PlannedMethod(BOUND, "name", BOUND)),
        limits=question.limits,
        folder=question.folder.absolute(),
        text=words,
    )


def methods_of(policies: Sequence[str], family: str, folder: Path = Path()) -> tuple[PlannedMethod, ...]:
    """Find policies by their names, or as ``file.py:function`` from a folder on.

    Raises
    ------
    UsageError
        A family for which there is no such question; a policy that does not exist or cannot be imported, or one of them twice.
    """
    if not isinstance(family, str) or family not in POLICIES:
        raise UsageError(where="family", found=repr(family), allowed=", ".join(POLICIES))
    for index, name in enumerate(policies):
        if not isinstance(name, str):
            found = getattr(name, "__name__", type(name).__name__)
            raise UsageError(where="policies", found=found, allowed="names, or file.py:function")
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
