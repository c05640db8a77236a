"""The question of an evaluation (queue, clusters, policies, windows), the study that answers it, and the audit of its windows."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Final, cast

from dlsched.core.errors import InputError, UsageError
from dlsched.core.messages import Refused, several
from dlsched.evaluation.measures import Jobs, JobTimes, jobs_of, times_of
from dlsched.families import FAMILIES
from dlsched.srpt_mapping import Instance
from dlsched.study.plans.method_entries import read_method
from dlsched.study.plans.plan import CellLimits, Given, Plan, PlannedMethod
from dlsched.study.recipes import Recipe, recipe_of_instance
from dlsched.traces.consolidation import servers_of, why_consolidated
from dlsched.traces.gpu_counts import GPUS_OF_A_SERVER, most_in_use
from dlsched.traces.instances import instance_from
from dlsched.traces.queue import Example, Figure, Queue, Sentence, Window, sentence_of
from dlsched.traces.queue import Piece as SentencePiece
from dlsched.traces.selection import ImportedInstance
from dlsched.traces.walls import pools_of, ranks_of, with_walls


def in_short(audits: Sequence[Sequence[str]], kind: str = "windows") -> list[Sentence]:
    """Merge sentences that differ only in figures, in order of first appearance; ``kind``: what an audit is of."""
    by_words: dict[tuple[str | type, ...], dict[int, Sentence]] = {}
    # Sentences are alike that differ in figures and examples only.
    for window, audit in enumerate(audits):
        for sentence in map(sentence_of, audit):
            words = tuple(piece if isinstance(piece, str) else type(piece) for piece in sentence.pieces)
            by_words.setdefault(words, {})[window] = sentence
    return [_one(list(alike.values()), len(audits), kind) for alike in by_words.values()]


def _one(alike: Sequence[Sentence], count: int, kind: str) -> Sentence:
    """Merge sentences that have the same words."""
    text = "".join(map(_together, zip(*(sentence.pieces for sentence in alike), strict=True)))
    if len(alike) < count:
        text = f"{text.removesuffix('.')} ({len(alike)} of {count} {kind})."
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


Size = int | None | tuple[str, int]


@dataclass(frozen=True, slots=True)
class Question:
    """A question for the evaluator.

    ``policies`` are methods of the family by name, or ``file.py:function`` from ``folder`` on; empty: those of ``POLICIES``.
    ``usual``: those of them of which the one that reproduces what happened best is the usual policy; empty: the first.
    ``gpus`` are sizes of the cluster, today's first; None: chosen by ``instance_from``, whose further ``options`` there are; a
    pool and its GPUs: as today's, but for this pool.
    Submissions of ``window`` are cut every ``window_s`` seconds into instances that begin with the jobs present then; None: one
    instance. ``estimates``: policies know users' estimates instead of true running times. ``limits`` are of each policy and of
    the bound, on each window.
    """

    queue: Queue
    policies: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()
    family: str = "srpt_mapping"
    gpus: tuple[Size, ...] = (None,)
    window: Window = Window(None, None)  # noqa: RUF009  frozen
    window_s: float | None = None
    estimates: bool = False
    folder: Path = Path()
    limits: CellLimits = LIMITS
    options: Mapping[str, object] = field(default_factory=dict)


def sizes_of(given: Sequence[object], typed: str | None = None) -> tuple[Size, ...]:
    """Read numbers of GPUs and ``POOL=N``, after what the trace shows if the first is of a pool; ``typed``: for errors."""
    sizes: list[Size] = []
    for each in given:
        pool, equals, count = each.rpartition("=") if isinstance(each, str) else ("", "", each)
        if isinstance(count, str) and count.isascii() and count.isdigit():
            count = int(count[:10])
        size = (pool, count) if equals else count
        least = count is None or (isinstance(count, int) and 1 <= count <= 10**9)
        if not least or bool(pool) != bool(equals) or size in sizes:
            allowed = "different integers >= 1 with commas, such as 400,480, or POOL=N"
            raise UsageError(where="gpus", found=repr(each if typed is None else typed), allowed=allowed)
        sizes.append(cast(Size, size))
    return (None, *sizes) if sizes and isinstance(sizes[0], tuple) else tuple(sizes)


@dataclass(frozen=True, slots=True)
class Piece:
    """A window on a pool: what was imported, the recipe of its instance, and its jobs in the instance's order.

    ``pool`` is its name, empty where the cluster is one; ``size`` the place of the cluster's size in the question; ``name`` is of
    the window, empty for the whole trace. ``happened``: the times in the trace, None if unknown.
    """

    pool: str
    size: int
    name: str
    imported: ImportedInstance
    recipe: Recipe
    jobs: Jobs
    happened: JobTimes | None
    audit: tuple[str, ...]

    @property
    def gpus(self) -> int:
        """GPUs of the pool."""
        total = FAMILIES[self.recipe.family].gpus(self.imported.instance)
        assert total is not None  # of both families
        return total

    @property
    def nodes(self) -> tuple[int, ...]:
        """GPUs of each node; empty: all GPUs are alike."""
        return tuple(server.gpus for server in getattr(self.imported.instance, "servers", ()))


def pieces(question: Question) -> list[Piece]:
    """Make the instances, the windows of the first cluster first; errors as ``instance_from`` and ``methods_of``."""
    methods_of(question.policies, question.family, question.folder)
    if not question.gpus:
        raise UsageError(where="gpus", found="none", allowed="one or more numbers of GPUs")
    gangs = question.family == "srpt_mapping"
    pools = pools_of(question.queue) if gangs else {"": question.queue}
    for size in question.gpus:
        if isinstance(size, tuple) and (size[0] not in pools or len(pools) == 1):
            allowed = f"a number{', or a pool and its GPUs, of ' * (len(pools) > 1)}{', '.join(pools)}"
            raise UsageError(where="gpus", found=repr(f"{size[0]}={size[1]}"), allowed=allowed)
    if not gangs:
        return [piece for size in range(len(question.gpus)) for piece in _pieces({"": question}, {}, size)]
    ranks, classes = ranks_of(list(pools.values()))
    notes = (classes,) if classes else ()
    parts = {
        name: replace(question, queue=replace(queue, audit=(*queue.audit, *notes))) for name, queue in pools.items()
    }
    made = _pieces(parts, ranks, 0)
    # what today's cluster shows of placement holds on the others too, and is what jobs are seen to have waited for
    first_come = [name for name in question.policies if name in FIRST_COME]
    of_pool = {pool: [piece.imported for piece in made if piece.pool == pool] for pool in pools}
    why = {pool: words for pool, windows in of_pool.items() if (words := why_consolidated(windows, first_come))}
    servers = {pool: servers_of(of_pool[pool][0]) for pool in why}
    sizes = range(0 if why else 1, len(question.gpus))
    pieces_of_all = [*([] if why else made), *chain.from_iterable(_pieces(parts, ranks, at, servers) for at in sizes)]
    return [_consolidated(piece, why[piece.pool]) if piece.pool in why else piece for piece in pieces_of_all]


def _pieces(
    parts: Mapping[str, Question],
    ranks: Mapping[str, int],
    size: int,
    servers: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
) -> list[Piece]:
    """The windows of all pools on a size of the cluster.

    ``parts``: the question about each pool; ``servers``: of pools that consolidate jobs, GPUs of today's by name.
    """
    own = {name: _gpus_of(part.queue, part.options) for name, part in parts.items()}
    made, too_small = list[Piece](), list[str]()
    there = {name: part for name, part in parts.items() if _present(part)} or parts
    for pool, part in there.items():
        # what is inferred of the record is of the cluster on which it happened, whatever the size in question
        today, gpus = (_size_of(pool, own, part.gpus, at) for at in (0, size))
        if part.family == "srpt_mapping":
            part = replace(part, queue=with_walls(part.queue, today or own[pool], ranks, servers.get(pool)))
        try:
            made += [_piece(part, gpus, window, name, pool, size) for window, name in _windows(part)]
        except InputError:
            # on another size of the cluster a pool may be too small for any of its jobs
            if not size or len(parts) == 1:
                raise
            too_small.append(pool)
    words = f"Pools too small for any of their jobs, left out: {', '.join(too_small)}."
    notes = [Sentence(words, warns=True)] if too_small else []
    absent = ", ".join(name for name in parts if name not in there)
    notes += [Sentence(f"Pools without a job in the window, left out: {absent}.")] if absent else []
    return [replace(piece, audit=(*piece.audit, *notes)) for piece in made]


def _present(part: Question) -> bool:
    """Whether a job of a pool came in the window, or waited or ran when the only one began."""
    start_s = math.inf if part.window.start_s is None or part.window_s is not None else part.window.start_s
    return any(
        part.window.holds(job.submit_s) or job.submit_s < start_s < (job.end_s or -math.inf)
        for job in part.queue.jobs
        if job.duration_s is not None
    )


def _gpus_of(queue: Queue, options: Mapping[str, object]) -> int:
    """GPUs of a pool as its nodes, its quota or its jobs show them."""
    per = int(str(options.get("gpus_of_node", GPUS_OF_A_SERVER)))
    held = per * math.ceil(most_in_use(queue, queue.jobs) / per)
    return sum(node.gpus for node in queue.nodes) or sum(queue.pools.values()) or max(1, held)


def _size_of(pool: str, own: Mapping[str, int], sizes: Sequence[Size], at: int) -> int | None:
    """GPUs of a pool on one of the clusters; None: of the only pool, as the record shows them."""
    size = sizes[at]
    if isinstance(size, tuple):
        return size[1] if size[0] == pool else _size_of(pool, own, sizes, 0)
    return size if len(own) == 1 else _scaled(own, size)[pool]


def _scaled(own: Mapping[str, int], gpus: int | None) -> Mapping[str, int]:
    """Part GPUs among pools as they have them now, at least one each; what is left over goes to the largest remainders."""
    total = sum(own.values())
    gpus = total if gpus is None else gpus
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
    record, instance, happened = FAMILIES[question.family], imported.instance, imported.happened
    words = ", ".join(filter(None, (pool, name)))
    where = f"{Path(question.queue.path).name} [{words}]" if words else Path(question.queue.path).name
    recipe = recipe_of_instance(instance, f"{where} on {several(record.gpus(instance) or 0, 'GPU')}")
    # what breaks a rule of the family is not shown
    known = happened is not None and not record.check(instance, happened)
    times = times_of(instance, happened) if happened is not None and known else None
    jobs = jobs_of(instance, imported.jobs)
    return Piece(pool, size, name, imported, recipe, jobs, times, tuple(imported.audit))


def _consolidated(piece: Piece, why: Sequence[str]) -> Piece:
    """Return the piece with consolidated placement."""
    assert isinstance(piece.imported.instance, Instance)
    instance = piece.imported.instance.consolidating()
    recipe = recipe_of_instance(instance, piece.recipe.source)
    return replace(
        piece, imported=piece.imported._replace(instance=instance), recipe=recipe, audit=(*piece.audit, *why)
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
    warnings = []
    for size in dict.fromkeys(piece.size for piece in pieces if piece.size):
        there = [piece for piece in pieces if piece.size == size]
        gpus = sum({piece.pool: piece.gpus for piece in there}.values())
        kind = "pools" if len({piece.name for piece in there}) == 1 else "windows"
        warnings += [
            f"On {several(gpus, 'GPU')}: {sentence}"
            for sentence in in_short([piece.audit for piece in there], kind)
            if sentence.warns and not any(sentence in said for said in of_pool.values())
        ]
    more = [f"And {len(warnings) - MOST_WARNINGS:,} more such sentences."] if len(warnings) > MOST_WARNINGS else []
    return [*common, *own, *warnings[:MOST_WARNINGS], *more]


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
