"""Search spaces of the families, and what they share: checks of sizes, names of jobs, and classes of speed tables.

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
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np

from dlsched.cluster.training_job import TrainingJob
from dlsched.core.elementary import four_digits, log_uniform
from dlsched.core.errors import UsageError
from dlsched.core.family import AnyFamily
from dlsched.core.messages import several
from dlsched.worst.space import Data

MOST_JOBS = 26
"""Most jobs of an instance: one letter names each, so that a person can read it."""
FEWEST_DRAWN, MOST_DRAWN = 2, 4


def jobs_drawn(jobs: int | None, most: int) -> list[int]:
    """Return the numbers of jobs that draws may have, ascending: ``jobs``, else 2 to 4, but at most ``most``."""
    return list(range(min(FEWEST_DRAWN, most), min(MOST_DRAWN, most) + 1)) if jobs is None else [jobs]


def sizes_said(jobs: int, gpus: int, unit: str = "GPU") -> str:
    """Say how many jobs there are at most, and on how many GPUs.

    >>> sizes_said(1, 2)
    'up to 1 job on 2 GPUs'
    """
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


def holds(tables: str, table: Mapping[int, float]) -> bool:
    """Whether a table is in the class, in exact arithmetic."""
    # floats are rationals, so the conditions are decided without rounding
    exact = {count: Fraction(time) for count, time in sorted(table.items())}
    pairs = list(pairwise(exact.items()))
    gains = [(first - second) / (more - few) for (few, first), (more, second) in pairs]
    return (
        min(exact.values()) > 0
        and (tables == "any" or all(gain >= 0 for gain in gains))
        and (
            tables in ("any", "monotone") or all(few * first <= more * second for (few, first), (more, second) in pairs)
        )
        and (tables != "convex" or all(later <= earlier for earlier, later in pairwise(gains)))
    )


def projected(tables: str, table: Mapping[int, float], low: float, high: float) -> Table:
    """Move the times that leave the class or the range, one count after the other, no farther than needed.

    A time that has to rise gets four digits if these suffice. Tables in the class and the range stay as they
    are.
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


def tabulated(jobs: Iterable[TrainingJob], counts: Sequence[int], high: float) -> list[Table]:
    """Tabulate epochs times seconds per epoch on those counts, scaled so that the slowest takes ``high`` seconds.

    A count that a job does not offer is as fast as the one before; counts below all that it offers are as
    slow as the first one that it offers.
    """
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
