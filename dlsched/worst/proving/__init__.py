"""Proofs of how bad an allocation heuristic can be: linear programs over the sequences of its decisions.

A step needs ``>`` if a tie would be decided otherwise, but the programs have ``>=``. If a table of the
largest ratio satisfies all rows that have to be strict, for some order of the jobs, it attains the supremum.
Else a *limit* satisfies the rows as the programs have them, and an *inside* table satisfies them strictly.
The run happens on limit + e inside, e > 0, and its ratio approaches the supremum as e approaches 0; if the
limit's best allocation costs nothing, the ratio is unbounded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice, permutations, product
from math import gcd, lcm
from operator import itemgetter

from dlsched import async_sgd, ring_allocation
from dlsched.core.display import Brief
from dlsched.core.errors import SolverError
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits, ProgressCallback
from dlsched.worst.proving.branch_and_bound import (
    RIGHT,
    Equation,
    Leaf,
    Multipliers,
    Place,
    Tree,
    search,
    vertex,
    within_limits,
)
from dlsched.worst.proving.ordering import Bounded, bound_by_order
from dlsched.worst.proving.runs import End, Row, Rows, Setting, Tail, class_rows
from dlsched.worst.proving.verification import Verified, verify
from dlsched.worst.spaces import Data

__all__ = ["Bounded", "Proven", "Verified", "bound_by_order", "prove", "verify"]


Table = dict[Place, Fraction]
_TIGHT = 1e-7
_ORDERS = 24


@dataclass(frozen=True)
class Run:
    """Rows of a whole run, >= 0: those that may be 0, and those that have to be > 0.

    ``turns``, by (job, other): comparisons with another job, > 0 if that job comes before the one that takes its step.
    """

    loose: Rows
    strict: Rows
    turns: dict[tuple[int, int], list[Row]]


def run_of(setting: Setting, leaf: Leaf) -> Run:
    """Sort the rows of a worst run."""
    steps = []
    counts = [count for count, _, _ in leaf.tail.end]
    loose, strict = class_rows(setting), {}
    turns: dict[tuple[int, int], list[Row]] = {}
    # backwards from the end: a step leads to the count that its job held after it
    for job, low in leaf.tail.steps:
        steps.append((job, low, counts[job]))
        counts[job] = low
    for job, low, high in steps:
        strict[f"saves {job} {low} {high}"] = {(job, low): 1, (job, high): -1}
    for name, row in leaf.rows.items():
        kind, *numbers = name.split()
        # a tie is decided by the order of the jobs, which the caller chooses
        if kind == "turn":
            turns.setdefault((steps[int(numbers[0]) - 1][0], int(numbers[1])), []).append(row)
        elif kind == "steep" and int(numbers[3]) < int(numbers[2]):  # a count on the line would not be passed over
            strict[name] = row
        else:
            loose[name] = row
    return Run(loose, strict, turns)


def attaining(setting: Setting, leaf: Leaf, supremum: Fraction) -> Iterator[tuple[Table, tuple[int, ...]]]:
    """Yield tables that may attain the largest ratio, each with the order of the jobs that decides its ties.

    The method takes no steps that save nothing; still, a table on which the last steps save nothing may attain it.
    """
    run = run_of(setting, leaf)
    worst = {place: Fraction(0) for place in (*leaf.final, *leaf.best)}
    for place in leaf.final:
        worst[place] += supremum.denominator
    for place in leaf.best:
        worst[place] -= supremum.numerator
    equal = [(worst, Fraction(0)), (dict.fromkeys(leaf.best, Fraction(1)), Fraction(1))]
    # for each order first tables on which every step saves, then those on which steps may save nothing
    for order, saving in product(islice(permutations(range(setting.jobs)), _ORDERS), (True, False)):
        loose, strict = list(run.loose.values()), list[Row]()
        for name, row in run.strict.items():
            (strict if saving or not name.startswith("saves") else loose).append(row)
        for (job, other), rows in run.turns.items():
            (strict if order.index(other) < order.index(job) else loose).extend(rows)
        table = _table(setting, loose, strict, equal)
        if table is not None:
            yield table, order


def approaching(setting: Setting, leaf: Leaf, supremum: Fraction | None) -> tuple[Table, Table] | None:
    """Return a limit and an inside table; None if the solver finds none in floats."""
    run = run_of(setting, leaf)
    turns = [row for rows in run.turns.values() for row in rows]
    loose, strict = list(run.loose.values()), list(run.strict.values())
    final, best = (dict.fromkeys(places, Fraction(1)) for places in (leaf.final, leaf.best))
    inside = _table(setting, loose, strict + turns, [(best, Fraction(1))])
    if supremum is None:
        limit = _table(setting, loose + strict + turns, None, [(best, Fraction(0)), (final, Fraction(1))])
    else:
        limit = _table(setting, loose + strict + turns, None, [(best, Fraction(1)), (final, supremum)])
    return None if limit is None or inside is None else (limit, inside)


def _table(
    setting: Setting,
    loose: Sequence[Row],
    strict: Sequence[Row] | None,
    equal: Sequence[tuple[dict[Place, Fraction], Fraction]],
) -> Table | None:
    """Return the table with strict rows and costs as far from 0 as possible; None if they cannot be > 0.

    With None for ``strict`` costs may be 0.
    """
    places = [(job, count) for job in range(setting.jobs) for count in setting.counts]
    index = {place: k for k, place in enumerate(places)}
    margin = len(places)
    rows: list[Equation] = [{index[place]: Fraction(c) for place, c in row.items() if c} for row in loose]
    if strict is not None:
        rows += [
            {
                **{index[place]: Fraction(c, max(map(abs, row.values()))) for place, c in row.items() if c},
                margin: Fraction(-1),
            }
            for row in (*strict, *({place: 1} for place in places))
        ]
    fixed = [
        {**{index[place]: value for place, value in terms.items() if value}, RIGHT: right} for terms, right in equal
    ]
    bounds = [(0, None)] * margin + [(0, None if strict is not None else 0)]
    exact = vertex({margin: Fraction(1)}, rows, fixed, margin + 1, _TIGHT, bounds=bounds, options={"presolve": False})
    if exact is None or (strict is not None and exact[margin] == 0):
        return None
    return {place: exact[k] for place, k in index.items()}


def instance_of(setting: Setting, table: Table, order: tuple[int, ...]) -> ring_allocation.Instance:
    """Make an instance of a table; counts that cannot fit cost as much as the largest count that can."""
    # whole numbers are exact in floats, and a common factor does not matter
    scale = lcm(*(cost.denominator for cost in table.values()))
    whole = {place: int(cost * scale) for place, cost in table.items()}
    shared = gcd(*whole.values())
    last = setting.counts[-1]
    jobs = [
        ring_allocation.Job(
            id=f"job{position}",
            epochs=1.0,
            epoch_time_s={
                count: float(whole[job, min(count, last)] // shared) for count in setting.up_to(setting.gpus)
            },
        )
        for position, job in enumerate(order)
    ]
    name = f"worst-{setting.method}-{setting.jobs}-jobs-{setting.gpus}-gpus-{setting.tables}-{setting.offered}"
    return ring_allocation.Instance(name=name, gpus=setting.gpus, jobs=jobs)


def ratio_of(setting: Setting, instance: ring_allocation.Instance) -> Fraction:
    """Run the method, and divide the cost of its answer by the optimum, both in rationals."""
    allocation = getattr(ring_allocation, setting.method)(instance)
    objective = sum(_cost(instance, job, allocation.gpus[each.id]) for job, each in enumerate(instance.jobs))
    least: dict[int, Fraction] = {0: Fraction(0)}
    for job in range(len(instance.jobs)):
        more: dict[int, Fraction] = {}
        for used, total in least.items():
            for count in instance.counts(job):
                if used + count <= instance.gpus:
                    cost = total + _cost(instance, job, count)
                    more[used + count] = min(cost, more.get(used + count, cost))
        least = more
    return Fraction(objective) / min(least.values())


def equal_jobs(setting: Setting) -> InstanceFile:
    """Make an instance of ``async_sgd`` with equal jobs."""
    job = {"epochs": 1.0, "dataset_examples": 100.0, "batch_examples": 10.0, "parameter_bytes": 0.0}
    speed = {"bandwidth_bytes_per_s": 1.0, "compute_s": 1.0}
    jobs = [async_sgd.Job(id=f"job{k}", **job, **speed) for k in range(setting.jobs)]
    return async_sgd.Instance(name=f"equal-{setting.jobs}-jobs-{setting.gpus}-nodes", nodes=setting.gpus, jobs=jobs)


def _cost(instance: ring_allocation.Instance, job: int, count: int) -> Fraction:
    times = instance.jobs[job].epoch_time_s
    assert times is not None
    return Fraction(times[count])


KIND = "worst"
_NEAR = Fraction(1, 2**24)
"""Multiple of the inside table that is added to the limit, to make the instance shown."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Proven(Brief):
    """The supremum of the ratio of a method's objective to the optimum, over all instances of a setting.

    Parameters
    ----------
    setting
        The setting whose instances are meant.
    supremum
        The supremum; None: the ratio is unbounded.
    ratio
        Ratio of ``instance``.
    instance
        A worst instance, or one close to it.
    programs
        Number of linear programs solved.
    leaves
        Leaves of the proof; none if there is no supremum.
    limit
        If no instance attains the supremum: the tables that approach it, as in the certificate.
    """

    setting: Setting
    supremum: Fraction | None
    ratio: Fraction
    instance: InstanceFile
    programs: int
    leaves: Sequence[tuple[Tail, Multipliers]] = field(repr=False)
    limit: dict[str, object] | None = field(repr=False)

    @property
    def attained(self) -> bool:
        """Whether the ratio of the instance equals the supremum."""
        return self.ratio == self.supremum

    def as_data(self) -> dict[str, object]:
        """Return the certificate, a JSON object that ``dlsched check`` verifies in rationals."""
        asked = self.setting
        data: dict[str, object] = {"kind": KIND, "family": asked.family, "method": asked.method, "jobs": asked.jobs}
        data |= {"gpus": asked.gpus, "tables": asked.tables, "counts": asked.offered}
        data |= {"supremum": self._text, "ratio": str(self.ratio)}
        data |= {"instance": self.instance.as_data(), "proof": _proof(self.leaves)}
        return data if self.limit is None else {**data, "limit": self.limit}

    def brief(self) -> dict[str, object]:
        """Return the number of jobs, the supremum, and whether it is attained, for JSON."""
        return {"jobs": self.setting.jobs, "supremum": self._text, "attained": self.attained}

    @property
    def _text(self) -> str | None:
        return None if self.supremum is None else str(self.supremum)


def prove(
    family: str,
    method: str,
    *,
    jobs: int = 2,
    gpus: int,
    tables: str = "convex",
    counts: str | None = None,
    limits: Limits | None = None,
    progress: ProgressCallback | None = None,
) -> Proven:
    """Prove how bad a greedy method can be: find the supremum of the ratio of its objective to the optimum.

    Parameters
    ----------
    family, method
        ``ring_allocation`` with ``doubling``, ``marginal`` or ``hull``, or ``async_sgd`` with ``marginal``.
    jobs, gpus
        Number of jobs, which hold no GPUs yet, and number of GPUs (nodes).
    tables
        Class of the tables of costs, by count: ``any`` costs >= 0; ``monotone``: they do not rise; ``sublinear``: and count
        times cost does not fall; ``convex``: and what an added GPU saves does not rise along the counts offered.
    counts
        ``powers`` of two, or ``all``. None: ``powers``, but ``all`` in ``async_sgd``, which has no other
        choice.
    limits
        Limits of the search; its nodes are linear programs.
    progress
        Called now and then with the number of programs.

    Raises
    ------
    UsageError
        The method, class or size is not supported, or a limit was reached before the proof was done.
    SolverError
        HiGHS gives no answer, or one that no rationals confirm.
    """
    offered = ("all" if family == "async_sgd" else "powers") if counts is None else counts
    setting = Setting(family, method, jobs, gpus, tables, offered)
    tree, programs = within_limits(limits, progress, lambda tick: search(setting, tick))
    instance, ratio, limit = _shown(setting, tree)
    return Proven(
        setting=setting,
        supremum=tree.supremum,
        ratio=ratio,
        instance=instance,
        programs=programs,
        leaves=tree.leaves,
        limit=limit,
    )


def _shown(setting: Setting, tree: Tree) -> tuple[InstanceFile, Fraction, dict[str, object] | None]:
    """Return an instance, its ratio and, if that is below the supremum, the proof that others approach it."""
    if setting.family == "async_sgd":
        return equal_jobs(setting), Fraction(1), None
    if tree.supremum is not None:
        for table, order in attaining(setting, tree.worst, tree.supremum):
            instance = instance_of(setting, table, order)
            ratio = ratio_of(setting, instance)
            if ratio == tree.supremum:
                return instance, ratio, None
    pair = approaching(setting, tree.worst, tree.supremum)
    if pair is None:
        raise SolverError("no table of rationals was found on which the worst run happens")
    limit, inside = pair
    # near enough that the ratio shows the supremum, far enough that floats are exact
    near = {place: limit[place] + _NEAR * inside[place] for place in limit}
    instance = instance_of(setting, near, tuple(range(setting.jobs)))
    ratio = ratio_of(setting, instance)
    if ratio == tree.supremum:
        return instance, ratio, None
    best = [best for _, best in tree.worst.best]
    return instance, ratio, {"best": best, "limit": _rows(setting, limit), "inside": _rows(setting, inside)}


def _rows(setting: Setting, table: Table) -> list[list[str]]:
    return [[str(table[job, count]) for count in setting.counts] for job in range(setting.jobs)]


def _proof(leaves: Sequence[tuple[Tail, Multipliers]]) -> list[dict[str, object]]:
    """Leaves as nested objects, one for every end of runs."""
    trees: dict[End, Data] = {}
    for tail, multipliers in leaves:
        node = trees.setdefault(tail.end, {})
        for job, count in tail.steps:
            node = node.setdefault("before", {}).setdefault(f"{job} {count}", {})
        node["multipliers"] = {name: str(value) for name, value in sorted(multipliers.items())}
    return [{"end": [list(triple) for triple in end], **node} for end, node in sorted(trees.items(), key=itemgetter(0))]
