"""``prove_policy``: the supremum of a policy's ratio to the optimum over all arrivals and works, with a certificate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise, product

from dlsched.core.display import Brief
from dlsched.core.elementary import float_power
from dlsched.core.errors import SolverError, UsageError
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits, ProgressCallback
from dlsched.elastic_stream import policies
from dlsched.elastic_stream.heuristics import SIZINGS
from dlsched.elastic_stream.simulation.view import Policy
from dlsched.worst.competitive.search import ARRIVAL, Found, Leaf, search
from dlsched.worst.competitive.stream import Speeds, play
from dlsched.worst.competitive.witnesses import Point, Region, approaching, attaining, shown
from dlsched.worst.proving.branch_and_bound import within_limits
from dlsched.worst.proving.runs import OWN

LARGEST = 10**6
"""Largest numerator and denominator of a speed."""
MOST_TABLES, MOST_UNITS = 4, 64
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
            tables.append(tuple(_number(each) for each in part.split(",")))
            units = len(tables[-1]) if units is None else units
    if len(tables) > MOST_TABLES:
        raise UsageError(where="speeds", found=f"{len(tables)} tables", allowed=f"at most {MOST_TABLES}")
    for table in tables:
        _require(table, units or 0)
    return tuple(tables)


def _of_law(part: str, name: str, argument: str, units: int) -> tuple[Fraction, ...]:
    if name == "linear":
        if argument:
            raise UsageError(where="speeds", found=repr(part), allowed="linear, without a number")
        return tuple(Fraction(n) for n in range(1, units + 1))
    value = _number(argument)
    if not 0 <= value <= 1:
        raise UsageError(where="speeds", found=repr(part), allowed=f"{name}:P with P from 0 to 1")
    return tuple(_LAWS[name](n, value) for n in range(1, units + 1))


def _number(text: str) -> Fraction:
    try:
        value = Fraction(text.strip()) if len(text) < len(str(LARGEST)) * 3 and "e" not in text.lower() else None
    except (ValueError, ZeroDivisionError):
        value = None
    if value is None or max(abs(value.numerator), value.denominator) > LARGEST:
        allowed = f"fractions or decimals of at most {LARGEST}, linear, power:P or amdahl:F"
        raise UsageError(where="speeds", found=repr(text[:40]), allowed=allowed)
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
    """The question: a policy, a number of jobs, and their tables of speeds on 1, 2, ... units."""

    method: str
    jobs: int
    speeds: tuple[Speeds, ...]

    @property
    def units(self) -> int:
        """Units of the cluster."""
        return len(self.speeds[0])


@dataclass(frozen=True, kw_only=True, repr=False)
class Supremum(Brief):
    """The supremum of the ratio of a policy's total flow time to the optimum's, over all arrivals and works.

    ``ratio``: flow time of the policy on ``instance``, a worst one or close to it, over that of ``schedule``, in the numbers of
    the instance; ``limit``: what is approached, if no instance attains the supremum; ``programs``: linear programs solved;
    ``trees``: leaves of the proof, for each choice of tables.
    """

    setting: Setting
    supremum: Fraction
    ratio: Fraction
    instance: InstanceFile
    schedule: Point = field(repr=False)
    limit: Point | None = field(repr=False)
    programs: int
    trees: dict[tuple[int, ...], list[Leaf]] = field(repr=False)

    @property
    def attained(self) -> bool:
        """Whether the ratio of the instance equals the supremum."""
        return self.ratio == self.supremum

    def as_data(self) -> dict[str, object]:
        """Return the certificate, a JSON object that ``dlsched check`` verifies in rationals."""
        asked = self.setting
        data: dict[str, object] = {"kind": KIND, "family": FAMILY, "method": asked.method, "jobs": asked.jobs}
        data |= {"units": asked.units, "speeds": [[str(each) for each in table] for table in asked.speeds]}
        data |= {"supremum": str(self.supremum), "ratio": str(self.ratio), "instance": self.instance.as_data()}
        data["schedule"] = [{"seconds": str(time.at), "units": list(units)} for time, units in self.schedule.pieces]
        if self.limit is not None:
            data["limit"] = _limit(self.limit)
        data["proof"] = [{"classes": list(each), "tree": _tree(leaves)} for each, leaves in self.trees.items()]
        return data

    def brief(self) -> dict[str, object]:
        """Return the number of jobs, the supremum, and whether it is attained, for JSON."""
        return {"jobs": self.setting.jobs, "supremum": str(self.supremum), "attained": self.attained}


def prove_policy(
    method: str,
    *,
    speeds: Sequence[Sequence[Fraction | int | str]],
    jobs: int = 2,
    limits: Limits | None = None,
    progress: ProgressCallback | None = None,
) -> Supremum:
    """Prove how bad a policy of elastic_stream can be: find the supremum of its ratio to the optimum.

    Parameters
    ----------
    method
        Name of a policy.
    speeds
        One or more tables of speeds on 1, 2, ..., C units; a job has any of them.
    jobs
        Number of jobs.
    limits
        Limits of the search; its nodes are linear programs.
    progress
        Called now and then with the number of programs.

    Raises
    ------
    UsageError
        The policy cannot be proven, or a limit was reached before the proof was done.
    SolverError
        HiGHS gives no answer, or one that no rationals confirm.
    """
    if method not in POLICIES:
        why = f", {_NOT[method]}" if method in _NOT else OWN * (":" in method)
        raise UsageError(where="method", found=f"{method!r}{why}", allowed=", ".join(POLICIES))
    if not 1 <= jobs <= MOST_JOBS:
        raise UsageError(where="jobs", found=jobs, allowed=f"1 to {MOST_JOBS}")
    setting = Setting(method, jobs, tuple(tuple(Fraction(each) for each in table) for table in speeds))
    worst, programs = within_limits(limits, progress, lambda tick: _search(setting, tick))
    return _proven(setting, *worst, programs)


def _search(setting: Setting, tick: Callable[[int], None]) -> tuple[dict[tuple[int, ...], Found], tuple[int, ...]]:
    """Return the suprema for all choices of tables, and the choice of the largest, the first one of several."""
    found = {
        classes: search(POLICIES[setting.method], [setting.speeds[each] for each in classes], tick)
        for classes in product(range(len(setting.speeds)), repeat=setting.jobs)
    }
    return found, max(found, key=lambda classes: found[classes].supremum)


def _proven(setting: Setting, found: dict[tuple[int, ...], Found], largest: tuple[int, ...], programs: int) -> Supremum:
    policy, many, worst = POLICIES[setting.method], setting.jobs, found[largest]
    tables = [setting.speeds[each] for each in largest]
    region = Region(tables, largest, *worst.worst)
    limit = None
    point = None if setting.method in _TIES else attaining(policy, tables, region, worst.supremum)
    if point is None:
        point = limit = approaching(policy, tables, region, worst.supremum)
    ordered = [setting.speeds[each] for each in point.classes]
    instance, schedule = shown(point, ordered, f"worst-{setting.method}-{many}-jobs-{setting.units}-units")
    flow, _ = play(policy(), ordered, schedule.arrivals, schedule.works)
    ratio = flow.at / schedule.flow.at
    if ratio > worst.supremum:
        raise SolverError(f"{setting.method}: {ratio} was reached, but {worst.supremum} is proven to be the supremum")
    return Supremum(
        setting=setting,
        supremum=worst.supremum,
        ratio=ratio,
        instance=instance,
        schedule=schedule,
        limit=limit if ratio != worst.supremum else None,
        programs=programs,
        trees={classes: each.leaves for classes, each in found.items()},
    )


def _limit(point: Point) -> dict[str, object]:
    def pairs(numbers: Sequence[object]) -> list[list[str]]:
        return [[str(each.at), str(each.toward)] for each in numbers]  # type: ignore[attr-defined]

    schedule = [{"seconds": pairs([seconds])[0], "units": list(units)} for seconds, units in point.pieces]
    arrivals, works = pairs(point.arrivals), pairs(point.works)
    return {"classes": list(point.classes), "arrivals": arrivals, "works": works, "schedule": schedule}


def _tree(leaves: Sequence[Leaf]) -> dict[str, object]:
    """Leaves as nested objects: the run's events and splits, then the optimum's events."""
    root: dict[str, object] = {}
    for run, prefix, multipliers in leaves:
        node = root
        jobs = prefix.jobs
        for name, form in run.path[1:]:
            if form is None:
                node = _child(_child(node, "events"), name)
            else:
                names = [*(f"w{job}" for job in range(jobs)), *(f"d{k}" for k in range(2 * jobs - 1))]
                node["split"] = {at: str(value) for at, value in zip(names, form, strict=True) if value}
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
