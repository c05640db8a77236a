"""``prove_policy``: the supremum of a policy's ratio to the optimum over all arrivals and works, with a certificate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise, product
from math import gcd, lcm
from typing import Literal

from dlsched.core.display import Brief
from dlsched.core.elementary import float_power
from dlsched.core.errors import SolverError, UsageError
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Budget, Limits, ProgressCallback, Stopped
from dlsched.elastic_stream import policies
from dlsched.elastic_stream.heuristics import SIZINGS
from dlsched.elastic_stream.simulation.view import Policy
from dlsched.worst.competitive.own import OwnPolicy, own_policy
from dlsched.worst.competitive.runs import ARRIVAL, Unbounded
from dlsched.worst.competitive.search import Found, Leaf, Search
from dlsched.worst.competitive.stream import Speeds, play
from dlsched.worst.competitive.tables import unflat
from dlsched.worst.competitive.verification import verify
from dlsched.worst.competitive.witnesses import Point, Region, approaching, attaining, shown
from dlsched.worst.proving.branch_and_bound import counting

LARGEST = 10**6
"""Largest numerator and denominator of a speed, and of a weight."""
MOST_TABLES, MOST_WEIGHTS, MOST_UNITS = 4, 4, 64
_HUNDRED = 100


def power(units: int, exponent: Fraction) -> Fraction:
    """n^p, rounded to hundredths."""
    return Fraction(round(_HUNDRED * float_power(float(units), float(exponent))), _HUNDRED)


def amdahl(units: int, serial: Fraction) -> Fraction:
    """1 / (f + (1 - f) / n), exactly, f the serial part (Amdahl 1967)."""
    return 1 / (serial + (1 - serial) / units)


_LAWS: dict[str, Callable[[int, Fraction], Fraction]] = {"power": power, "amdahl": amdahl}


def speeds_of(text: str, units: int | None = None) -> tuple[tuple[Fraction, ...], ...]:
    """Read tables of speeds on 1, 2, ... ``units`` (None: as many as the first table has), separated by ``;``.

    A table has as many fractions or decimals as there are units, ``1,9/5,5/2,31/10``; or it is ``linear``, ``power:4/5``
    (rounded to hundredths) or ``amdahl:1/10``.

    >>> speeds_of("1,9/5"), speeds_of("amdahl:1/2", 2)
    (((Fraction(1, 1), Fraction(9, 5)),), ((Fraction(1, 1), Fraction(4, 3)),))
    """
    tables = []
    for part in text.split(";"):
        name, _, argument = part.strip().partition(":")
        if name == "linear" or name in _LAWS:
            if units is None:
                raise UsageError(where="gpus", found="none", allowed="a number of units, for a law of speeds")
            _require_units(units)
            tables.append(_of_law(part, name, argument, units))
        else:
            tables.append(tuple(number_of(each) for each in part.split(",")))
            units = len(tables[-1]) if units is None else units
    if len(tables) > MOST_TABLES:
        raise UsageError(where="speeds", found=f"{len(tables)} tables", allowed=f"at most {MOST_TABLES}")
    for table in tables:
        _require(table, units or 0)
    return tuple(tables)


def weights_of(text: str) -> tuple[int, ...]:
    """Read the weights that jobs may have, fractions or decimals separated by ``,``, as prove_policy takes them.

    >>> weights_of("1,1/3,2/3"), weights_of("2.5,2.5")
    ((1, 2, 3), (1,))
    """
    return _coprime([number_of(each, "weights") for each in text.split(",")])


def _coprime(weights: Sequence[Fraction]) -> tuple[int, ...]:
    """Different weights as whole numbers without a common divisor, ascending: no ratio depends on their unit."""
    if not weights or min(weights) <= 0:
        raise UsageError(where="weights", found=", ".join(map(str, weights[:8])), allowed="positive ones")
    scale = lcm(*(each.denominator for each in weights))
    common = gcd(*(int(each * scale) for each in weights))
    whole = sorted({int(each * scale) // common for each in weights})
    if len(whole) > MOST_WEIGHTS or whole[-1] > LARGEST:
        found = ", ".join(map(str, whole[:8]))
        allowed = f"at most {MOST_WEIGHTS}, in whole numbers of at most {LARGEST}"
        raise UsageError(where="weights", found=found, allowed=allowed)
    return tuple(whole)


def _of_law(part: str, name: str, argument: str, units: int) -> tuple[Fraction, ...]:
    if name == "linear":
        if argument:
            raise UsageError(where="speeds", found=repr(part), allowed="linear, without a number")
        return tuple(Fraction(n) for n in range(1, units + 1))
    value = number_of(argument)
    if not 0 <= value <= 1:
        raise UsageError(where="speeds", found=repr(part), allowed=f"{name}:P with P from 0 to 1")
    return tuple(_LAWS[name](n, value) for n in range(1, units + 1))


def number_of(text: str, where: str = "speeds") -> Fraction:
    """Read a fraction or a decimal; UsageError: it is none, or too long."""
    try:
        value = Fraction(text.strip()) if len(text) < len(str(LARGEST)) * 3 and "e" not in text.lower() else None
    except (ValueError, ZeroDivisionError):
        value = None
    if value is None or max(abs(value.numerator), value.denominator) > LARGEST:
        laws = ", linear, power:P or amdahl:F" if where == "speeds" else ""
        allowed = f"fractions or decimals of at most {LARGEST}{laws}"
        raise UsageError(where=where, found=repr(text[:40]), allowed=allowed)
    return value


def _require_units(units: int) -> None:
    if not 1 <= units <= MOST_UNITS:
        raise UsageError(where="gpus", found=units, allowed=f"1 to {MOST_UNITS}")


def _require(table: tuple[Fraction, ...], units: int) -> None:
    _require_units(units)
    if len(table) != units:
        raise UsageError(
            where="speeds", found=f"{len(table)} of them", allowed=f"{units}, one for each number of units"
        )
    if table[0] <= 0 or any(after < before for before, after in pairwise(table)):
        found = ", ".join(map(str, table[:8]))
        raise UsageError(where="speeds", found=found, allowed="positive ones that do not fall")


KIND, FAMILY = "competitive", "elastic_stream"
MOST_JOBS = 5
POLICIES: dict[str, Callable[[], Policy]] = {
    "doubling": policies.Doubling,
    "marginal": policies.Marginal,
    "fixed": lambda: policies.Queue("fifo", policies.Fixed()),
    "equal": lambda: policies.EqualShare("fifo"),
    "myopic": policies.Myopic,
    "weighted": policies.Weighted,
    **{
        f"{order}-{sizing}": lambda order=order, sizing=sizing: SIZINGS[sizing](order)  # type: ignore[misc]
        for order in policies.ORDERS
        for sizing in SIZINGS
    },
}
"""Policies that decide at arrivals and ends by comparing linear forms, by the names of their methods."""
_NOT = {
    "exploratory": "it measures each count for a fixed number of seconds",
    "priced": "it weighs jobs on a grid of prices, in floats",
    "plan": "it knows the whole stream",
}
_TIES = ("myopic",)
"""Policies whose ties may go either way: they are shown instances without ties."""


@dataclass(frozen=True)
class Setting:
    """The question: a policy, a number of jobs, the tables of speeds on 1, 2, ... units and the weights that they may have."""

    method: str
    jobs: int
    speeds: tuple[Speeds, ...]
    weights: tuple[int, ...] = (1,)
    own: OwnPolicy | None = None

    @property
    def policy(self) -> Callable[[], Policy]:
        """Makes fresh policies."""
        return self.own or POLICIES[self.method]

    @property
    def units(self) -> int:
        """Units of the cluster."""
        return len(self.speeds[0])

    @property
    def choices(self) -> list[tuple[int, ...]]:
        """All choices of a class for each job, of the tables' first with each weight, then of the next."""
        return list(product(range(len(self.speeds) * len(self.weights)), repeat=self.jobs))

    def chosen(self, classes: Sequence[int]) -> tuple[list[Speeds], list[int]]:
        """Return the tables and weights of a choice."""
        pairs = list(product(self.speeds, self.weights))
        return [pairs[each][0] for each in classes], [pairs[each][1] for each in classes]


@dataclass(frozen=True, kw_only=True, repr=False)
class Supremum(Brief):
    """The supremum of the ratio of a policy's total weighted flow time to the optimum's, over all arrivals and works.

    ``supremum``: None if the search was stopped, or found no instance that approaches ``at_most``; ``at_most``: what the ratio
    is proven not to exceed, None if that is not known yet; ``ratio``: flow time of the policy on ``instance``, a worst one or
    close to it, over that of ``schedule``, in the numbers of the instance; ``limit``: what is approached, or attained by numbers
    that floats cannot say, if the instance has not the supremum; ``programs``: linear programs solved; ``trees``: leaves of the
    proof, for each choice of classes; ``ended``: ``budget`` where nothing stopped it.
    """

    setting: Setting
    supremum: Fraction | None
    at_most: Fraction | None
    ratio: Fraction
    instance: InstanceFile
    schedule: Point = field(repr=False)
    limit: Point | None = field(repr=False)
    programs: int
    trees: dict[tuple[int, ...], list[Leaf]] = field(repr=False)
    ended: Literal["budget", "limit", "interrupted"] = "budget"

    @property
    def space(self) -> str:
        """Of what instances it speaks."""
        return f"all arrivals and works, with the speeds {'given' if self.setting.weights == (1,) else 'and weights given'}"

    @property
    def attained(self) -> bool:
        """Whether an instance has the supremum: the one that is shown, or one that floats cannot say exactly."""
        exact = self.limit is not None and not any(each.toward for each in (*self.limit.arrivals, *self.limit.works))
        return self.ratio == self.supremum or exact

    def as_data(self) -> dict[str, object]:
        """Return the certificate, a JSON object that ``dlsched check`` verifies in rationals."""
        asked = self.setting
        data: dict[str, object] = {"kind": KIND, "family": FAMILY, "method": asked.method, "jobs": asked.jobs}
        if asked.own is not None:
            data["code_sha256"] = asked.own.sha256
        data |= {"units": asked.units, "speeds": [[str(each) for each in table] for table in asked.speeds]}
        if asked.weights != (1,):
            data["weights"] = [str(each) for each in asked.weights]
        data |= self._ends()
        data |= {"ratio": str(self.ratio), "instance": self.instance.as_data()}
        data["schedule"] = [{"seconds": str(time.at), "units": list(units)} for time, units in self.schedule.pieces]
        if self.limit is not None:
            data["limit"] = _limit(self.limit)
        data["proof"] = [{"classes": list(each), "tree": tree_of(leaves)} for each, leaves in self.trees.items()]
        return data

    def brief(self) -> dict[str, object]:
        """Return the number of jobs, the supremum or an interval, and whether the supremum is attained, for JSON."""
        interval = (
            {} if self.supremum is not None else {"at_least": str(max(self.ratio, Fraction(1))), "supremum": None}
        )
        return {"jobs": self.setting.jobs} | self._ends() | interval | {"attained": self.attained}

    def _ends(self) -> dict[str, object]:
        """The supremum, or what the ratio does not exceed."""
        if self.supremum is not None:
            return {"supremum": str(self.supremum)}
        return {"at_most": None if self.at_most is None else str(self.at_most)}


def prove_policy(
    method: str | type[Policy],
    *,
    speeds: Sequence[Sequence[Fraction | int | str]],
    weights: Sequence[Fraction | int | str] = (1,),
    jobs: int = 2,
    limits: Limits | None = None,
    progress: ProgressCallback | None = None,
) -> Supremum:
    """Prove how bad a policy of elastic_stream can be: find the supremum of its ratio to the optimum.

    Stopped by a limit or by Ctrl-C, it returns an interval that holds the supremum: ``ratio`` to ``at_most``.

    ``method``: name of a policy; FILE.py:NAME of a class of your own, or that class. Its code runs in this process, and its
    supremum is that over instances without ties: no two events at one time, no two compared values equal. ``speeds``: one or more
    tables of speeds on 1, 2, ..., C units; a job has any of them. ``weights``: of flow times; a job has any of them. They are
    taken as whole numbers without a common divisor. ``limits``: of the search; its nodes are linear programs. ``progress``:
    called now and then with the number of programs.

    UsageError: the policy cannot be proven, as its code does what a proof cannot follow, and where, or its ratio has no bound; or
    a limit was reached before anything was proven (Ctrl-C: KeyboardInterrupt). SolverError: HiGHS gives no answer, or one that
    no rationals confirm.
    """
    own = None if isinstance(method, str) and ":" not in method else own_policy(method)
    name = str(method) if own is None else own.text
    if own is None and method not in POLICIES:
        why = f", {_NOT[name]}" if name in _NOT else ""
        raise UsageError(where="method", found=f"{name!r}{why}", allowed=f"{', '.join(POLICIES)}, or FILE.py:CLASS")
    if not 1 <= jobs <= MOST_JOBS:
        raise UsageError(where="jobs", found=jobs, allowed=f"1 to {MOST_JOBS}")
    tables = tuple(tuple(Fraction(each) for each in table) for table in speeds)
    setting = Setting(name, jobs, tables, _coprime([Fraction(each) for each in weights]), own)
    budget, found = Budget(limits), dict[tuple[int, ...], Found]()
    ended: BaseException | None = None
    for classes in setting.choices:
        search = Search(setting.policy, *setting.chosen(classes), counting(budget, progress))
        try:
            found[classes] = search.run()
        except Unbounded as unbounded:
            raise UsageError(f"{name}: the ratio has no bound: jobs wait after these events: {unbounded}") from None
        except (Stopped, KeyboardInterrupt) as stopped:
            ended, part = stopped, search.stopped()
            if part is not None:
                found[classes] = part
            break
    if not found:
        if isinstance(ended, Stopped):
            raise too_early(ended, budget.nodes)
        raise KeyboardInterrupt
    return shown_by(setting, found, ended, budget.nodes)


def too_early(stopped: Stopped, programs: int) -> UsageError:
    """Nothing was proven before a limit was reached."""
    return UsageError(where="limits", found=f"a {stopped} after {programs} linear programs", allowed="more")


def shown_by(
    setting: Setting, found: dict[tuple[int, ...], Found], ended: BaseException | None, programs: int
) -> Supremum:
    """Make an instance of the largest ratio, that of the first choice of classes of several."""
    largest = max(found, key=lambda classes: found[classes].ratio)
    policy, many, worst = setting.policy, setting.jobs, found[largest]
    uppers = [each.at_most for each in found.values()]
    known = [each for each in uppers if each is not None]
    at_most = max(known) if len(known) == len(setting.choices) else None
    for run, prefix in worst.worst:
        region = Region(*setting.chosen(largest), largest, run, prefix)
        # ties may go either way in a policy of the user's
        tied = None if setting.own or setting.method in _TIES else attaining(policy, region, worst.ratio)
        shows = approaching(policy, region, worst.ratio) if tied is None else (tied, True)
        if shows is not None:
            break
    else:
        raise SolverError(f"{setting.method}: no instance was found that approaches a ratio of {worst.ratio}")
    point, reached = shows
    ordered = setting.chosen(point.classes)
    label = setting.method if setting.own is None else setting.own.name
    instance, schedule = shown(point, *ordered, f"worst-{label}-{many}-jobs-{setting.units}-units")
    flow, _ = play(policy(), *ordered, schedule.arrivals, schedule.works)
    ratio = flow.at / schedule.flow.at
    if ended is None and ratio > worst.ratio:
        raise SolverError(f"{setting.method}: {ratio} was reached, but {worst.ratio} is proven to be the supremum")
    met = ratio == at_most or (reached and ended is None)
    supremum = worst.ratio if met else None
    proven = Supremum(
        setting=setting,
        supremum=supremum,
        at_most=at_most,
        ratio=ratio,
        instance=instance,
        schedule=schedule,
        limit=point if supremum not in (None, ratio) else None,
        programs=programs,
        trees={classes: each.leaves for classes, each in found.items()},
        ended="budget" if ended is None else "limit" if isinstance(ended, Stopped) else "interrupted",
    )
    if setting.own is not None and at_most is not None:
        try:  # the verifier asks the user's code once more
            verify(proven.as_data(), setting.own)
        except ValueError as error:
            raise UsageError(f"{setting.own.text}: does not decide alike each time: {error}") from None
    return proven


def _limit(point: Point) -> dict[str, object]:
    def pairs(numbers: Sequence[object]) -> list[list[str]]:
        return [[str(each.at), str(each.toward)] for each in numbers]  # type: ignore[attr-defined]

    schedule = [{"seconds": pairs([seconds])[0], "units": list(units)} for seconds, units in point.pieces]
    arrivals, works = pairs(point.arrivals), pairs(point.works)
    return {"classes": list(point.classes), "arrivals": arrivals, "works": works, "schedule": schedule}


def tree_of(leaves: Sequence[Leaf], weights: int = 0) -> dict[str, object]:
    """Leaves as nested objects: the run's events and splits, then the optimum's events.

    On a simplex of tables, with so many weights, a coefficient is a polynomial: a list, by monomial.
    """
    root: dict[str, object] = {}
    for run, prefix, multipliers in leaves:
        node = root
        jobs = prefix.jobs
        for name, form in run.path[1:]:
            if form is None:
                node = _child(_child(node, "events"), name)
            else:
                names = [*(f"w{job}" for job in range(jobs)), *(f"d{k}" for k in range(2 * jobs - 1))]
                rows = zip(*unflat(form, len(names), weights).values(), strict=True)
                values = [[str(each) for each in row] if weights else str(row[0]) for row in rows]
                node["split"] = {
                    at: value
                    for at, value in zip(names, values, strict=True)
                    if any(form[names.index(at) :: len(names)])
                }
                node = _child(node, name)
        node = _child(node, "optimum")
        for event in prefix.events[1:]:
            node = _child(_child(node, "events"), ARRIVAL if event < 0 else f"end {event}")
        node |= multipliers.as_data()
    return root


def _child(node: dict[str, object], name: str) -> dict[str, object]:
    child = node.setdefault(name, {})
    assert isinstance(child, dict)
    return child
