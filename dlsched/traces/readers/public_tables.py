"""Public traces that are tables with a header: Acme (Shanghai AI Lab), Helios (SenseTime), Philly (Microsoft)."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

from dlsched.traces.queue.queue import Queue
from dlsched.traces.readers.columns import Column, read_columns

ACME: Final[Mapping[str, Column]] = {
    "id": Column("job_id"),
    "user": Column("user"),
    "group": Column("type"),
    "arrival": Column("submit_time"),
    "start": Column("start_time"),
    "end": Column("end_time"),
    "gpus": Column("gpu_num"),
    "cpus": Column("cpu_num"),
    "state": Column("state"),
}
HELIOS: Final[Mapping[str, Column]] = {**ACME, "group": Column("vc"), "duration": Column("duration")}
PHILLY: Final[Mapping[str, Column]] = {
    "user": Column("cluster"),
    "group": Column("cluster"),
    "arrival": Column("timestamp"),
    "duration": Column("duration"),
    "gpus": Column("num_gpus"),
}


def read_acme(path: Path, *, states: Collection[str] | None = None, ended_only: bool = True) -> Queue:
    """Read ``trace_seren.csv`` or ``trace_kalos.csv`` of InternLM/AcmeTrace (NSDI 2024).

    Durations are end - start: the file's own column holds waiting too in one of the clusters. The group is the workload's
    type.

    Raises
    ------
    InputError
        No such table, or no job is left.
    """
    said = ["Durations are end - start, not the column of that name, which is not that in all files."]
    return read_columns(path, "acme", ACME, states=states, ended_only=ended_only, said=said)


def read_helios(path: Path, *, states: Collection[str] | None = None, ended_only: bool = True) -> Queue:
    """Read ``cluster_log.csv`` of a cluster of S-Lab-System-Group/HeliosData (SC 2021); the group is the virtual cluster.

    Raises
    ------
    InputError
        No such table, or no job is left.
    """
    return read_columns(path, "helios", HELIOS, states=states, ended_only=ended_only)


def read_philly(path: Path, *, states: Collection[str] | None = None, ended_only: bool = True) -> Queue:
    """Read ``philly_jobs.csv`` of petuum/adaptdl, from Microsoft's trace (ATC 2019).

    It has neither ids, users, states nor starts: an id is a line, and the virtual cluster stands for user and group.

    Raises
    ------
    InputError
        No such table, or no job is left.
    """
    said = [
        "The trace has no users: the virtual cluster stands for them.",
        "The trace has no status: jobs that failed or were killed count as done after their duration.",
    ]
    return read_columns(path, "philly", PHILLY, states=states, ended_only=ended_only, said=said)
