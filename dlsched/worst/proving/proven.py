"""``prove``: how bad a method is at worst, with a certificate."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from operator import itemgetter

from dlsched.core.budget import Budget, Stopped
from dlsched.core.display import Brief
from dlsched.core.errors import SolverError, UsageError
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits, Progress, ProgressCallback
from dlsched.worst.proving.instances import equal_jobs, instance_of, ratio_of
from dlsched.worst.proving.programs import Multipliers
from dlsched.worst.proving.runs import End, Tail
from dlsched.worst.proving.search import Tree, search
from dlsched.worst.proving.setting import Setting
from dlsched.worst.proving.showing import Table, approaching, attaining

KIND = "worst"
_NEAR = Fraction(1, 2**24)
"""Multiple of the inside table that is added to the limit, to make the instance shown."""
_EVERY = 50  # programs between two reports


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
    budget = Budget(limits)

    def tick(programs: int) -> None:
        budget.tick(programs)
        if programs and progress is not None and budget.nodes % _EVERY == 0:
            progress(Progress(budget.elapsed_s, None, None, budget.nodes, "proof"))

    try:
        tree = search(setting, tick)
    except Stopped as stopped:
        message = (
            f"limits: found a {stopped} after {budget.nodes} linear programs, allowed: more, the proof is not done"
        )
        raise UsageError(message) from None
    instance, ratio, limit = _shown(setting, tree)
    return Proven(
        setting=setting,
        supremum=tree.supremum,
        ratio=ratio,
        instance=instance,
        programs=tree.programs,
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
    trees: dict[End, Node] = {}
    for tail, multipliers in leaves:
        node = trees.setdefault(tail.end, Node())
        for job, count in tail.steps:
            node = node.before.setdefault(f"{job} {count}", Node())
        node.multipliers = {name: str(value) for name, value in sorted(multipliers.items())}
    return [
        {"end": [list(triple) for triple in end], **node.as_data()}
        for end, node in sorted(trees.items(), key=itemgetter(0))
    ]


@dataclass
class Node:
    """A tail of runs in the proof: the multipliers that bound its ratio, or the steps that may come before it."""

    multipliers: dict[str, str] | None = None
    before: dict[str, "Node"] = field(default_factory=dict)

    def as_data(self) -> dict[str, object]:
        """Return the tree as certificates hold it."""
        if self.multipliers is not None:
            return {"multipliers": self.multipliers}
        return {"before": {step: node.as_data() for step, node in self.before.items()}}
