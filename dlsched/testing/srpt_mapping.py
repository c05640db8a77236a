"""srpt_mapping for tests: instances with edge cases of schedules, and optima by brute force.

Among them are jobs that take all GPUs or more than there are, bandwidth inside a server below a GPU's share of the network card,
and, when asked for, jobs that have begun.

Brute force knows the checker only, and takes two steps. *Usages*: every way to put a job's replicas on servers, of
which the fastest is kept for every number of GPUs by server: other jobs see nothing else of it, and a schedule stays
feasible when a job ends earlier. *Orders*: every order of the jobs, with every usage of each; job by job, each starts
at the earliest time at which its GPUs are free to its end beside those placed before it. Jobs that have begun have one
usage, that in which they run, and are placed first, at their release.

*An optimum is among them.* Take an optimal schedule, and its jobs in the order of their starts, with its usages. By
induction no job is placed later than it starts there: of the jobs placed before it, those that run at or after its
start there also run there at that time, as all have started by then. Times no later are a sum no larger. What all
orders give are the active schedules, in which no job can start earlier on its own; one of them is optimal for every
objective that does not fall in any completion time (Sprecher, Kolisch, Drexl 1995, EJOR 80, 94-102).

Times are whole multiples of a power of 1/2 of which all releases and lengths are multiples, so every comparison is
exact.

Where jobs take slices, GPUs of servers with slices are counted one by one, in thousandths, or slot by slot.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

from hypothesis import strategies as st

from dlsched.srpt_mapping.checker import check, infeasible, iteration_time, objective
from dlsched.srpt_mapping.instance import RANGES, Instance, Job
from dlsched.srpt_mapping.slices import SLICE_RULES
from dlsched.srpt_mapping.solution import Schedule, Share
from dlsched.testing.cases import Case, Data, named, odd, several, values

LARGEST = 2_000_000
"""Placements of one job, or orders times usages of all, beyond which ``brute_force_srpt`` refuses."""

Usage = tuple[int, ...]
Placement = tuple[Share, ...]
Placed = tuple[int, int, Usage]  # start, end, GPUs by server
Cell = tuple[str, int | None, int | None]  # a server, and the GPU and slot where those are counted


def brute_force_srpt(instance: Instance) -> tuple[float, Schedule] | None:
    """Return the least sum of completion times and the first schedule that attains it, or None when none is feasible.

    The sums are compared exactly; the one returned is the checker's. A branch is cut when the jobs placed, and the others
    each alone from its release on at its fastest, end no earlier in sum than the best schedule known. A ``ValueError`` says that
    there are more than ``LARGEST`` ways.
    """
    cells = _cells(instance)
    choices = [_usages(instance, job) if job.begun is None else _running(instance, job) for job in instance.jobs]
    if any(job.slice is not None for job in instance.jobs):
        choices = [_by_cell(instance, cells, job, held) for job, held in zip(instance.jobs, choices, strict=True)]
    if not all(choices):
        return None
    begun = [index for index, job in enumerate(instance.jobs) if job.begun is not None]
    # Orders of the jobs that have not begun, times the usages of all.
    tries = math.factorial(len(choices) - len(begun)) * math.prod(map(len, choices))
    if tries > LARGEST:
        raise ValueError(f"more than {LARGEST} schedules: {tries} are too many to try")
    releases = [Fraction(job.release_s) for job in instance.jobs]
    lengths = [
        [Fraction(job.iterations) * Fraction(alpha) for alpha, _ in held.values()]
        for job, held in zip(instance.jobs, choices, strict=True)
    ]
    # Floats have denominators that are powers of two: the largest one makes all times integers.
    parts = max(time.denominator for time in [*releases, *(time for held in lengths for time in held)])
    search = _Search(
        [*cells.values(), *(group.limit for group in instance.groups)],
        [int(release * parts) for release in releases],
        [
            sorted((int(length * parts), usage) for length, usage in zip(times, held, strict=True))
            for times, held in zip(lengths, choices, strict=True)
        ],
        begun,
    )
    search.run()
    schedule = Schedule(
        {
            job.id: (float(Fraction(start, parts)), held[usage][1])
            for job, held, (start, _, usage) in zip(instance.jobs, choices, search.best, strict=True)
        }
    )
    assert not check(instance, schedule)
    return objective(instance, schedule), schedule


class _Search:
    """Orders and usages, depth first; times in parts of a second."""

    def __init__(
        self, sizes: list[int], releases: list[int], choices: list[list[tuple[int, Usage]]], begun: list[int]
    ) -> None:
        self.sizes, self.releases, self.choices = sizes, releases, choices
        self.soonest = [release + held[0][0] for release, held in zip(releases, choices, strict=True)]
        self.least: int | None = None
        self.best: list[Placed] = []
        self._placed: dict[int, Placed] = {}
        for job in begun:
            ((length, usage),) = choices[job]
            self._placed[job] = releases[job], releases[job] + length, usage

    def run(self) -> None:
        """Place one more job, every one in every way."""
        remaining = [job for job in range(len(self.releases)) if job not in self._placed]
        total = sum(end for _, end, _ in self._placed.values()) + sum(self.soonest[job] for job in remaining)
        if self.least is not None and total >= self.least:
            return
        if not remaining:
            self.least = total
            self.best = [placed for _, placed in sorted(self._placed.items())]
        for job in remaining:
            for length, usage in self.choices[job]:
                start = self._earliest(self.releases[job], length, usage)
                self._placed[job] = start, start + length, usage
                self.run()
                del self._placed[job]

    def _earliest(self, release: int, length: int, usage: Usage) -> int:
        """The release, or the end of a job, whichever is the first time from which on the GPUs stay free to the end."""
        placed = list(self._placed.values())
        times = sorted({release, *(end for _, end, _ in placed if end > release)})
        return next(time for time in times if self._fits(placed, time, time + length, usage))

    def _fits(self, placed: list[Placed], start: int, end: int, usage: Usage) -> bool:
        """Whether the GPUs are free at the start, and whenever a job starts before the end."""
        for time in [start, *(other for other, _, _ in placed if start < other < end)]:
            running = [used for other, until, used in placed if other <= time < until]
            for size, *counts in zip(self.sizes, usage, *running, strict=True):
                if sum(counts) > size:
                    return False
        return True


def _usages(instance: Instance, job: Job) -> dict[Usage, tuple[float, Placement]]:
    """The least seconds of an iteration for every possible number of GPUs by server, and the first placement with it."""
    servers = instance.servers
    ways = math.prod(math.comb(stage.replicas + len(servers) - 1, stage.replicas) for stage in job.stages)
    if ways > LARGEST:
        raise ValueError(f"more than {LARGEST} placements of job {job.id!r}: {ways} are too many to try")
    found: dict[Usage, tuple[float, Placement]] = {}
    for split in product(*(_splits(stage.replicas, len(servers)) for stage in job.stages)):
        # Placements that use as many GPUs of each server differ in speed only: the fastest one is enough.
        usage = tuple(map(sum, zip(*split, strict=True)))
        if any(count > server.gpus for count, server in zip(usage, servers, strict=True)):
            continue
        if any(count and job.pool not in (None, *server.pools) for count, server in zip(usage, servers, strict=True)):
            continue
        if instance.placement == "consolidated" and sum(map(bool, usage)) > _fewest(instance, job):
            continue
        usage += _of_groups(instance, job)
        placement = tuple(
            Share(stage, server.id, count)
            for stage, counts in enumerate(split)
            for server, count in zip(servers, counts, strict=True)
            if count
        )
        alpha = iteration_time(instance, job, placement)
        if usage not in found or alpha < found[usage][0]:
            found[usage] = alpha, placement
    return found


def _cells(instance: Instance) -> dict[Cell, int]:
    """What jobs share, and how much of it there is: servers, or GPUs in thousandths, or single slots of GPUs."""
    cells: dict[Cell, int] = {}
    for server in instance.servers:
        if server.slicing == "none" or all(job.slice is None for job in instance.jobs):
            cells[server.id, None, None] = server.gpus
        elif server.geometry is None:
            cells |= {(server.id, gpu, None): 1000 for gpu in range(server.gpus)}
        else:
            slots = product(range(server.gpus), range(server.geometry.slots))
            cells |= {(server.id, gpu, slot): 1 for gpu, slot in slots}
    return cells


def _by_cell(
    instance: Instance, cells: dict[Cell, int], job: Job, held: dict[Usage, tuple[float, Placement]]
) -> dict[Usage, tuple[float, Placement]]:
    """What a job may take of the cells, in place of servers: every choice of GPUs, or every place of its slice."""
    found: dict[Usage, tuple[float, Placement]] = {}
    for alpha, placement in held.values():
        # for every server of the placement the GPUs and slots that may be taken there
        options: list[list[tuple[tuple[int, ...], int | None]]] = []
        names = list(dict.fromkeys(share.server for share in placement))
        for name in names:
            server = instance.servers[instance.server_index[name]]
            count = sum(share.replicas for share in placement if share.server == name)
            if job.begun is not None:
                here = [share for share in placement if share.server == name]
                options.append([(tuple(gpu for share in here for gpu in share.gpus), here[0].slot)])
            elif job.profile is not None:
                known = server.geometry is not None and job.profile in server.geometry.profiles
                starts = server.geometry.profiles[job.profile].starts if server.geometry and known else ()
                options.append([((gpu,), start) for gpu in range(server.gpus) for start in starts])
            elif server.slicing == "none":
                options.append([((), None)] if job.gpu_share == 1 else [])
            elif job.gpu_share < 1 and server.slicing != "shares":
                options.append([])
            else:
                options.append([(gpus, None) for gpus in combinations(range(server.gpus), count)])
        for chosen in product(*options):
            taken = dict.fromkeys(cells, 0)
            shares = []
            for name, (gpus, start) in zip(names, chosen, strict=True):
                shape = instance.servers[instance.server_index[name]].geometry
                rest = list(gpus)
                for share in (share for share in placement if share.server == name):
                    shares.append(share.on(tuple(rest[: share.replicas]), start))
                    del rest[: share.replicas]
                    if not gpus:
                        taken[name, None, None] += share.replicas
                for gpu in gpus:
                    if shape is None:
                        taken[name, gpu, None] = round(1000 * job.gpu_share)
                        continue
                    size = shape.profiles[job.profile].size if job.profile is not None else shape.slots
                    for slot in range(start or 0, (start or 0) + size):
                        taken[name, gpu, slot] = 1
            found[(*taken.values(), *_of_groups(instance, job))] = alpha, tuple(shares)
    return found


def _fewest(instance: Instance, job: Job) -> int:
    """Servers of the smallest sets of the job's pool that hold it when they are empty."""
    sizes = [server.gpus for server in instance.servers if job.pool in (None, *server.pools)]
    enough = [
        len(some) for count in range(len(sizes) + 1) for some in combinations(sizes, count) if sum(some) >= job.gpus
    ]
    return min(enough, default=0)


def _running(instance: Instance, job: Job) -> dict[Usage, tuple[float, Placement]]:
    """Return the only usage of a job that has begun: the one in which it runs."""
    sliced = any(each.slice is not None for each in instance.jobs)
    placement = tuple(
        Share(held.stage, held.server, held.replicas).on(*((held.numbers, held.slot) if sliced else ((), None)))
        for held in job.begun or ()
    )
    usage = tuple(sum(share.replicas for share in placement if share.server == each.id) for each in instance.servers)
    usage += _of_groups(instance, job)
    return {usage: (iteration_time(instance, job, placement), placement)}


def _of_groups(instance: Instance, job: Job) -> Usage:
    """What a job takes of each group's limit: a group is a server more, of which each of its jobs takes one."""
    return tuple(1 if group.id == job.group else 0 for group in instance.groups)


def _splits(count: int, servers: int) -> Iterator[tuple[int, ...]]:
    """Every way to put ``count`` replicas on that many servers."""
    if servers == 1:
        yield (count,)
        return
    for here in range(count, -1, -1):
        for rest in _splits(count - here, servers - 1):
            yield here, *rest


_INTRA, _NIC = (RANGES[f"{name}_bandwidth_bytes_per_s"] for name in ("intra", "nic"))
_BANDWIDTHS = st.one_of(
    st.sampled_from(list(zip(_INTRA.ties, _NIC.ties, strict=True))), st.tuples(odd(*_INTRA.tested), odd(*_NIC.tested))
)
_RELEASES, _ITERATIONS, _TOO_FEW = (
    values(RANGES[f"jobs[].{name}"]) for name in ("release_s", "iterations", "predicted_iterations")
)
_SECONDS, _OUTPUTS, _PARAMETERS = (
    values(RANGES[f"jobs[].stages[].{name}"]) for name in ("compute_s", "output_bytes", "parameter_bytes")
)
_CLASSES, _LIMITS, _LIMITS_S = (
    values(RANGES[name]) for name in ("jobs[].priority", "groups[].limit", "jobs[].limit_s")
)
_TWO = st.tuples(st.booleans(), st.booleans())


@st.composite
def srpt_mapping_instances(
    draw: st.DrawFn,
    *,
    max_jobs: int = 3,
    max_servers: int = 3,
    max_gpus: int = 3,
    max_stages: int = 3,
    feasible: bool = False,
    exchange: bool | None = None,
    predicted: bool | None = None,
    begun: bool = False,
    walls: bool = False,
    slices: bool = False,
) -> Instance:
    """Instances of srpt_mapping of every awkward kind.

    Parameters
    ----------
    max_jobs, max_servers, max_gpus, max_stages
        The most jobs, servers, GPUs of a server and stages of a job.
    feasible
        Only such; otherwise now and then a job larger than the cluster.
    exchange
        Whether jobs have bytes to exchange, if they can; None: either.
    predicted
        Whether jobs have predictions, mostly wrong ones; None: either.
    begun
        Whether some jobs have begun, where there is room for one; they come first, on servers as they are drawn.
    walls
        Whether servers are in pools, apart or shared, and groups of jobs have limits, and jobs priorities; and placement is
        now and then consolidated.
    slices
        Whether some servers have slices, and some jobs take them.
    """
    if min(max_jobs, max_servers, max_gpus, max_stages) < 1:
        raise ValueError("max_jobs, max_servers, max_gpus and max_stages must be at least 1")
    number = draw(st.integers(1, max_servers))
    alike = draw(st.booleans())
    sizes = [draw(st.integers(1, max_gpus))] * number
    if not alike:
        sizes = [draw(st.integers(1, max_gpus)) for _ in range(number)]
    total = sum(sizes)
    fast, slow = draw(_BANDWIDTHS)
    fast, slow = max(fast, slow), min(fast, slow)
    if draw(st.integers(0, 4)) == 0:
        fast, slow = slow / (2 * max(sizes)), fast  # inside a server less than any GPU's share of the card
    job = _jobs(total, max_stages, exchange, predicted)
    count = draw(st.one_of(st.just(max_jobs), st.integers(1, max_jobs)))
    jobs = several(draw, job, count)
    if not feasible and draw(st.integers(0, 15)) == 0:
        stages = [draw(_stages(total + draw(st.integers(1, 3)), False))]
        jobs = [*jobs[1:], draw(job) | {"stages": stages}]
    if draw(st.integers(0, 3)) == 0:
        jobs = [each | {"release_s": jobs[0]["release_s"]} for each in jobs]
    if begun:
        jobs = _with_begun(draw, jobs, sizes)
    servers: list[Data] = [{"id": f"s{index}", "gpus": size} for index, size in enumerate(sizes)]
    whole: Data = {}
    if walls:
        whole, servers, jobs = _walled(draw, servers, jobs)
    instance = Instance(
        name="drawn",
        intra_bandwidth_bytes_per_s=fast,
        nic_bandwidth_bytes_per_s=slow,
        servers=servers,
        jobs=named(jobs),
        **whole,
    )
    return _sliced(draw, instance) if slices else instance


def _walled(draw: st.DrawFn, servers: list[Data], jobs: list[Data]) -> tuple[Data, list[Data], list[Data]]:
    """A group with a limit and placement, servers in pools, and jobs with classes; a job keeps the pool that holds it."""
    pools_of = [[name for name, here in zip(("p", "q"), draw(_TWO), strict=True) if here] for _ in servers]
    names = sorted({pool for pools in pools_of for pool in pools})
    walled = []
    for job in jobs:
        gpus = sum(stage["replicas"] for stage in job["stages"])
        sizes = [(server["gpus"], pools) for server, pools in zip(servers, pools_of, strict=True)]
        held = [name for name in names if gpus <= sum(size for size, pools in sizes if name in pools)]
        if "begun" in job:
            on = {int(part["server"][1:]) for part in job["begun"]}
            held = [name for name in held if all(name in pools_of[server] for server in on)]
        extra: Data = {
            "priority": draw(_CLASSES),
            "group": draw(st.sampled_from(["g", "h"])),
            "limit_s": draw(_LIMITS_S),
        }
        if held and draw(_TWO)[0]:
            extra["pool"] = draw(st.sampled_from(held))
        walled.append(job | extra)
    running = sum("begun" in job and job["group"] == "g" for job in walled)
    groups = [{"id": "g", "limit": max(running, draw(_LIMITS))}] if draw(_TWO)[0] else []
    whole = {"groups": groups, "placement": draw(st.sampled_from(["any", "consolidated"]))}
    return whole, [server | {"pools": pools} for server, pools in zip(servers, pools_of, strict=True)], walled


def _sliced(draw: st.DrawFn, instance: Instance) -> Instance:
    """The instance with servers of shares or slots, and jobs of one replica on slices of those."""
    data = instance.model_dump()
    # a name of one profile with two sizes
    own = [{"id": "pair", "size": 2, "starts": [0, 1]}, {"id": "1g.6gb", "size": 2, "starts": [1, 0]}]
    shapes = ["none", "shares", "A30-24GB", {"slots": 3, "profiles": own}]
    kinds = [draw(st.sampled_from(shapes)) for _ in data["servers"]]
    servers = [server | {"slicing": kind} for server, kind in zip(data["servers"], kinds, strict=True)]
    named_of = ((shapes[2], ["1g.6gb", "2g.12gb"]), (shapes[3], ["pair", "1g.6gb"]))
    profiles = list(dict.fromkeys(name for kind, names in named_of if kind in kinds for name in names))
    # a multiple of 1/20 now and then, which makes many units
    parts: list[Data] = [
        {},
        *({"gpu_share": each} for each in (0.25, 0.5, 0.75, 0.55)),
        *({"profile": each} for each in profiles),
    ]
    jobs = []
    for job in data["jobs"]:
        part = draw(st.sampled_from(parts))
        stage = job["stages"][-1] | {"replicas": 1}
        jobs.append(job | ({"stages": [stage]} if part else {}) | part)
    begun = [job.pop("begun") for job in jobs]
    made = Instance(**data | {"servers": servers, "jobs": jobs})
    if not any(job.slice is not None for job in made.jobs):
        return Instance(**data | {"servers": servers})
    # where jobs run that have begun: any GPUs and slots, one of the ways of brute force; not begun if none is free
    cells = _cells(made)
    free = list(cells.values())
    for job, known, fields in zip(made.jobs, begun, jobs, strict=True):
        ways = [
            (usage, placement)
            for usage, (_, placement) in (_by_cell(made, cells, job, _usages(made, job)) if known else {}).items()
            if all(taken <= room for taken, room in zip(usage, free, strict=False))
        ]
        if ways:
            usage, placement = draw(st.sampled_from(ways))
            free = [room - taken for taken, room in zip(usage, free, strict=False)]
            fields["begun"] = [share.as_data() for share in placement]
    return Instance(**data | {"servers": servers, "jobs": jobs})


def _with_begun(draw: st.DrawFn, jobs: list[Data], sizes: list[int]) -> list[Data]:
    """The first jobs that fit together, released at the earliest time, with each replica on a server that has room."""
    first_s = min(job["release_s"] for job in jobs)
    room, wanted, placed_jobs = list(sizes), draw(st.integers(1, len(jobs))), []
    for job in jobs:
        stages = job["stages"]
        # Jobs that fit beside those placed begin at the first release, replica by replica where GPUs are free.
        if not wanted or sum(stage["replicas"] for stage in stages) > sum(room):
            placed_jobs.append(job)
            continue
        wanted -= 1
        held: dict[tuple[int, int], int] = {}
        for number, stage in enumerate(stages):
            for _ in range(stage["replicas"]):
                server = draw(st.sampled_from([index for index, free in enumerate(room) if free]))
                room[server] -= 1
                held[number, server] = held.get((number, server), 0) + 1
        placed = [
            {"stage": stage, "server": f"s{server}", "replicas": count} for (stage, server), count in held.items()
        ]
        placed_jobs.append(job | {"release_s": first_s, "begun": placed})
    return placed_jobs


@st.composite
def _jobs(draw: st.DrawFn, total: int, max_stages: int, exchange: bool | None, predicted: bool | None) -> Data:
    """A job of at most ``total`` GPUs; often of all of them."""
    gpus = draw(st.one_of(st.integers(1, min(4, total)), st.integers(1, total), st.just(total)))
    gpus = min(gpus, 3 * max_stages)
    length = draw(st.integers(-(-gpus // 3), min(gpus, max_stages)))
    replicas = []
    for behind in reversed(range(length)):
        replicas.append(draw(st.integers(max(1, gpus - 3 * behind), min(3, gpus - behind))))
        gpus -= replicas[-1]
    sends = draw(st.integers(0, 3)) > 0 if exchange is None else exchange
    stages = [draw(_stages(count, sends)) for count in replicas]
    stages[-1]["output_bytes"] = 0.0
    job: Data = {"release_s": draw(_RELEASES), "iterations": draw(_ITERATIONS), "stages": stages}
    if draw(st.booleans()) if predicted is None else predicted:
        job["predicted_iterations"] = draw(st.one_of(_ITERATIONS, _TOO_FEW, st.just(job["iterations"])))
    return job


@st.composite
def _stages(draw: st.DrawFn, replicas: int, sends: bool) -> Data:
    nothing = st.just(0.0)
    return {
        "replicas": replicas,
        "compute_s": draw(_SECONDS),
        "output_bytes": draw(st.one_of(nothing, _OUTPUTS, _OUTPUTS)) if sends else 0.0,
        "parameter_bytes": draw(st.one_of(nothing, _PARAMETERS, _PARAMETERS)) if sends else 0.0,
    }


CASE = Case(
    instances=srpt_mapping_instances,
    brute_force=brute_force_srpt,
    refuses=lambda method, instance: method in SLICE_RULES and not instance.sliced and infeasible(instance) is None,
)
