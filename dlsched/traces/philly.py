"""The trace of Microsoft's Philly cluster as a stream of malleable jobs.

The trace has one duration per job, on the GPUs that the user asked for. On other counts a job follows the
speed-up curve of a published table, which we choose by its GPU-hours, since the trace names no model.
"""

import functools
import math
from bisect import bisect
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from dlsched.cluster.published import published_speeds
from dlsched.elastic_stream.instance import Instance
from dlsched.traces.queue import Request, Window, Work, arriving, stream
from dlsched.traces.rows import counted, csv_rows, integer, number, rounded

PHILLY_SOURCE = "petuum/adaptdl, branch osdi21-artifact (Apache-2.0), from msr-fiddle/philly-traces (CC-BY 4.0)"
COLUMNS = ("timestamp", "duration", "num_gpus", "gpu_time", "cluster")

# jobs of at most this many GPU-hours follow this table of PCS: model and batch, from the poorest speed-up to the best
SIZE_CLASSES = (
    (1.0, "Video prediction", 64),
    (10.0, "ResNet-50", 128),
    (100.0, "Inception-v4", 256),
    (math.inf, "Transformer", 4096),
)


def import_philly(
    path: str,
    *,
    gpus: int | None = None,
    max_gpus: int | None = None,
    restart_s: float | None = None,
    from_: str | None = None,
    to: str | None = None,
) -> tuple[Instance, list[str]]:
    """Read ``philly_jobs.csv`` of petuum/adaptdl as an instance of elastic_stream, with its audit.

    A job is one epoch, of exactly ``duration`` seconds on ``num_gpus`` GPUs. It may run on the powers of two below
    ``num_gpus``, on ``num_gpus``, and on powers of two above it up to ``max_gpus`` and the end of its table.

    Raises
    ------
    UsageError, InputError, ValueError, OSError
        As ``import_instance``; a malformed row is a `ValueError` that names its line.
    """
    window = philly_window(from_, to)
    file = Path(path)
    requests, audit = read_philly(file)
    kept, said = arriving(file, requests, window)
    works = [_work(request, max_gpus) for request in kept]
    audit += [*said, *_assumed(kept, max_gpus)]
    return stream("philly", f"{file.name} of {PHILLY_SOURCE}", kept, works, window, gpus, restart_s, audit)


def philly_window(from_: str | None, to: str | None) -> Window:
    """Read a window of dates or times; errors as ``Window.read``."""
    return Window.read(from_, to, _moment, "a date or time such as 2017-10-09 or 2017-10-09T07:00:00, no time zone")


def _moment(text: str) -> float:
    """Seconds of a date and time without a time zone."""
    moment = datetime.fromisoformat(text.strip())
    if moment.tzinfo is not None:
        raise ValueError("a time zone")
    return moment.replace(tzinfo=UTC).timestamp()


def read_philly(path: Path) -> tuple[list[Request], list[str]]:
    """Read the jobs in the order of the file, and say what the rows were; errors as ``import_philly``."""
    requests = []
    seen: set[tuple[str, ...]] = set()
    clusters: set[str] = set()
    rows = unequal = 0
    for line, row in csv_rows(path, COLUMNS):
        where = f"{path}, line {line}"
        try:
            arrival_s = _moment(row["timestamp"])
        except ValueError:
            found = row["timestamp"]
            raise ValueError(f"{where}: timestamp must be a date and time without zone, found {found!r}") from None
        gpus, duration_s = integer(row, "num_gpus", where), number(row, "duration", where)
        unequal += not math.isclose(number(row, "gpu_time", where), duration_s * gpus, rel_tol=1e-6)
        rows += 1
        clusters.add(row["cluster"])
        seen.add(tuple(row[column] for column in COLUMNS))
        if duration_s > 0:
            requests.append(Request(arrival_s, gpus, duration_s, virtual_cluster=row["cluster"]))
    audit = [
        *counted(rows, len(requests), len(seen)),
        f"Rows whose gpu_time is not duration x num_gpus, which are believed: {unequal:,}." if unequal else "",
        f"Virtual clusters merged into one cluster, quotas unknown: {len(clusters)}." if len(clusters) > 1 else "",
        "The trace has no status: jobs that failed or were killed count as done after their duration.",
        "The timestamps have no time zone and are taken as they are, daylight saving included.",
    ]
    return requests, [sentence for sentence in audit if sentence]


@functools.cache
def _curves() -> tuple[dict[int, float], ...]:
    """Return seconds per epoch by count, for every size class."""
    tables = {(speed.model, speed.batch_samples): speed for speed in published_speeds() if speed.gpu is None}
    speeds = [tables[model, batch_samples] for _, model, batch_samples in SIZE_CLASSES]
    return tuple(dict(zip(speed.counts, speed.epoch_time_s, strict=True)) for speed in speeds)


def curve_of(request: Request) -> int | None:
    """Return the index of the curve of the job's size class, or of the next that reaches its GPUs, or None."""
    hours = request.gpus * request.size / 3600
    first = next(index for index, (most, _, _) in enumerate(SIZE_CLASSES) if hours <= most)
    return next((index for index in range(first, len(SIZE_CLASSES)) if max(_curves()[index]) >= request.gpus), None)


def _work(request: Request, max_gpus: int | None) -> Work:
    """Seconds of the job by count: exactly its duration on its GPUs, elsewhere in proportion to its curve."""
    on = ratios(curve_of(request), request.gpus, max_gpus or 0)
    times = {count: request.size if count == request.gpus else rounded(ratio * request.size) for count, ratio in on}
    return Work(1.0, times, request.gpus * request.size)


@functools.lru_cache(maxsize=1024)
def ratios(index: int | None, gpus: int, max_gpus: int) -> tuple[tuple[int, float], ...]:
    """Return the allowed counts, each with its time divided by the time on ``gpus``."""
    if index is None:
        return ((gpus, 1.0),)
    curve = _curves()[index]
    largest = max(gpus, min(max_gpus, max(curve)))
    counts = sorted({gpus, *(2**power for power in range(largest.bit_length()))})
    return tuple((count, _speed(curve, gpus) / _speed(curve, count)) for count in counts)


def _speed(curve: dict[int, float], count: int) -> float:
    """Epochs per second on that count, linear between the counts of the curve."""
    if count in curve:
        return 1 / curve[count]
    counts = list(curve)
    above = bisect(counts, count)
    low, high = counts[above - 1], counts[above]
    return 1 / curve[low] + (1 / curve[high] - 1 / curve[low]) * ((count - low) / (high - low))


def _assumed(kept: list[Request], max_gpus: int | None) -> list[str]:
    """Say which curves were taken for how many jobs, and which jobs have a single count."""
    chosen = [curve_of(request) for request in kept]
    users: Counter[str] = Counter()
    single = between = 0
    for request, index in zip(kept, chosen, strict=True):
        counts = [count for count, _ in ratios(index, request.gpus, max_gpus or 0)]
        if len(counts) == 1:
            single += 1
        elif index is not None:
            users[SIZE_CLASSES[index][1]] += 1
            between += any(count not in _curves()[index] for count in counts)
    beyond = chosen.count(None)
    classes = [
        f"{model} {f'up to {most:g}' if most < math.inf else 'above'} ({users[model]:,} jobs)"
        for most, model, _ in SIZE_CLASSES
    ]
    grown = f", and on powers of two above them to {max_gpus} where its table reaches" if max_gpus else ""
    audit = [
        f"A job is one epoch; it may run on the GPUs it asked for, on powers of two below them{grown}.",
        f"Times on other counts follow tables of PCS by GPU-hours, an assumption of ours: {', '.join(classes)}; "
        "a table that ends below a job's GPUs gives way to the next."
        if users
        else "",
        f"Jobs with counts that their table does not hold: {between:,}; speed-ups are linear between its counts."
        if between
        else "",
        f"Jobs on more GPUs than any table holds, with no other count: {beyond:,}." if beyond else "",
        f"Jobs with a single allowed count: {single:,} of {len(kept):,}." if single else "",
    ]
    return [sentence for sentence in audit if sentence]
