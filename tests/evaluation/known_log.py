"""A cluster simulated minute by minute, what sacct would print of it, damaged, and what is true of it.

Nothing here is shared with what is tested: jobs are followed by counting, minute by minute.
"""

import random
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from statistics import median

MINUTES = 900
WHOLE_GPUS, SLICED_GPUS = 12, 3
GPUS = WHOLE_GPUS + SLICED_GPUS
SEVENTHS = {"a100_1g.5gb": 1, "a100_2g.10gb": 2, "a100_3g.20gb": 3}
HEADER = (
    "JobIDRaw|JobID|User|Partition|JobName|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|AllocTRES|ReqTRES|NodeList"
)


@dataclass
class Job:
    """A job or a task of an array; minutes. ``kind``: a MIG profile, empty: whole GPUs."""

    raw: int
    name: str
    user: str
    partition: str
    submit: int
    run: int
    gpus: int
    kind: str = ""
    failed: bool = False
    limit: int | None = None
    array: str = ""
    start: int | None = None

    @property
    def end(self) -> int | None:
        return None if self.start is None else self.start + self.run

    @property
    def parts(self) -> Fraction:
        return Fraction(SEVENTHS[self.kind] if self.kind else 7, 7) * self.gpus

    @property
    def ended(self) -> bool:
        return self.end is not None and self.end <= MINUTES

    def holds(self, minute: int) -> bool:
        return self.start is not None and self.start <= minute < self.start + self.run


@dataclass
class Log:
    """The jobs, most tasks at once by array, the rows, and what is true at the end of the simulation."""

    jobs: list[Job]
    most: dict[str, int]
    rows: list[str] = field(default_factory=list)

    @property
    def kept(self) -> list[Job]:
        """Those that completed on whole GPUs."""
        return [job for job in self.jobs if job.ended and not job.failed and not job.kind]

    @property
    def waiting_s(self) -> float:
        """Mean of those kept."""
        return 60 * sum((job.start or 0) - job.submit for job in self.kept) / len(self.kept)

    @property
    def used(self) -> Fraction:
        """By those kept, from their first submission to their last end."""
        first, last = min(job.submit for job in self.kept), max(job.end or 0 for job in self.kept)
        held = sum(job.gpus for minute in range(first, last) for job in self.kept if job.holds(minute))
        return Fraction(held, GPUS * (last - first))

    @property
    def outside(self) -> Fraction:
        """By all others, slices by their part, from the first submission of those kept to their last start."""
        kept = {job.raw for job in self.kept}
        first, last = min(job.submit for job in self.kept), max(job.start or 0 for job in self.kept)
        others = [job for job in self.jobs if job.raw not in kept]
        held = sum((job.parts for minute in range(first, last) for job in others if job.holds(minute)), Fraction())
        return held / (GPUS * (last - first))

    @property
    def limits_s(self) -> list[float]:
        """What policies are told of those kept: the limit, the median of the partition, or of the file."""
        seen = [job for job in self.jobs if job.limit is not None and job.start is not None and job.start < MINUTES]
        found = []
        for job in self.kept:
            own = [each.limit for each in seen if each.partition == job.partition]
            found.append(60.0 * (job.limit or median(own or [each.limit for each in seen])))
        return found

    def running(self) -> list[Job]:
        """Those that run when the log is printed."""
        return [job for job in self.jobs if job.start is not None and job.start <= MINUTES < job.start + job.run]

    def write(self, path: Path) -> Path:
        """Write the log."""
        path.write_text("\n".join([HEADER, *self.rows]) + "\n", encoding="utf-8")
        return path


@cache
def simulated(seed: int) -> Log:
    """Run a drawn queue: first come, first served, whoever fits; an array has at most so many of its tasks at once."""
    draw = random.Random(seed)
    jobs, most = [], {}
    raw = 100
    for minute in sorted(draw.randrange(MINUTES - 60) for _ in range(90)):
        raw += 1
        kind = draw.choice([*SEVENTHS, "", "", ""])
        plain = {
            "user": draw.choice(["ada", "bob", "eve"]),
            "partition": "mig" if kind else draw.choice(["long", "short", "quiet"]),
            "submit": minute,
            "kind": kind,
        }
        tasks = draw.choice([0, 0, 0, 0, 0, 6])
        if tasks:
            most[str(raw)] = draw.choice([1, 2, 3])
        for index in range(tasks or 1):
            name = f"{raw}_{index}" if tasks else str(raw)
            run, gpus = draw.randrange(5, 120), 1 if kind else draw.choice([1, 1, 2, 4])
            limit = None if plain["partition"] == "quiet" or draw.random() < 0.3 else run + draw.randrange(60)
            job = Job(1000 * raw + index, name, run=run, gpus=gpus, limit=limit, **plain)  # type: ignore[arg-type]
            job.failed, job.array = draw.random() < 0.2, str(raw) if tasks else ""
            jobs.append(job)
    sliced: list[list[Job]] = [[] for _ in range(SLICED_GPUS)]
    for minute in range(MINUTES + 1):
        beside = [each for each in jobs if each.holds(minute)]
        for job in jobs:
            if job.start is not None or job.submit > minute:
                continue
            if job.array and sum(each.array == job.array for each in beside) >= most[job.array]:
                continue
            room = [gpu for gpu in sliced if sum(each.parts for each in gpu if each.holds(minute)) + job.parts <= 1]
            if job.kind and room:
                room[0].append(job)
            elif job.kind or sum(each.gpus for each in beside if not each.kind) + job.gpus > WHOLE_GPUS:
                continue
            job.start = minute
            beside.append(job)
    log = Log(jobs, most)
    log.rows = _rows(log, draw)
    return log


def _rows(log: Log, draw: random.Random) -> list[str]:
    rows = []
    for job in log.jobs:
        asked = f"cpu=4,gres/gpu{f':{job.kind}' if job.kind else ''}={job.gpus}"
        node = "m1" if job.kind else ""
        limit = "" if job.limit is None else str(job.limit)
        head = f"{job.raw}|{job.name}|{job.user}|{job.partition}|train"
        if job.start is None or job.start > MINUTES:
            if not job.array:
                rows.append(f"{head}|PENDING|{_at(job.submit)}|Unknown|Unknown|0|{limit}||{asked}|None assigned")
            continue
        if job.start + job.run > MINUTES:
            times = f"{_at(job.submit)}|{_at(job.start)}|Unknown|{60 * (MINUTES - job.start)}"
            rows.append(f"{head}|RUNNING|{times}|{limit}|{asked}|{asked}|{node}")
            continue
        start, end, elapsed = _at(job.start), _at(job.start + job.run), str(60 * job.run)
        damage = draw.randrange(6)
        start = "Unknown" if damage == 0 else start
        end = draw.choice(["", "Unknown", "None"]) if damage == 1 else _at(MINUTES) if damage == 2 else end
        elapsed = "" if damage == 3 else elapsed
        state = "FAILED" if job.failed else "COMPLETED"
        rows.append(f"{head}|{state}|{_at(job.submit)}|{start}|{end}|{elapsed}|{limit}|{asked}|{asked}|{node}")
        if draw.random() < 0.2:
            rows.append(
                f"{job.raw}.batch|{job.name}.batch|||batch|{state}|{_at(job.submit)}|{start}|{end}|{elapsed}||cpu=4||"
            )
        if draw.random() < 0.1:
            rows.append(rows[-1])
        if draw.random() < 0.1:
            rows.append("slurmdbd: connection lost")
    for array, count in log.most.items():
        tasks = [job for job in log.jobs if job.array == array and (job.start is None or job.start > MINUTES)]
        if tasks:
            first = tasks[0]
            asked = f"gres/gpu{f':{first.kind}' if first.kind else ''}={first.gpus}"
            indices = ",".join(job.name.split("_")[1] for job in tasks)
            head = (
                f"{array}|{array}_[{indices}%{count}]|{first.user}|{first.partition}|train|PENDING|{_at(first.submit)}"
            )
            rows.append(f"{head}|Unknown|Unknown|0|||{asked}|None assigned")
    return rows


def _at(minute: int) -> str:
    return f"2025-03-{1 + minute // 1440:02}T{minute // 60 % 24:02}:{minute % 60:02}:00"
