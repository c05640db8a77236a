"""Moves and simplifications of jobs with speed tables: plateaus, cliffs, perfect speed, ties of gains, round times.

Moves may take tables out of their class; ``Space.repair`` brings them back.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dlsched.core.arrays import FloatArray
from dlsched.core.elementary import decade, float_power
from dlsched.worst.space import Data, Move, Simplify
from dlsched.worst.spaces import Table, table_of

Change = Callable[[FloatArray, FloatArray, np.random.Generator], FloatArray]
"""Returns other seconds for the counts and seconds of a table, drawn by a generator."""


def with_table(data: Data, index: int, table: Table) -> Data:
    """Return a copy in which one job has another table."""
    jobs = list(data["jobs"])
    jobs[index] = jobs[index] | {"epoch_time_s": {str(count): float(time) for count, time in table.items()}}
    return data | {"jobs": jobs}


def table_moves(offered: Sequence[int]) -> tuple[Move, ...]:
    """Moves of jobs with ``epoch_time_s`` on the first few of the counts ``offered``."""

    def another_count(data: Data, generator: np.random.Generator) -> Data | None:
        """Take the largest count out of a table, or offer one more, on which the job is as fast."""
        index = int(generator.integers(len(data["jobs"])))
        times = list(table_of(data["jobs"][index]).values())
        times = [*times, times[-1]] if generator.random() < 0.5 else times[:-1]
        if not 0 < len(times) <= len(offered):
            return None
        return with_table(data, index, dict(zip(offered, times, strict=False)))

    return (*map(_of_a_job, (_plateau, _perfect, _line, _cliff, _slope, _scale)), another_count, tie_gains, alike)


def tie_gains(data: Data, generator: np.random.Generator) -> Data | None:
    """Scale a job so that one of its steps gains as much per GPU as one of another job, or a hundredth more or less."""
    if len(data["jobs"]) < 2:
        return None
    first, second = generator.choice(len(data["jobs"]), 2, replace=False).tolist()
    aim, own = (_gain(table_of(data["jobs"][index]), generator) for index in (first, second))
    if aim <= 0 or own <= 0:
        return None
    factor = aim / own * float(generator.choice([1.0, 1.0, 0.99, 1.01]))
    table = table_of(data["jobs"][second])
    return with_table(data, second, {count: time * factor for count, time in table.items()})


def alike(data: Data, generator: np.random.Generator) -> Data | None:
    """Give a job the table of another, times a factor."""
    if len(data["jobs"]) < 2:
        return None
    first, second = generator.choice(len(data["jobs"]), 2, replace=False).tolist()
    factor = float(generator.choice([0.1, 0.5, 0.99, 1.01, 2.0, 10.0]))
    return with_table(data, second, {count: time * factor for count, time in table_of(data["jobs"][first]).items()})


def simpler_tables(repair: Callable[[Data], Data | None]) -> Simplify:
    """Return a function that simplifies tables (fewer counts, times, digits), if ``repair`` leaves them simpler."""
    last: list[tuple[Data, list[Data]]] = []  # shrinking asks for the same data again for each candidate

    def simpler(data: Data) -> list[Data]:
        """Round all times, drop one, or set one to the time before, in proportion to it, or to fewer digits."""
        if last and last[0][0] is data:
            return last[0][1]
        now = _digits(data)
        repaired = (repair(candidate) for candidate in _candidates(data))
        found = [each for each in repaired if each is not None and _digits(each) < now]
        last[:] = [(data, found)]
        return found

    return simpler


def _candidates(data: Data) -> Iterator[Data]:
    largest = max(max(table_of(job).values()) for job in data["jobs"])
    for digits in (1, 2, 3):
        for top in (10.0, 100.0, 1000.0, 60.0, 64.0, 120.0):
            yield _rounded(data, top / largest, digits)
    for index, job in enumerate(data["jobs"]):
        table = table_of(job)
        counts = list(table)
        if len(counts) > 1:
            yield with_table(data, index, {count: table[count] for count in counts[:-1]})
        for place in range(len(counts) - 1, 0, -1):
            count, before = counts[place], counts[place - 1]
            yield with_table(data, index, table | {count: table[before]})
            yield with_table(data, index, table | {count: table[before] * before / count})
        for time in sorted(set(table.values())):
            for rounded in (
                _to(math.ceil, time, 2),
                _to(math.floor, time, 2),
                _to(math.ceil, time, 3),
                _to(math.floor, time, 3),
            ):
                yield with_table(
                    data, index, {count: rounded if table[count] == time else table[count] for count in counts}
                )


def _rounded(data: Data, factor: float, digits: int) -> Data:
    """Every time times a factor, rounded."""
    for index, job in enumerate(data["jobs"]):
        table = {count: float(f"{time * factor:.{digits}g}") for count, time in table_of(job).items()}
        data = with_table(data, index, table)
    return data


def _to(whole: Callable[[float], int], time: float, digits: int) -> float:
    """Round up or down to significant digits, as needed by a time that must stay just above or below another."""
    step = float_power(10, decade(time) - digits + 1)
    return float(f"{whole(time / step) * step:.{digits}g}")


def _digits(data: Data) -> int:
    """Return how much a reader has to take in: digits of all different times of each job, and one per entry."""
    tables = [table_of(job) for job in data["jobs"]]
    return sum(len(table) + sum(map(_significant, set(table.values()))) for table in tables)


def _significant(value: float) -> int:
    """Significant digits of the shortest number that reads as this one."""
    return len(f"{value!r}".split("e")[0].replace(".", "").strip("0"))


def _of_a_job(change: Change) -> Move:
    """A move that changes the times of one job."""

    def move(data: Data, generator: np.random.Generator) -> Data:
        index = int(generator.integers(len(data["jobs"])))
        table = table_of(data["jobs"][index])
        times = change(np.array(list(table), dtype=np.float64), np.array(list(table.values())), generator)
        return with_table(data, index, dict(zip(table, times.tolist(), strict=True)))

    return move


def _plateau(counts: FloatArray, times: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Make a range of counts as slow as its first."""
    first, last = _stretch(counts, generator)
    return np.concatenate((times[:first], np.full(last - first, times[first]), times[last:]))


def _perfect(counts: FloatArray, times: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Make speed proportional to the count from one count to another, and no faster after that."""
    first, last = _stretch(counts, generator)
    return np.concatenate((times[:first], times[first] * counts[first] / np.minimum(counts[first:], counts[last - 1])))


def _line(counts: FloatArray, times: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Give a range of counts, often up to the last, the same gain per GPU, in numbers that are exact in floats."""
    first, last = _stretch(counts, generator)
    last = len(counts) if generator.random() < 0.5 else last
    gain = (times[first] - times[last - 1]) / max(1.0, counts[last - 1] - counts[first])
    if gain == 0:
        return times
    step = math.ldexp(1.0, math.frexp(gain)[1] - 4)
    end = max(1.0, np.round(times[last - 1] / step)) * step
    line = end + np.round(gain / step) * step * (counts[last - 1] - counts[first:last])
    return np.concatenate((times[:first], line, times[last:]))


def _cliff(counts: FloatArray, times: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Make a job much faster from one count on."""
    factor = float_power(10, float(generator.uniform(-3, 0)))
    return np.where(np.arange(len(times)) < generator.integers(len(times)), times, times * factor)


def _slope(counts: FloatArray, times: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Make all counts up to some count slower, by one factor."""
    factor = float_power(10, float(generator.uniform(0, 1)))
    return np.where(np.arange(len(times)) <= generator.integers(len(times)), times * factor, times)


def _scale(counts: FloatArray, times: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Make the whole job faster or slower."""
    little = float(generator.choice([0.5, 2.0, 0.98, 1.02]))
    return times * (float_power(10, float(generator.uniform(-1, 1))) if generator.random() < 0.5 else little)


def _stretch(counts: FloatArray, generator: np.random.Generator) -> tuple[int, int]:
    """Draw a range of at least one place: its first place, and the one after its last."""
    first = int(generator.integers(len(counts)))
    return first, int(generator.integers(first + 1, len(counts) + 1))


def _gain(table: Table, generator: np.random.Generator) -> float:
    """Return what a randomly drawn step saves per GPU; 0 if the table has no step."""
    counts = list(table)
    if len(counts) < 2:
        return 0.0
    place = int(generator.integers(1, len(counts)))
    before, after = counts[place - 1], counts[place]
    return (table[before] - table[after]) / (after - before)
