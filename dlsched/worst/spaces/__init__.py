"""Search spaces of worst instances: what they hold, how their data are read and changed, and what the families' spaces share.

Searches handle instances as the data of their files (``InstanceFile.as_data``), of which they change copies, and drop data
that are no valid instance. Paths such as ``jobs[].epoch_time_s{}`` name numbers and lists in these data.

Classes of tables of speed:

==============  ==========================================================================
class           c(w), seconds on w GPUs
==============  ==========================================================================
``any``         > 0
``monotone``    non-increasing
``sublinear``   monotone, and w c(w) non-decreasing: no super-linear speed
``convex``      sublinear, and gains per GPU between counts that are offered fall or stay
==============  ==========================================================================
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numpy as np

from dlsched.catalogue import families as listed
from dlsched.catalogue.families import Value, load
from dlsched.core.elementary import four_digits, log_uniform
from dlsched.core.errors import UsageError
from dlsched.core.family import AnyFamily, AnyMethod
from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import several
from dlsched.core.ranges import Ranges
from dlsched.families import find_family

if TYPE_CHECKING:
    from dlsched.cluster.training_job import TrainingJob

Data: TypeAlias = dict[str, Any]
"""An instance as its file holds it."""
ValueT = TypeVar("ValueT")
Draw: TypeAlias = Callable[[np.random.Generator], Data]
DrawGenerated: TypeAlias = Callable[[np.random.Generator], Data | None]
"""As ``Draw``, from a preset; None if the drawn instance has no counterpart in the space."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number of the instance that a search may change.

    ``path``: fields joined with dots, ``[]`` for all entries of a list, ``{}`` for all values of a mapping; entries without the
    field are skipped. ``low``, ``high``: range that is searched, both > 0; or ``low`` is 0, which is then a special value.
    """

    path: str
    low: float
    high: float
    whole: bool = False


def searched(ranges: Ranges, *paths: str, whole: Sequence[str] = (), of_presets: bool = False) -> tuple[Number, ...]:
    """Make numbers, those of ``whole`` first, in the ranges that are searched: of round figures, or ``of_presets``."""
    return tuple(
        Number(path, *(ranges[path].of_presets if of_presets else ranges[path].searched), whole=path in whole)
        for path in (*whole, *paths)
    )


@dataclass(frozen=True, kw_only=True)
class Space:
    """Instances of a family among which a search goes.

    ``draw``: draws an instance, for random sampling and for the start of a search; ``presets``: draws of instances in the space
    by preset of the generator; ``words``, ``wider``: descriptions for people: which instances the space holds, and which
    options widen it; ``numbers``: those that moves change; ``members``: lists whose entries moves add and remove: path
    (``jobs``) and the fewest and most entries; ``repair``: brings changed data back into the space (a class of tables, unique
    ids, indices in range), or returns None; it never changes data that are in the space; ``reference``, ``solver``: the method
    that judges by default; it must be quick, and prove its optimum on instances of this size; ``admits``: whether an instance of
    this optimum is in the space.
    """

    family: AnyFamily
    draw: Draw
    numbers: Sequence[Number]
    presets: Mapping[str, DrawGenerated] = field(default_factory=dict)
    words: str = "a space of one's own"
    wider: Sequence[str] = ()
    members: Sequence[tuple[str, int, int]] = ()
    repair: Callable[[Data], Data | None] = lambda data: data
    reference: str | AnyMethod = "exact"
    solver: str | None = None
    admits: Callable[[InstanceFile, float], bool] = lambda instance, optimum: True


Place: TypeAlias = tuple[list[Json], int] | tuple[dict[str, Json], str]
"""The list or mapping that holds a value, and the value's index or key in it."""


@cache
def _steps(path: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\[\]|\{\}|[^.\[\]{}]+", path))


def places(data: Data, path: str) -> list[Place]:
    """Return the places of the values of a path, in the order of the data; skips entries without the field."""
    found: list[Place] = []
    # step by step: the places of one step hold the values in which the next step looks
    values: list[Json] = [data]
    for step in _steps(path):
        found = [place for value in values for place in _below(value, step)]
        values = [value_at(place) for place in found]
    return found


def _below(value: Json, step: str) -> list[Place]:
    if step == "[]":
        return [(value, index) for index in range(len(value))] if isinstance(value, list) else []
    if not isinstance(value, dict):
        return []
    return [(value, key) for key in value] if step == "{}" else [(value, step)] if step in value else []


def value_at(place: Place) -> Json:
    """Return the value at a place."""
    holder, key = place
    return cast(dict[str | int, Json], holder)[key]


def put(place: Place, value: Json) -> None:
    """Write a value to a place."""
    holder, key = place
    cast(dict[str | int, Json], holder)[key] = value


def numbers_at(data: Data, number: Number) -> list[tuple[Place, float]]:
    """Return the places of ``number``, each with its value; skips null and words."""
    found = ((place, value_at(place)) for place in places(data, number.path))
    return [(place, value) for place, value in found if isinstance(value, int | float) and not isinstance(value, bool)]


def lists_at(data: Data, path: str) -> list[list[Json]]:
    """Return the lists that a path leads to."""
    return [value for place in places(data, path) if isinstance(value := value_at(place), list)]


def copied(value: ValueT) -> ValueT:
    """Return a copy of data that shares nothing with them; much faster than ``copy.deepcopy``."""
    if isinstance(value, dict):
        return cast(ValueT, {key: copied(each) for key, each in value.items()})
    if isinstance(value, list):
        return cast(ValueT, [copied(each) for each in value])
    return value


def within(number: Number, value: float) -> float:
    """Clip a value to the range of a number, and round it if the number is whole."""
    clipped = min(max(value, number.low), number.high)
    return min(max(round(clipped), int(-(-number.low // 1))), int(number.high)) if number.whole else float(clipped)


def rounded(value: float, digits: int) -> float:
    """Round to significant digits."""
    return float(f"{value:.{digits - 1}e}")


def digits_of(value: float) -> int:
    """Return how many significant digits a number has; 0 has 1."""
    # drops the exponent, the point and the sign
    text = re.sub(r"e.*|\D", "", repr(abs(float(value))))  # the shortest text that reads as the number
    return max(1, len(text.strip("0")))


SHARED = ("jobs", "gpus", "preset")


def space_of(family: str, **options: Value | None) -> Space:
    """Return the space of a family's worst instances; options that are None count as not given.

    Raises a ``UsageError`` for an unknown family or option, and for a value out of range.
    """
    record = find_family(family)
    name, own = record.name, record.space
    if own is None:
        having = (other for other in listed.FAMILIES if listed.space(other) is not None)
        raise UsageError(where="family", found=repr(name), allowed=", ".join(having))
    arguments = {option: value for option, value in options.items() if value is not None}
    allowed = (*SHARED, *own)
    for option, value in arguments.items():
        if option not in allowed:
            raise UsageError(where=option, found=value, allowed=f"no such option for {name}")
    # imported by name: one family's space needs no other family
    maker: Callable[..., Space] = load(record.space_of)
    return maker(**arguments)


def own_space(space: Space, family: str, arguments: Mapping[str, Value | None]) -> Space:
    """Return a space that the caller supplies; ``UsageError``: it is of another family, or an option is given beside it."""
    if not isinstance(space, Space):
        raise UsageError(where="space", found=type(space).__name__, allowed=f"a space of {family}")
    if space.family.name != family:
        raise UsageError(where="space", found=f"one of {space.family.name}", allowed=f"one of {family}")
    for option, value in arguments.items():
        if value is not None:
            raise UsageError(where=option, found=value, allowed="none beside a space of one's own")
    return space


MOST_JOBS = 26
"""Most jobs of an instance: one letter names each, so that a person can read it."""
FEWEST_DRAWN, MOST_DRAWN = 2, 4


def jobs_drawn(jobs: int | None, most: int) -> list[int]:
    """Return the numbers of jobs that draws may have, ascending: ``jobs``, else 2 to 4, but at most ``most``."""
    return list(range(min(FEWEST_DRAWN, most), min(MOST_DRAWN, most) + 1)) if jobs is None else [jobs]


def sizes_said(jobs: int, gpus: int, unit: str = "GPU") -> str:
    """Say how many jobs there are at most, and on how many GPUs."""
    return f"up to {several(jobs, 'job')} on {several(gpus, unit)}"


def lettered(jobs: Sequence[Data]) -> list[Data]:
    """Name jobs a, b, c, ... in their order."""
    return [
        {"id": chr(ord("a") + index)} | {key: job[key] for key in job if key != "id"} for index, job in enumerate(jobs)
    ]


def require_one_of(name: str, value: str | None, allowed: Sequence[str | None]) -> None:
    """Refuse a word that is not allowed with a ``UsageError``; None in ``allowed``: it need not be given."""
    if value not in allowed:
        raise UsageError(where=name, found=repr(value), allowed=", ".join(word for word in allowed if word is not None))


def require_sizes(*, jobs: int | None, **sizes: int | None) -> None:
    """Refuse sizes below 1 (None: not given), and more jobs than there are letters, with a ``UsageError``."""
    if jobs is not None and (not isinstance(jobs, int) or not 1 <= jobs <= MOST_JOBS):
        raise UsageError(where="jobs", found=jobs, allowed=f"an integer from 1 to {MOST_JOBS}")
    for name, size in sizes.items():
        if size is not None and (not isinstance(size, int) or size < 1):
            raise UsageError(where=name, found=size, allowed="an integer >= 1")


def space_of_jobs(
    family: AnyFamily,
    head: Data,
    *,
    jobs: Sequence[int],
    preset: str | None,
    draw_jobs: Callable[[np.random.Generator, int, str | None], list[Data]],
    repair_jobs: Callable[[list[Data]], list[Data]],
    words: str,
    wider: Sequence[str],
    numbers: Sequence[Number],
    reference: str | AnyMethod = "exact",
) -> Space:
    """Return a space of which only the jobs change.

    ``head``: what instances have beside jobs; ``jobs``: numbers of jobs that draws may have, ascending; ``draw_jobs``: draws so
    many jobs, of a preset or (None) of the space; ``repair_jobs``: brings jobs into the space.
    """

    def repair(data: Data) -> Data | None:
        if not 1 <= len(data["jobs"]) <= jobs[-1]:
            return None
        return head | {"jobs": lettered(repair_jobs(data["jobs"]))}

    def draw(generator: np.random.Generator, kind: str | None) -> Data:
        data = repair({"jobs": draw_jobs(generator, int(generator.choice(jobs)), kind)})
        assert data is not None
        return data

    return Space(
        family=family,
        words=words,
        wider=wider,
        numbers=numbers,
        reference=reference,
        draw=partial(draw, kind=preset),
        presets={} if preset is not None else {name: partial(draw, kind=name) for name in family.presets},
        members=[("jobs", 1, jobs[-1])],
        repair=repair,
    )


def drawn_as_generated(
    family: AnyFamily, preset: str, jobs: int, gpus: int, finish: Callable[[np.random.Generator, Data], Data]
) -> Draw:
    """Draw instances of a preset as the generator has them, but with lettered jobs and without a source; then finish them."""

    def draw(generator: np.random.Generator) -> Data:
        seed = int(generator.integers(2**31))
        data: Data = family.generate(preset=preset, jobs=jobs, gpus=gpus, seed=seed).as_data()
        del data["source"]
        return finish(generator, data | {"name": "worst", "jobs": lettered(data["jobs"])})

    return draw


CLASSES = ("any", "monotone", "sublinear", "convex")
COUNTS = ("powers", "all")
MOST = 1000
"""Most entries of a table: longer tables take longer to change than to judge."""

_DIGITS = 4  # digits of times that projection moves, if so many suffice

Table = dict[int, float]
"""Seconds by count, counts ascending."""


def require_tables(
    family: AnyFamily, *, jobs: int | None, gpus: int | None, preset: str | None, tables: str, counts: str
) -> None:
    """Refuse sizes, words and presets that spaces of jobs with tables do not take, with a ``UsageError``."""
    require_sizes(jobs=jobs, gpus=gpus)
    require_one_of("tables", tables, CLASSES)
    require_one_of("counts", counts, COUNTS)
    require_one_of("preset", preset, (None, *family.presets))


def words_of(tables: str, counts: str, low: float, high: float) -> str:
    """Describe the tables of a class."""
    offer = "counts that are powers of two" if counts == "powers" else "all counts"
    return f"{tables} tables on {offer}, {low:g} to {high:g} s"


def wider_than(tables: str, counts: str) -> list[str]:
    """Return the options that admit more tables to a space."""
    return [*(["--tables any"] if tables != "any" else []), *(["--counts all"] if counts != "all" else [])]


def table_of(job: Data) -> Table:
    """Read the table of a job."""
    return {int(count): float(time) for count, time in job["epoch_time_s"].items()}


def in_class(tables: str, job: Data, counts: Sequence[int], low: float, high: float) -> Data:
    """Return a job's data as one epoch, with its times on the first of ``counts``, brought into the class."""
    table = projected(tables, dict(zip(counts, table_of(job).values(), strict=False)), low, high)
    return {"epochs": 1.0, "epoch_time_s": {str(count): time for count, time in table.items()}}


def offered(counts: str, most: int) -> list[int]:
    """Counts of up to ``most`` GPUs: 1, 2, 4, ... (``powers``) or all of them; UsageError: more than ``MOST``."""
    if counts == "all" and most > MOST:
        raise UsageError(where="gpus", found=f"{most} with all counts", allowed=f"at most {MOST}, a time for each")
    return [2**power for power in range(most.bit_length())] if counts == "powers" else list(range(1, most + 1))


def projected(tables: str, table: Mapping[int, float], low: float, high: float) -> Table:
    """Move the times that leave the class or the range, one count after the other, no farther than needed.

    A time that has to rise gets four digits if these suffice.
    """
    found: Table = {}
    for count, time in sorted(table.items()):
        least, most = _range(tables, found, count, low, high)
        found[count] = most if time > most else time if time >= least else _above(least, most)
    return found


def _range(tables: str, before: Table, count: int, low: float, high: float) -> tuple[Fraction, float]:
    """Return the least and largest time that the class allows after smaller counts; never empty."""
    least = Fraction(low)
    if tables == "any" or not before:
        return least, high
    *earlier, (last, time) = before.items()
    if tables != "monotone":
        least = max(least, Fraction(time) * last / count)
    if tables == "convex" and earlier:
        few, slower = earlier[-1]
        # the last gain per GPU, which the next one may not exceed
        gain = (Fraction(slower) - Fraction(time)) / (last - few)
        least = max(least, Fraction(time) - gain * (count - last))
    return least, time


def _above(least: Fraction, most: float) -> float:
    """Return a float from ``least`` to ``most``, close to ``least``, with four digits if there is one."""
    nearest = least.numerator / least.denominator
    # round up: a time that has to rise may not stay below its least value
    exponent = Decimal(nearest).adjusted() - _DIGITS + 1
    rounded = float(Decimal(nearest).quantize(Decimal(1).scaleb(exponent), rounding=ROUND_CEILING))
    for value in (rounded, nearest, math.nextafter(nearest, math.inf)):
        if least <= value <= most:
            return value
    return most


def drawn(generator: np.random.Generator, tables: str, counts: Iterable[int], low: float, high: float) -> Table:
    """Draw a table of four digits: the first time log-uniform, every other uniform in what the class allows.

    If the class allows the whole range, or all of it up to the time before, the others are log-uniform too.
    """
    table: Table = {}
    for count in counts:
        least, most = _range(tables, table, count, low, high)
        free = not table or tables in ("any", "monotone")
        time = log_uniform(generator, low, most) if free else float(generator.uniform(float(least), most))
        table = projected(tables, table | {count: four_digits(time)}, low, high)
    return table


def tabulated(jobs: "Iterable[TrainingJob]", counts: Sequence[int], high: float) -> list[Table]:
    """Tabulate epochs times seconds per epoch on those counts, scaled so that the slowest takes ``high`` seconds."""
    tables = []
    for job in jobs:
        fitting = job.fitting_counts(counts[-1]) or job.counts(counts[-1])[:1]
        table: Table = {}
        for count in counts:
            # the largest offered count up to this one, else the smallest that is offered
            best = max((each for each in fitting if each <= count), default=fitting[0])
            table[count] = job.epochs * job.speed.epoch_time_s(best)
        tables.append(table)
    longest = max(max(table.values()) for table in tables)
    return [{count: four_digits(time * high / longest) for count, time in table.items()} for table in tables]
