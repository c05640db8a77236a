"""Reader of Slurm's accounting: the jobs that held GPUs, as ``sacct`` prints them with a header and a delimiter.

``sacct -aXP --format=JobIDRaw,JobID,User,Partition,State,Submit,Start,End,ElapsedRaw,TimelimitRaw,AllocTRES,ReqTRES``, with
``NodeList``, ``AllocCPUS``, ``JobName`` and ``Priority`` where they are wanted. Arrays are told by ``JobID``.
"""

import functools
import math
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple

from dlsched.core.errors import InputError
from dlsched.core.messages import shown
from dlsched.traces.cells import MISSING, Damaged, Moments, devices, nodes_of, number, numbers, share_of, span, zone_of
from dlsched.traces.gpu_counts import part_of
from dlsched.traces.job_rules import NO_GPU, QueueCollector
from dlsched.traces.queue import Audit, Queue, QueuedJob, QueueNode, counted
from dlsched.traces.readers.text_tables import open_table, open_text, require

OPEN: Final = frozenset(
    {
        *(
            "RUNNING",
            "PENDING",
            "SUSPENDED",
            "COMPLETING",
            "CONFIGURING",
            "STOPPED",
            "SIGNALING",
            "STAGE_OUT",
            "RESIZING",
        ),
        *("RESV_DEL_HOLD", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "POWER_UP_NODE"),
    }
)
"""States of jobs that run or wait; a record in any other has ended."""

UNLIMITED: Final = frozenset({"unlimited", "partition_limit", "invalid", "not_set"})

CLOSED: Final = frozenset(
    {
        *("DOWN", "DRAIN", "DRAINED", "DRAINING", "ERROR", "FAIL", "FAILING", "FUTURE", "INVAL", "INVALID_REG"),
        *("MAINT", "MAINTENANCE", "NOT_RESPONDING", "REBOOT_ISSUED", "UNKNOWN"),
    }
)
"""States and flags of nodes that take no jobs."""

_FIELD = re.compile(r"(?:^|(?<=\s))([A-Za-z_]+)=(\S*)")
_WORD = re.compile(r"[A-Z_]+")
_GPUS = re.compile(r"(?:^|,)gpu(?::([^,:()]+))?(?::([^,:()]+))?(?=[,(]|$)")

UNTOLD: Final = "jobs on shared GPUs whose share the log does not state, left out and not counted"
_SHARED = re.compile(r"gres/(shard|mps)(?::[^=,]*)?=([1-9][0-9]{0,6})(?![0-9])")
_SHARDS = re.compile(r"(?:^|,)shard(?::[^,:()]+)?:([0-9]{1,7})(?=[,(]|$)")

COLUMNS: Final = (
    *("JobIDRaw", "JobID", "User", "Partition", "State", "Submit", "Start", "End", "ElapsedRaw", "Elapsed"),
    *("TimelimitRaw", "Timelimit", "AllocTRES", "ReqTRES", "NodeList", "AllocCPUS", "JobName", "Priority"),
    *("Eligible", "QOS"),
)


Row = Mapping[str, str]
"""Cells of a row by column; empty where the file has no such column."""


class Tres(NamedTuple):
    """GPUs, their type and share where these are stated, CPU cores; ``torn``: typed and untyped GPUs contradict each other."""

    gpus: int
    gpu_type: str
    cpus: float
    torn: bool
    share: float = 1.0


def read_slurm(
    path: Path,
    *,
    states: Collection[str] | None = None,
    ended_only: bool = True,
    delimiter: str | None = None,
    time_zone: str | None = None,
    nodes: Path | None = None,
) -> Queue:
    """Read the jobs of an accounting dump.

    Skips steps. A requeued job counts by its last attempt, an element of an array as a job. GPUs are those of
    ``AllocTRES``, or of ``ReqTRES`` if a job was never given any. The group is the job's name if the file has names, else
    the partition. ``delimiter``: that of the cells; None: the one that the header shows. ``time_zone``: as ``read_csv``.
    ``nodes``: what ``scontrol show node -o`` prints, where all GPUs have as many shards if they have some; None: nodes are not
    listed.
    """
    table = open_table(path, COLUMNS, delimiter=delimiter)
    require(table, ("JobIDRaw", "JobID"), ("State",), ("Submit",), ("Start",), ("End",), ("AllocTRES", "ReqTRES"))
    audit = Audit()
    collector = QueueCollector("slurm", path, audit, states, ended_only, attempts=True)
    listed = () if nodes is None else read_nodes(nodes)
    per_gpu = {Fraction(node.shards, node.gpus) for node in listed if node.shards}
    shards = per_gpu.pop() if len(per_gpu) == 1 else None
    reader = _Reader(audit, Moments(numbers_are_dates=True, zone=zone_of(time_zone)), shards)
    for line, cells in table.rows(COLUMNS, audit):
        try:
            for job, ended in reader.jobs(dict(zip(COLUMNS, cells, strict=True)), line):
                collector.add(job, ended=ended)
        except Damaged as damage:
            audit.note(damage.reason, line, damage.found)
    queue = collector.queue(reader.moments.sentences(), dated=True)
    return _with_nodes(queue, listed) if listed else queue


def read_nodes(path: Path) -> tuple[QueueNode, ...]:
    """Read what ``scontrol show node -o`` prints: the nodes with GPUs, their types, partitions, and which take no jobs now.

    MIG devices count by their parts of a GPU. InputError: a line is of no node, or of one that stood before; no node has GPUs.
    """
    nodes: dict[str, QueueNode] = {}
    with open_text(path, errors="replace") as file:
        for line, text in enumerate(file, 1):
            if not text.strip():
                continue
            # the first of each name: what stands in a reason is no field
            fields = dict(reversed(_FIELD.findall(text)))
            name, where = fields.get("NodeName", ""), f"{path}, line {line}"
            if not name or "Gres" not in fields or "State" not in fields:
                allowed = "NodeName=, Gres= and State=, as scontrol show node -o prints a node on a line"
                raise InputError(where=where, found=shown(text.strip()), allowed=allowed)
            if name in nodes:
                raise InputError(where=where, found=f"NodeName={shown(name)} again", allowed="each node once")
            try:
                gpus, kind = _node_gpus(fields["Gres"])
                shards = sum(map(int, _SHARDS.findall(fields["Gres"])))
                cpus = number(fields.get("CPUTot", ""), "CPUTot") or 0.0
            except Damaged as damage:
                raise InputError(where=where, found=shown(damage.found), allowed="a number") from None
            partitions = fields.get("Partitions", "")
            pools = () if partitions.casefold() in MISSING else tuple(partitions.split(","))
            closed = not CLOSED.isdisjoint(_WORD.findall(fields["State"].upper()))
            nodes[name] = QueueNode(name, gpus, kind, cpus, pools, closed, shards)
    found = tuple(node for node in nodes.values() if node.gpus)
    if not found:
        raise InputError(where=str(path), found=f"{len(nodes):,} nodes without GPUs", allowed="at least one with some")
    return found


def _node_gpus(gres: str) -> tuple[int, str]:
    """GPUs of a node, and their type; empty for several."""
    parts, kinds = Fraction(), []
    for kind, stated in _GPUS.findall(gres):
        kind, count = ("", kind) if kind.isdigit() and not stated else (kind, stated or "1")
        kinds.append(kind)
        parts += devices(number(count, "Gres") or 0.0) * part_of(kind)
    return math.ceil(parts), kinds[0] if len(kinds) == 1 else ""


def _with_nodes(queue: Queue, nodes: Sequence[QueueNode]) -> Queue:
    """The queue on nodes; of those that take no jobs now only such as the record has jobs on."""
    used = {name for job in (*queue.jobs, *queue.others, *queue.slices) for name in job.nodes}
    kept = tuple(node for node in nodes if node.id in used or not node.closed)
    return replace(
        queue,
        nodes=kept,
        audit=(
            *queue.audit,
            *counted("Nodes that are down or drained and ran no job, left out", len(nodes) - len(kept)),
            *counted("Nodes that are down or drained now, kept as jobs ran on them", sum(node.closed for node in kept)),
        ),
    )


@dataclass
class _Reader:
    audit: Audit
    moments: Moments
    shards: Fraction | None  # of a GPU

    def jobs(self, row: Row, line: int) -> Iterator[tuple[QueuedJob, bool]]:
        """Yield the job of a row, or the tasks of a waiting array, each with whether it has ended."""
        name = (row["JobIDRaw"] or row["JobID"]).strip()
        if "." in name.partition("[")[0] or "." in row["JobID"].partition("[")[0]:
            self.audit.note("steps of jobs, passed over", line)
            return
        if not name:
            raise Damaged("entries without a job id, left out")
        # States carry words ("CANCELLED by 1000") or a sign of cut text ("CANCELLED+").
        words = row["State"].split()
        state = sys.intern(words[0].rstrip("+")) if words else ""
        ended = state not in OPEN
        elapsed_s = number(row["ElapsedRaw"], "ElapsedRaw") if row["ElapsedRaw"] else span(row["Elapsed"], "Elapsed")
        tres = self._tres(row, line, allotted=ended or state == "RUNNING", ran=elapsed_s != 0)
        if not tres.gpus:
            shared = _SHARED.search(f"{row['AllocTRES']},{row['ReqTRES']}")
            if shared is None or shared[1] != "shard" or self.shards is None:
                self.audit.note(UNTOLD if shared else NO_GPU, line, shared[0] if shared else None)
                return
            # shards of a job lie on one GPU as long as one has as many
            self.audit.note("jobs on shards of GPUs, whose number per GPU the nodes state", line)
            parts = float(int(shared[2]) / self.shards)
            tres = tres._replace(gpus=devices(parts), share=share_of(parts, devices(parts)))
        partition = sys.intern(row["Partition"].strip())
        job = QueuedJob(
            name,
            sys.intern(row["User"].strip()),
            sys.intern(row["JobName"].strip()) or partition,
            self.moments.arrival(row["Submit"], "Submit"),
            self.moments.read(row["Start"], "Start"),
            self.moments.read(row["End"], "End") if ended else None,
            elapsed_s,  # of a job that runs until the dump was written
            tres.gpus,
            tres.share,
            nodes=nodes_of(row["NodeList"], self.audit, line),
            cpus=number(row["AllocCPUS"], "AllocCPUS") or tres.cpus,
            gpu_type=tres.gpu_type,
            state=state,
            limit_s=_limit(row),
            line=line,
            priority=number(row["Priority"], "Priority"),
            partition=partition,
            eligible_s=self.moments.read(row["Eligible"], "Eligible"),
            qos=sys.intern(row["QOS"].strip()),
        )
        job = self.moments.settled(job)
        if "+" in name or "+" in row["JobID"]:
            self.audit.note("components of heterogeneous jobs, counted as jobs of their own", line)
        # Tasks of an array that wait share one row; each becomes a job.
        tasks = row["JobID"] if "[" in row["JobID"] else name
        if "[" not in tasks:
            task = _TASK.fullmatch(row["JobID"].strip() or name)
            yield (job if task is None else job._replace(array=task[1])), ended
            return
        array, ids, at_once = _tasks(tasks)
        for each in ids:
            yield job._replace(id=each, array=array, at_once=at_once), ended

    def _tres(self, row: Row, line: int, *, allotted: bool, ran: bool) -> Tres:
        found = parse_tres(row["AllocTRES"])
        if not found.gpus and not (allotted and row["AllocTRES"].strip()):
            found = parse_tres(row["ReqTRES"])
            if found.gpus and allotted and ran and row["Start"].strip().casefold() not in MISSING:
                self.audit.note("jobs without an allocation, assumed to have got what they requested", line)
        if found.torn:
            self.audit.note("jobs whose typed and untyped GPUs differ in number, counted by the larger number", line)
        return found


def _limit(row: Row) -> float | None:
    """Seconds; ``TimelimitRaw`` has minutes."""
    text = row["TimelimitRaw"] or row["Timelimit"]
    if text.strip().casefold() in UNLIMITED:
        return None
    if row["TimelimitRaw"]:
        minutes = number(text, "TimelimitRaw")
        return None if minutes is None or minutes <= 0 else 60 * minutes
    return span(text, "Timelimit") or None


@functools.lru_cache(maxsize=65536)
def parse_tres(text: str) -> Tres:
    """Read trackable resources: counts untyped GPUs, else the sum of typed ones; several types leave the type empty.

    >>> parse_tres("billing=8,cpu=16,gres/gpu:a100=4,gres/gpu=4,mem=64G,node=1")
    Tres(gpus=4, gpu_type='a100', cpus=16.0, torn=False, share=1.0)
    >>> parse_tres("gres/gpu:a100_2g.10gb=1").share == 2 / 7
    True
    """
    if text.strip().casefold() in MISSING:
        return Tres(0, "", 0.0, torn=False)
    untyped, cpus, typed = 0, 0.0, {}
    # Typed and untyped GPUs count the same devices, so that they are kept apart.
    for item in text.strip().split(","):
        name, sign, amount = item.partition("=")
        if not sign:
            raise Damaged("entries whose resources are not a list of name=amount, left out", text)
        if name == "cpu":
            cpus = number(amount, "cpu") or 0.0
        elif name == "gres/gpu" or name.startswith("gres/gpu:"):
            if not re.fullmatch(r"[0-9]{1,7}", amount):
                raise Damaged("entries whose number of GPUs is not whole, left out", text)
            if name == "gres/gpu":
                untyped = int(amount)
            else:
                typed[name[9:]] = int(amount)
    # Slurm lists the untyped sum beside the types; where both disagree the larger one counts.
    several = sum(typed.values())
    kinds = [kind for kind, count in typed.items() if count]
    torn = bool(untyped and several > untyped)
    gpus = max(untyped, several)
    # A MIG profile is a part of a GPU; the share is the mean part of all.
    lacking = sum(count * (1 - part_of(kind)) for kind, count in typed.items())
    share = float(1 - lacking / gpus) if lacking else 1.0
    return Tres(gpus, kinds[0] if len(kinds) == 1 else "", cpus, torn, share)


_TASK = re.compile(r"(\d+)_\d+")
_TASKS = re.compile(r"(\d+)_\[([^\[\]%]+)(?:%(\d+))?\]")


def _tasks(text: str) -> tuple[str, list[str], int | None]:
    """Return array, ids of waiting tasks and how many may run at once, from ``123_[5-9,12%2]``; 0 is no limit."""
    found = _TASKS.fullmatch(text.strip())
    if found is None:
        raise Damaged("arrays whose tasks cannot be read, left out", text)
    return found[1], [f"{found[1]}_{task}" for task in numbers(found[2], text)], int(found[3] or 0) or None
