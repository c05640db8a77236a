"""Reader of any table of jobs with a header, by a mapping from fields of a queue to columns; Acme, Helios, Philly are such."""

import math
import re
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from dlsched.core.errors import UsageError
from dlsched.traces.cells import Damaged, Moments, devices, nodes_of, number, share_of, span, zone_of
from dlsched.traces.gpu_counts import part_of
from dlsched.traces.job_rules import QueueCollector
from dlsched.traces.queue import Audit, Queue, QueuedJob
from dlsched.traces.readers.text_tables import open_table, require

KEYS: Final = (
    *("id", "user", "group", "arrival", "start", "end", "duration", "gpus", "share", "least_gpus", "nodes", "cpus"),
    *("gpu_type", "state", "limit", "priority", "pool", "class", "eligible"),
)
"""What a column may stand for."""

SECONDS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
PARTS: Final = {"%": 1e-2, "milli": 1e-3}
UNITS: Final[Mapping[str, Mapping[str, float]]] = {
    **dict.fromkeys(("arrival", "start", "end", "duration", "limit", "eligible"), SECONDS),
    **dict.fromkeys(("gpus", "share", "cpus"), PARTS),
}
"""Units that may follow a column after a colon."""

OPEN: Final = frozenset({"running", "pending", "queued", "waiting", "suspended", "starting", "admitted", "created"})
"""States, in lower case, of running and waiting jobs."""


_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{0,15})?")


class Column(NamedTuple):
    """A column of the file, and the size of its unit in seconds, GPUs or cores."""

    name: str
    unit: float = 1.0


def read_csv(
    path: Path,
    *,
    columns: str | Mapping[str, str],
    states: Collection[str] | None = None,
    ended_only: bool = True,
    delimiter: str | None = None,
    time_zone: str | None = None,
) -> Queue:
    """Read a table of jobs with a header.

    ``columns``: which column stands for what: ``arrival=submit,gpus=n,duration=run_h:h``, or a mapping of the same.
    Keys are those of ``KEYS``; ``arrival``, ``gpus``, and ``duration`` or ``end`` are needed. A unit may follow a time
    (us, ms, s, min, h, d) or a number of GPUs (%, milli). Times are dates or numbers; durations may be ``h:m:s``. A job
    is on parts of GPUs by its ``share`` of each, else where ``gpus`` is no whole number or ``gpu_type`` is a MIG
    profile. Jobs of a ``pool`` share GPUs with no other; ``class``: higher numbers are served first.
    ``states``: keep jobs in these states only; None: all. ``delimiter``: that of the cells; None: as in the header.
    ``time_zone``: that of dates without one, by name; None: they are taken as they are.
    """
    mapping = read_mapping(columns)
    return read_columns(
        path, "csv", mapping, states=states, ended_only=ended_only, delimiter=delimiter, time_zone=time_zone
    )


def read_mapping(columns: str | Mapping[str, str]) -> dict[str, Column]:
    """Read a mapping from keys to columns.

    >>> read_mapping("arrival=submit,gpus=n,duration=run_h:h")["duration"]
    Column(name='run_h', unit=3600.0)
    """
    if isinstance(columns, str):
        entries = [entry.partition("=") for entry in columns.split(",") if entry.strip()]
        pairs = [(key.strip(), name.strip()) for key, _, name in entries]
    else:
        pairs = list(columns.items())
    mapped: dict[str, Column] = {}
    for key, name in pairs:
        if key not in KEYS or not name or key in mapped:
            raise UsageError(
                where="columns", found=repr(f"{key}={name}"), allowed=f"once each KEY=COLUMN with {', '.join(KEYS)}"
            )
        # A unit counts only where this key has one of that name: columns may hold colons themselves.
        head, sign, unit = name.rpartition(":")
        factor = UNITS.get(key, {}).get(unit) if sign else None
        mapped[key] = Column(name) if factor is None else Column(head, factor)
    # A duration may follow from start and end.
    lacking = [key for key in ("arrival", "gpus") if key not in mapped]
    if not {"duration", "end"} & set(mapped):
        lacking.append("duration (or start and end)")
    elif "duration" not in mapped and "start" not in mapped:
        lacking.append("start")
    if lacking:
        raise UsageError(
            where="columns", found=f"no {', '.join(lacking)}", allowed="such as arrival=submit,gpus=n,duration=run_s"
        )
    if len({mapped[key].unit for key in ("arrival", "start", "end", "eligible") if key in mapped}) > 1:
        allowed = "one for arrival, start, end and eligible"
        raise UsageError(where="columns", found="times of several units", allowed=allowed)
    return mapped


def read_columns(
    path: Path,
    source: str,
    mapping: Mapping[str, Column],
    *,
    states: Collection[str] | None,
    ended_only: bool,
    delimiter: str | None = None,
    time_zone: str | None = None,
    assumptions: Collection[str] = (),
) -> Queue:
    """Read a table by its mapping; ``assumptions``: further sentences of the audit."""
    names = [column.name for column in mapping.values()]
    table = open_table(path, names, delimiter=delimiter)
    require(table, *((name,) for name in names))
    audit = Audit()
    kept = QueueCollector(source, path, audit, states, ended_only)
    moments = Moments(mapping["arrival"].unit, zone=zone_of(time_zone))
    reader = _Reader(mapping, moments, audit)
    # Cells in the order of the keys; what has no column is an empty cell.
    wanted = [mapping[key].name if key in mapping else "" for key in KEYS]
    for line, cells in table.rows(wanted, audit):
        try:
            job, ended = reader.job(dict(zip(KEYS, cells, strict=True)), line)
            kept.add(job, ended=ended)
        except Damaged as damage:
            audit.note(damage.reason, line, damage.found)
    queue = kept.queue([*assumptions, *moments.sentences()], dated=moments.dated)
    if "pool" not in mapping:
        return queue
    jobs = (*queue.jobs, *queue.others, *queue.slices)
    return replace(queue, pools={job.partition: 0 for job in jobs if job.partition})


@dataclass
class _Reader:
    mapping: Mapping[str, Column]
    moments: Moments
    audit: Audit

    def figure(
        self, row: Mapping[str, str], key: str, read: Callable[[str, str], float | None] = number
    ) -> float | None:
        """A figure in seconds, GPUs or cores; None where it has no column or nothing is said."""
        if key not in self.mapping:
            return None
        value = read(row[key], self.mapping[key].name)
        return None if value is None else value if ":" in row[key] else value * self.mapping[key].unit

    def moment(self, row: Mapping[str, str], key: str) -> float | None:
        """A time; None where it has no column or nothing is said."""
        return self.moments.read(row[key], self.mapping[key].name) if key in self.mapping else None

    def job(self, row: Mapping[str, str], line: int) -> tuple[QueuedJob, bool]:
        """The job of a row, by keys, and whether it has ended."""
        gpus = self.figure(row, "gpus")
        if gpus is None:
            raise Damaged("entries without a number of GPUs, left out")
        # A share of its own column wins; else fractions of GPUs, else a MIG profile, say how much of each GPU is taken.
        whole = devices(gpus)
        stated, fewest = self.figure(row, "share"), self.figure(row, "least_gpus")
        if stated is not None and whole and not 0 < stated <= 1:
            raise Damaged("entries whose share is not above 0 and at most 1, left out", row["share"])
        share = stated or (share_of(gpus, whole) if gpus < whole else float(part_of(row["gpu_type"])))
        arrival_s, end_s = self.moment(row, "arrival"), self.moment(row, "end")
        duration_s, limit_s = self.figure(row, "duration", span), self.figure(row, "limit", span)
        state, group = sys.intern(row["state"].strip()), sys.intern(row["group"].strip())
        ended = state.casefold() not in OPEN and (end_s is not None or duration_s is not None)
        job = QueuedJob(
            row["id"].strip() or f"line-{line}",
            sys.intern(row["user"].strip()),
            group,
            math.nan if arrival_s is None else arrival_s,
            self.moment(row, "start"),
            end_s if ended else None,
            duration_s if ended else None,
            whole,
            share,
            least_gpus=None if fewest is None or not 1 <= fewest < whole else math.ceil(fewest),
            nodes=nodes_of(row["nodes"], self.audit, line),
            cpus=self.figure(row, "cpus") or 0.0,
            gpu_type=sys.intern(row["gpu_type"].strip()),
            state=state,
            limit_s=None if limit_s is None or limit_s <= 0 else limit_s,
            line=line,
            priority=self.figure(row, "priority"),
            partition=sys.intern(row["pool"].strip()) if "pool" in self.mapping else group,
            eligible_s=self.moment(row, "eligible"),
            qos=sys.intern(row["class"].strip()),
        )
        # classes that are numbers are ranked by them
        if "priority" not in self.mapping and _NUMBER.fullmatch(job.qos):
            job = job._replace(priority=float(job.qos))
        return self.moments.settled(job), ended


ACME: Final = read_mapping(
    "id=job_id,user=user,group=type,arrival=submit_time,start=start_time,end=end_time,gpus=gpu_num,cpus=cpu_num,state=state"
)
HELIOS: Final = {**ACME, "group": Column("vc"), "duration": Column("duration")}
PHILLY: Final = read_mapping("user=cluster,group=cluster,arrival=timestamp,duration=duration,gpus=num_gpus")


def read_acme(path: Path, *, states: Collection[str] | None = None, ended_only: bool = True) -> Queue:
    """Read ``trace_seren.csv`` or ``trace_kalos.csv`` of InternLM/AcmeTrace (NSDI 2024); the group is the workload's type."""
    assumptions = ["Durations are end - start, not the column of that name, which is not that in all files."]
    return read_columns(path, "acme", ACME, states=states, ended_only=ended_only, assumptions=assumptions)


def read_helios(path: Path, *, states: Collection[str] | None = None, ended_only: bool = True) -> Queue:
    """Read ``cluster_log.csv`` of a cluster of S-Lab-System-Group/HeliosData (SC 2021); the group is the virtual cluster."""
    return read_columns(path, "helios", HELIOS, states=states, ended_only=ended_only)


def read_philly(path: Path, *, states: Collection[str] | None = None, ended_only: bool = True) -> Queue:
    """Read ``philly_jobs.csv`` of petuum/adaptdl, from Microsoft's trace (ATC 2019), which has no ids, users or starts."""
    assumptions = [
        "The trace has no users: the virtual cluster stands for them.",
        "The trace has no status: jobs that failed or were killed count as done after their duration.",
    ]
    return read_columns(path, "philly", PHILLY, states=states, ended_only=ended_only, assumptions=assumptions)
