"""Runs of a greedy method, from their ends backwards, and the rows that hold for every table with such a run.

A run ends with a count for every job. Each job then either has a *target*, the count of its next step, which
does not fit any more, or has none. An end together with one feasible allocation ``best`` is a sorted tuple
of triples (count, target, best), one per job, because exchanging the names of jobs changes nothing. Before
the last step some job j was at a smaller count, and its present count was its target; and so on back to the
smallest counts. The last steps alone already bound the method's ratio.

Rows, all ``>= 0``, by name:

==================  ===============================================================================================
``falls j n``       c_j(n) - c_j(n'), where n' is the count after n
``speed j n``       n' c_j(n') - n c_j(n)
``bends j n``       the saving per unit from n to n' minus that from n' to n''
``saves j u v``     c_j(u) - c_j(v): a step is taken because it saves
``steep j u v x``   hull: the saving per unit from u to v minus that from u to x
``stuck j u x``     c_j(x) - c_j(u): no step from u to x would save
``turn t i``        the t-th last step's saving per unit minus that of the step that i could have taken
==================  ===============================================================================================
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise

from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.worst.spaces import CLASSES, COUNTS

OWN = ", one of your own, which cannot be proven yet"
"""What is said of a user's method that a proof is asked of."""
METHODS = {"ring_allocation": ("doubling", "marginal", "hull"), "async_sgd": ("marginal",)}
NONE = 0
"""Target of a job that no further step improves."""


@dataclass(frozen=True)
class Setting:
    """The question how bad a method is at worst on tables of a class, with ``powers`` of two or ``all`` counts offered."""

    family: str
    method: str
    jobs: int
    gpus: int
    tables: str
    offered: str

    def __post_init__(self) -> None:
        _among("family", self.family, METHODS)
        _among("method", self.method, METHODS[self.family])
        _among("tables", self.tables, CLASSES)
        _among("counts", self.offered, COUNTS)
        if self.family == "async_sgd" and (self.tables, self.offered) != ("convex", "all"):
            raise UsageError(
                where="async_sgd: its times are convex in the nodes", found="other tables", allowed="convex, all"
            )
        if self.jobs < 1 or self.gpus < self.jobs:
            raise UsageError(where="jobs and gpus", found=f"{self.jobs} and {self.gpus}", allowed="1 <= jobs <= gpus")

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The counts offered that can fit, ascending."""
        return self.up_to(self.gpus - self.jobs + 1)

    @cached_property
    def reachable(self) -> tuple[int, ...]:
        """The counts that the method may hold on its way."""
        return _powers(self.counts[-1]) if self.method == "doubling" else self.counts

    def up_to(self, most: int) -> tuple[int, ...]:
        """Return the counts offered that are at most ``most``."""
        return tuple(range(1, most + 1)) if self.offered == "all" else _powers(most)

    @property
    def assumed(self) -> str:
        """The class that suffices: ``hull`` and the optimum see no change when costs become the least up to their counts."""
        return "monotone" if self.method == "hull" and self.tables == "any" else self.tables

    @property
    def falling(self) -> bool:
        """Whether costs do not rise with the count."""
        return self.assumed != "any"

    @property
    def leaps(self) -> bool:
        """Whether a step may pass over counts: on ``convex`` tables all counts that save lie on the hull."""
        return self.method == "hull" and self.tables != "convex"

    def targets(self, count: int) -> tuple[int, ...]:
        """Return the counts to which a step may lead: any larger one if steps leap, else the next one held."""
        later = self.reachable[self.reachable.index(count) + 1 :]
        return later if self.leaps else later[:1]

    def sources(self, count: int) -> tuple[int, ...]:
        """Return the counts from which a step may lead to ``count``."""
        earlier = self.reachable[: self.reachable.index(count)]
        return earlier if self.leaps else earlier[-1:]


def _powers(most: int) -> tuple[int, ...]:
    return tuple(2**k for k in range(most.bit_length()))


def _among(field: str, found: str, allowed: Iterable[str]) -> None:
    names = tuple(allowed)
    if found not in names:
        raise UsageError(where=field, found=repr(found) + OWN * (":" in found), allowed=", ".join(names))


Row = dict[tuple[int, int], int]
"""Coefficients by job and count."""
Rows = dict[str, Row]
End = tuple[tuple[int, int, int], ...]
LARGEST = 2 * 10**6
"""Largest number of ends times jobs that is examined: a GiB of memory; with two jobs a million ends."""


def ends(setting: Setting, tick: Tick = no_tick) -> Iterator[End]:
    """Yield all ends of runs, each with every allocation that can be best, up to the names of the jobs.

    ``UsageError``: there are more ends and rejected candidates than ``LARGEST`` allows.
    """
    most = LARGEST // setting.jobs
    bests = list(islice(_bests(setting, tick), most))
    looked_at = len(bests)
    pairs = [(count, target) for count in setting.reachable for target in (NONE, *setting.targets(count))]
    for chosen in _within(pairs, setting.jobs, setting.gpus, ascending=True):
        tick()
        looked_at += 1
        if looked_at >= most:
            raise UsageError(
                where="jobs and gpus", found=f"{most} ends of runs or more", allowed="fewer jobs, GPUs or counts"
            )
        free = setting.gpus - sum(count for count, _ in chosen)
        if not all(_ends(setting, count, target, free) for count, target in chosen):
            continue
        for best in bests:
            end = tuple(
                (count, target, best_count) for (count, target), (best_count, _) in zip(chosen, best, strict=True)
            )
            if all(first <= second for first, second in pairwise(end)):
                looked_at += 1
                yield end


def _ends(setting: Setting, count: int, target: int, free: int) -> bool:
    """Whether a job may end like this: its step does not fit, or, if costs may stall, no step saves."""
    if target != NONE:
        return target - count > free
    later = setting.targets(count)
    # the last count, or savings that fall
    if not later or setting.tables == "convex":  # there, steps that save nothing may be taken to the end
        return not later
    return setting.leaps or later[0] - count <= free


def _bests(setting: Setting, tick: Tick) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield allocations that fit; if costs fall, only those in which no job could have a larger count."""
    added = {low: high - low for low, high in pairwise(setting.counts)}
    for best in _within([(count, NONE) for count in setting.counts], setting.jobs, setting.gpus, ascending=False):
        tick()
        spare = setting.gpus - sum(best_count for best_count, _ in best)
        if not setting.falling or all(added.get(best_count, setting.gpus) > spare for best_count, _ in best):
            yield best


def _within(
    pairs: Sequence[tuple[int, int]], jobs: int, room: int, *, ascending: bool
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Yield all choices of a pair per job, optionally ascending ones only, whose counts fit into the room."""
    if jobs == 0:
        yield ()
        return
    for k, pair in enumerate(pairs):
        # counts ascend: no later pair fits either
        if pair[0] + jobs - 1 > room:
            return
        # ascending choices stand for all orders of the jobs' names
        for rest in _within(pairs[k:] if ascending else pairs, jobs - 1, room - pair[0], ascending=ascending):
            yield (pair, *rest)


@dataclass(frozen=True)
class Tail:
    """The last steps of a run, pairs (job, its count before the step), the last step first, and an allocation that may be best.

    ``counts``, ``targets``: count and target of every job before the earliest of these steps.
    """

    end: End
    steps: tuple[tuple[int, int], ...]
    counts: tuple[int, ...]
    targets: tuple[int, ...]

    @classmethod
    def at(cls, end: End) -> "Tail":
        """Make the tail that has an end, but no steps yet."""
        return cls(end, (), tuple(count for count, _, _ in end), tuple(target for _, target, _ in end))

    @property
    def whole(self) -> bool:
        """Whether the tail is a whole run."""
        return set(self.counts) == {1}

    def before(self, setting: Setting) -> Iterator["Tail"]:
        """Yield the tails that have one more, earlier step."""
        for job, count in enumerate(self.counts):
            for source in setting.sources(count):
                yield Tail(
                    self.end,
                    (*self.steps, (job, source)),
                    (*self.counts[:job], source, *self.counts[job + 1 :]),
                    (*self.targets[:job], count, *self.targets[job + 1 :]),
                )


def class_rows(setting: Setting) -> Rows:
    """Return the rows that hold for every table of the class."""
    rows: Rows = {}
    for job in range(setting.jobs if setting.falling else 0):
        steps = list(pairwise(setting.counts))
        for low, high in steps:
            rows[f"falls {job} {low}"] = {(job, low): 1, (job, high): -1}
            if setting.assumed != "monotone":
                rows[f"speed {job} {low}"] = {(job, high): high, (job, low): -low}
        for (low, middle), (_, high) in pairwise(steps) if setting.tables == "convex" else ():
            rows[f"bends {job} {low}"] = _less((job, low, middle), (job, middle, high))
    return rows


def end_rows(setting: Setting, end: End) -> Rows:
    """Return the rows that follow from the targets with which a run ends."""
    rows: Rows = {}
    for job, (count, target, _) in enumerate(end):
        if target == NONE:
            for later in setting.targets(count):
                rows[f"stuck {job} {count} {later}"] = {(job, later): 1, (job, count): -1}
        elif setting.leaps:
            rows |= _step(setting, job, count, target)
    return rows


def last_rows(setting: Setting, tail: Tail) -> Rows:
    """Return the rows that follow from the earliest step of the tail."""
    if not tail.steps:
        return end_rows(setting, tail.end)
    job, low = tail.steps[-1]
    high = tail.targets[job]
    rows = _step(setting, job, low, high)
    free = setting.gpus - sum(tail.counts)
    for other, (count, target) in enumerate(zip(tail.counts, tail.targets, strict=True)):
        if other != job and target != NONE and target - count <= free:
            rows[f"turn {len(tail.steps)} {other}"] = _less((job, low, high), (other, count, target))
    return rows


def _step(setting: Setting, job: int, low: int, high: int) -> Rows:
    """Return the rows that a step implies, whatever the other jobs do."""
    # where costs never rise the class's own rows say that a step saves
    rows: Rows = {} if setting.falling else {f"saves {job} {low} {high}": {(job, low): 1, (job, high): -1}}
    if setting.leaps:
        for other in setting.targets(low):
            if other != high:
                rows[f"steep {job} {low} {high} {other}"] = _less((job, low, high), (job, low, other))
    return rows


def _less(first: tuple[int, int, int], second: tuple[int, int, int]) -> Row:
    """Saving per unit of the first step (job, from, to) minus that of the second, times both lengths."""
    row: Row = {}
    for sign, (job, low, high), (_, begin, end) in ((1, first, second), (-1, second, first)):
        for where, coefficient in ((low, sign * (end - begin)), (high, sign * (begin - end))):
            row[job, where] = row.get((job, where), 0) + coefficient
    return row
