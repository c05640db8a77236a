"""A cluster of three partitions under a scheduler of its own, independent of dlsched: its log as ``sacct`` has it, and truth.

Each partition has nodes and a queue of its own, in the order of class (QOS) and of eligibility, with EASY backfilling by the time
limits that users state. Users send single jobs, arrays of which so many tasks may run at once, and chains of dependent jobs. A
second run of the same jobs in the order of their true lengths says what that order would have saved.
"""

import heapq
import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime

T0 = int(datetime(2025, 9, 1, tzinfo=UTC).timestamp())
PARTITIONS = {"a100": (10, 8), "h100": (6, 8), "v100": (12, 4)}
"""Nodes, and GPUs of a node."""
CLASSES = {"urgent": 2, "normal": 1, "low": 0}
HEAD = "JobIDRaw|JobID|User|Partition|QOS|State|Eligible|Submit|Start|End|ElapsedRaw|TimelimitRaw|AllocTRES|ReqTRES|NodeList"


@dataclass
class Job:
    """A job of the cluster; times in seconds since 1970."""

    number: int
    name: str
    user: str
    partition: str
    qos: str
    submit: int
    gpus: int
    runs: int
    limit: int
    array: str = ""
    at_once: int = 0
    after: int | None = None
    eligible: int = 0
    start: int = 0
    nodes: tuple[str, ...] = ()


def draw(seed: int, count: int, load: float) -> list[Job]:
    """Draw jobs: a fifth of the tasks in arrays with a limit, a tenth in chains of four; at most the GPUs of four nodes."""
    g = random.Random(seed)
    jobs: list[Job] = []
    share = {name: nodes * gpus for name, (nodes, gpus) in PARTITIONS.items()}
    total, clock = sum(share.values()), dict.fromkeys(PARTITIONS, float(T0))
    while len(jobs) < count:
        partition = g.choices(list(share), weights=share.values())[0]
        user, qos = f"u{g.randrange(40):02d}", g.choices(list(CLASSES), weights=(1, 8, 3))[0]
        kind, per = g.random(), PARTITIONS[partition][1]
        members = g.randint(6, 20) if kind < 0.02 else 4 if kind < 0.05 else 1
        work, first, array = 0, len(jobs) + 1, ""
        gpus = g.choice([1, 1, 1, 2, 2, 4, per, per, 2 * per, 4 * per]) if members == 1 else g.choice([1, 2])
        at_once = g.randint(2, 4) if members > 4 else 0
        for member in range(members):
            number = len(jobs) + 1
            array = str(first) if at_once else ""
            runs = int(60 * g.lognormvariate(4.0, 1.2)) + 60
            limit = 60 * (int(runs * g.choice([1.1, 1.5, 2, 4])) // 60 + 1)
            jobs.append(
                Job(
                    number,
                    f"{first}_{member}" if array else str(number),
                    user,
                    partition,
                    qos,
                    int(clock[partition]),
                    gpus,
                    runs,
                    limit,
                    array,
                    at_once,
                    number - 1 if members == 4 and member else None,
                )
            )
            work += runs * gpus
        # the next submission when the partition could have served what was sent, at this load
        clock[partition] += g.expovariate(load * share[partition] / work)
    assert total > 0
    return jobs


def run(jobs: list[Job], *, shortest: bool = False) -> None:
    """Give every job its start and its nodes, by partition; ``shortest``: within a class by true length, no reservation."""
    for partition, (count, per) in PARTITIONS.items():
        _run(
            [job for job in jobs if job.partition == partition],
            [f"{partition}-{n}" for n in range(count)],
            per,
            shortest,
        )


def _run(jobs: list[Job], names: list[str], per: int, shortest: bool) -> None:
    ended: dict[int, int] = {}
    children = defaultdict(list)
    events: list[tuple[int, int, int, Job]] = []  # time, 0: an end, 1: a release
    for job in jobs:
        if job.after is None:
            heapq.heappush(events, (job.submit, 1, job.number, job))
        else:
            children[job.after].append(job)
    free, running, queue = dict.fromkeys(names, per), {}, []
    at_once: Counter[str] = Counter()

    def key(job: Job) -> tuple[float, ...]:
        return (-CLASSES[job.qos], job.runs, job.number) if shortest else (-CLASSES[job.qos], job.eligible, job.number)

    def begin(job: Job, now: int) -> None:
        missing, nodes = job.gpus, []
        for name in sorted(names, key=lambda name: -free[name]):
            taken = min(missing, free[name])
            free[name] -= taken
            missing -= taken
            nodes += [(name, taken)] if taken else []
        assert missing == 0
        job.start, job.nodes = now, tuple(name for name, _ in nodes)
        running[job.number] = (job, nodes)
        at_once[job.array] += 1
        heapq.heappush(events, (now + job.runs, 0, job.number, job))

    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, kind, _, job = heapq.heappop(events)
            if kind == 1:
                job.eligible = now
                queue.append(job)
                continue
            ended[job.number] = now
            at_once[job.array] -= 1
            for name, taken in running.pop(job.number)[1]:
                free[name] += taken
            for child in children[job.number]:
                heapq.heappush(events, (max(now, child.submit), 1, child.number, child))
        queue.sort(key=key)
        room, shadow, spare = sum(free.values()), None, 0
        for job in list(queue):
            if job.at_once and at_once[job.array] >= job.at_once:
                continue
            # EASY: the first that does not fit reserves its GPUs; others may start that leave them free
            fits = job.gpus <= room and (shadow is None or now + job.limit <= shadow or job.gpus <= spare)
            if fits:
                begin(job, now)
                queue.remove(job)
                room -= job.gpus
                if shadow is not None and now + job.limit > shadow:
                    spare -= job.gpus
            elif shadow is None and not shortest:
                available = room
                for end, gpus in sorted((each.start + each.limit, each.gpus) for each, _ in running.values()):
                    available += gpus
                    if available >= job.gpus:
                        shadow, spare = max(end, now), available - job.gpus
                        break


def log(jobs: list[Job], *, eligible: bool = True) -> str:
    """Write the dump of all jobs; without ``Eligible``, dependencies and limits are not stated anywhere."""
    lines = [HEAD if eligible else HEAD.replace("Eligible|", "")]
    for job in sorted(jobs, key=lambda job: job.submit):
        when = [
            datetime.fromtimestamp(t, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            for t in (job.submit, job.start, job.start + job.runs)
        ]
        asked = [datetime.fromtimestamp(job.eligible, UTC).strftime("%Y-%m-%dT%H:%M:%S")] if eligible else []
        tres = f"gres/gpu:{job.partition}={job.gpus}"
        words = [
            job.number,
            job.name,
            job.user,
            job.partition,
            job.qos,
            "COMPLETED",
            *asked,
            *when,
            job.runs,
            job.limit // 60,
        ]
        lines.append("|".join(map(str, [*words, tres, tres, ",".join(job.nodes)])))
    return "\n".join(lines) + "\n"


def waits(jobs: list[Job]) -> dict[str, float]:
    """Mean seconds from submission to start, of all jobs and by partition; and the part before jobs were eligible."""
    of = {"all": jobs} | {name: [job for job in jobs if job.partition == name] for name in PARTITIONS}
    means = {name: sum(job.start - job.submit for job in each) / len(each) for name, each in of.items()}
    return means | {"before_eligible": sum(job.eligible - job.submit for job in jobs) / len(jobs)}


if __name__ == "__main__":
    import sys

    drawn = draw(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
    run(drawn)
    print(waits(drawn))
    with open(sys.argv[4], "w") as file:
        file.write(log(drawn))
    run(drawn, shortest=True)
    print(waits(drawn))
