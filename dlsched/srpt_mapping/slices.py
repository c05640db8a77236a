"""Free room where jobs take slices of GPUs, and the rules that place them: first fit, best fit, dot product, and FGD.

Jobs of whole GPUs are placed by the rules of ``placing``, or by FGD: for these a GPU is free while no job has a slice of it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from operator import itemgetter
from typing import NamedTuple

from dlsched.core.errors import UsageError
from dlsched.srpt_mapping.instance import Instance, Job
from dlsched.srpt_mapping.layouts import usage_of
from dlsched.srpt_mapping.placing import Placed, Rule, Servers, named
from dlsched.srpt_mapping.solution import Share, server_kinds


def require_slices(instance: Instance) -> None:
    """Refuse instances in which no job takes a slice (UsageError)."""
    if not instance.sliced:
        allowed = "one with gpu_share or profile, or another method, such as exact"
        raise UsageError(where="jobs", found="none on a slice of a GPU", allowed=allowed)


_WHOLE = -1


class Spot(NamedTuple):
    """Where a slice may lie: position of the server, number of the GPU, units or mask of slots that it takes, and its start.

    ``gpu`` is ``_WHOLE`` where whole GPUs are taken, so many as ``taken`` says.
    """

    server: int
    gpu: int
    taken: int
    slot: int | None = None


Said = tuple[int, ...]
"""What a rule says of a spot."""
_Found = tuple[Said, int, Spot]  # with the index of its server


class _Choices(NamedTuple):
    """Where jobs of one slice and pool may go.

    ``best``: by position of a server the best spot there; None: no room. ``heap``: of these, with some of before. ``changed``:
    servers to look at again.
    """

    best: dict[int, _Found | None]
    heap: list[_Found]
    changed: dict[int, None]


class SlicedServers(Servers):
    """The free GPUs, and what is in use of those that have slices. Jobs of whole GPUs take the free ones of least number.

    ``rule``: of ``SLICE_RULES``, which places slices. ``room``: by position of a server and GPU the units or the mask of slots
    that are used. What a rule says of a spot depends on its server alone: so the best spot of each server is known until
    something changes there, and the best of all is the first of a heap.
    """

    def __init__(self, instance: Instance, rule: str) -> None:
        super().__init__(instance)
        self._instance, self._rule, kinds = instance, SLICE_RULES[rule], server_kinds(instance)
        self._sliced, self._kinds = [instance.servers[m] for m in self.servers], [kinds[m] for m in self.servers]
        self.room = [[0] * each.gpus for each in self._sliced]
        self._choices: dict[tuple[int | str | None, int, str | None], _Choices] = {}
        self._known_best: dict[tuple[object, ...], tuple[Said, Spot] | None] = {}  # by kind and state of a server
        self._placed: dict[str, Spot] = {}  # where jobs on slices were placed that start next

    def spots(self, job: Job, server: int) -> Iterator[Spot]:
        """Yield where a job fits on a server: of equal GPUs the first; starts in the profile's order."""
        if job.slice is None:
            if self.free[server] >= job.gpus:
                yield Spot(server, _WHOLE, job.gpus)
            return
        shape, row = self._sliced[server].geometry, self.room[server]
        starts = (None,) if shape is None or job.profile is None else shape.profiles[job.profile].starts
        pieces = [(self._kinds[server].taken(job, slot), slot) for slot in starts]
        for state in dict.fromkeys(row):
            for taken, slot in pieces:
                if not state & taken if shape else state + taken <= self._instance.units:
                    yield Spot(server, row.index(state), taken, slot)

    def best(self, job: Job) -> Spot | None:
        """Where the rule places a job, of equal servers on the first of the instance; None: it fits on none."""
        kind = job.slice, job.gpus, job.pool
        choices = self._choices.get(kind)
        if choices is None:
            able = [server for server in range(len(self.servers)) if self._may_use(job, server)]
            choices = self._choices[kind] = _Choices(dict.fromkeys(able), [], dict.fromkeys(able))
        best, heap, changed = choices
        for server in changed:
            state = self._kinds[server], kind[:2], self.free[server], tuple(self.room[server])
            if state not in self._known_best:
                spots = ((self._rule(self, spot), spot) for spot in self.spots(job, server))
                self._known_best[state] = min(spots, key=itemgetter(0), default=None)
            known, best[server] = self._known_best[state], None
            if known is not None:
                found = best[server] = known[0], self.servers[server], known[1]._replace(server=server)
                heappush(heap, found)
        changed.clear()
        if len(heap) > 4 * len(best):  # most are of before
            heap[:] = sorted(found for found in best.values() if found is not None)
        while heap and best[heap[0][2].server] is not heap[0]:
            heappop(heap)
        return heap[0][2] if heap else None

    def _may_use(self, job: Job, server: int) -> bool:
        return job.pool in (None, *self._pools[server]) and self._sliced[server].has_slice(job.slice)

    def growth(self, spot: Spot) -> int:
        """By how much a job there raises the fragments of all jobs of the instance, in units."""
        server, gpu, taken, _ = spot
        kind, free, idle = self._kinds[server], self.free_on(server), self.free[server]
        if gpu == _WHOLE:
            left, rest, of_slices = free - taken * kind.units, idle - taken, -taken * kind.of_slices(0)
        else:
            state = self.room[server][gpu]
            left, rest = free - kind.free(state) + kind.free(state + taken), idle - (not state)
            of_slices = kind.of_slices(state + taken) - kind.of_slices(state)
        return of_slices + kind.of_others(left, rest) - kind.of_others(free, idle)

    def free_after(self, spot: Spot) -> int:
        """What a slice there leaves free of the GPU, in units."""
        return self._kinds[spot.server].free(self.room[spot.server][spot.gpu] + spot.taken)

    def free_on(self, server: int) -> int:
        """What is free of all GPUs of a server, in units."""
        kind = self._kinds[server]
        return self.free[server] * kind.units if kind.slicing == "none" else sum(map(kind.free, self.room[server]))

    def fits_slice(self, job: Job) -> bool:
        """Whether the slice that a job takes is free somewhere."""
        return self.best(job) is not None

    def place(self, rule: Rule, job: Job) -> Placed:
        """Where a rule places a job of whole GPUs, or the rule of slices another one; ``fgd`` both, if one server holds it."""
        spot = self.best(job) if job.slice is not None or self._rule is fgd else None
        if spot is None:
            return super().place(rule, job)
        if job.slice is not None:
            self._placed[job.id] = spot
        return [(spot.server, job.graph.replicas)]

    def start(self, placed: Placed, job: Job) -> tuple[tuple[Share, ...], list[tuple[int, int]]]:
        """As ``Servers.start``; what is given back are numbers of GPUs, counted over all, after those of servers."""
        shares = []
        if job.slice is not None:
            spot = self._placed.pop(job.id)
            shares.append(Share(0, self.names[spot.server], 1).on((spot.gpu,), spot.slot))
        for server, row in placed if job.slice is None else ():
            gpus: list[int] = []
            if self._sliced[server].slicing != "none":
                gpus = [gpu for gpu, state in enumerate(self.room[server]) if not state]
            for share in named(self.names, [(server, row)]):
                shares.append(share.on(tuple(gpus[: share.replicas])))
                gpus = gpus[share.replicas :]
        return tuple(shares), self.hold(job, shares)

    def hold(self, job: Job, placement: Sequence[Share]) -> list[tuple[int, int]]:
        """As ``Servers.hold``; UsageError: a GPU is not named, or has not so much free."""
        taken = []
        for share in placement:
            server = self._index[share.server]
            each, shape = self._sliced[server], self._sliced[server].geometry
            if each.slicing == "none":
                self._change([(server, share.replicas)], -1)
                taken.append((server, share.replicas))
                continue
            amount = self._kinds[server].taken(job, share.slot)
            for gpu in share.gpus:
                state = self.room[server][gpu]
                if state & amount if shape else state + amount > self._instance.units:
                    found = f"GPU {gpu} of server {share.server!r} taken by others"
                    raise UsageError(where="begun", found=found, allowed="what is free of it")
                taken.append((server + len(self.servers) * (1 + gpu), amount))
                self._change(taken[-1:], -1)
            if len(share.gpus) != share.replicas:
                found = f"{len(share.gpus)} GPUs of server {share.server!r} by number"
                raise UsageError(where="begun", found=found, allowed=f"{share.replicas}")
        return taken

    def _change(self, taken: Sequence[tuple[int, int]], sign: int) -> None:
        """Give GPUs and slices back (1) or take them (-1); a GPU counts as free while none has a slice of it."""
        for code, amount in taken:
            place, server = divmod(code, len(self.servers))
            for choices in self._choices.values():
                if server in choices.best:
                    choices.changed[server] = None
            idle = sign * amount
            if place:
                row, before = self.room[server], self.room[server][place - 1]
                row[place - 1] -= sign * amount
                idle = (not row[place - 1]) - (not before)
            if idle:
                super()._change([(server, idle)], 1)


def first_fit(servers: SlicedServers, spot: Spot) -> Said:
    """The first server, GPU and start at which the slice fits; starts in the order of NVIDIA's driver. Guarantee: ``BUSY``."""
    del servers, spot
    return ()


def best_fit(servers: SlicedServers, spot: Spot) -> Said:
    """The GPU on which the least is left free, the first of several. Guarantee: ``BUSY``."""
    return (servers.free_after(spot),)


def dot_product(servers: SlicedServers, spot: Spot) -> Said:
    """The server with the least free of all its GPUs, and of these the GPU on which the least is left free. Guarantee: ``BUSY``.

    The least dot product of what the server has free and what the job takes, as the simulator of Weng et al. 2023 computes
    it, of GPUs alone, where its best fit is the same. Tetris (Grandl et al. 2014) takes the largest.
    """
    return servers.free_on(spot.server), servers.free_after(spot)


def fgd(servers: SlicedServers, spot: Spot) -> Said:
    """Fragmentation gradient descent: where the expected fragment grows least, the first of several. Guarantee: ``BUSY``.

    As the simulator of Weng et al. 2023 does it (``fgd_score.go``; the paper itself was not available): each GPU that holds the
    job is tried, and that on which the growth is least is taken (``solution``). The target workload is the jobs of the
    instance. Jobs of whole GPUs, too, go to the server on which the growth is least of those that hold all of them; if none
    does, the rule of the policy places them. The simulator rounds the growth to one of 101 scores;
    here it is exact, and equal growths are ties.
    """
    return (servers.growth(spot),)


SliceRule = Callable[[SlicedServers, Spot], Said]
"""What a rule says of a spot where the slice of a job fits: the job goes where this is least, on the first of several."""
SLICE_RULES: Mapping[str, SliceRule] = {
    "first-fit": first_fit,
    "best-fit": best_fit,
    "dot-product": dot_product,
    "fgd": fgd,
}


def servers_of(instance: Instance, rule: str = "best-fit") -> Servers:
    """The empty servers; ``rule``: of ``SLICE_RULES``, where jobs take slices."""
    return SlicedServers(instance, rule) if instance.sliced else Servers(instance)


Room = Sequence[tuple[int, int]]
"""What a job takes: servers, or columns of ``Instance.columns``, and how much of each."""


class Tried(NamedTuple):
    """A placement: seconds of an iteration, its shares, and what it takes."""

    iteration_s: float
    placement: tuple[Share, ...]
    room: Room


class Trial:
    """Servers on which jobs, by index, are placed by what stays free for some time, units by ``Instance.columns``.

    ``kinds``: by job equal values if what holds one holds the other.
    ``needs``: by job units of which some column has to have as many.
    """

    def __init__(self, instance: Instance, slices: str, rule: Rule) -> None:
        self._instance, self._rule, self._servers = instance, rule, servers_of(instance, slices)
        self.units = list(instance.capacities[: instance.columns[-1].stop])  # what is free
        self.kinds = [(job.pool, job.gpus, job.slice) for job in instance.jobs]
        cut = any(server.geometry for server in instance.servers)
        alone = [not (instance.sliced or instance.most_servers(job.gpus, job.pool) > 1) for job in instance.jobs]
        self.needs = [
            job.gpus if on_one else 1 if cut else min(instance.units, instance.units_of(job))
            for job, on_one in zip(instance.jobs, alone, strict=True)
        ]
        # by column its server or GPU, as ``give`` takes it, how many units are one there, and the bit of a slot
        self._codes: dict[int, tuple[int, int, int]] = {}
        for position, index in enumerate(self._servers.servers):
            server, columns = instance.servers[index], instance.columns[index]
            slots = server.geometry.slots if server.geometry else 1
            for number, column in enumerate(columns):
                gpu, bit = position + len(instance.servers) * (1 + number // slots), 1 << number % slots
                if server.slicing == "none" or not instance.sliced:
                    self._codes[column] = position, instance.units, 1
                else:
                    self._codes[column] = gpu, instance.units // slots if server.geometry else 1, bit

    def holds(self, job: int, units: list[int]) -> bool:
        """Whether so many units hold a job; they are what is free then."""
        pairs = enumerate(zip(self.units, units, strict=True))
        for column, more in [(column, new - old) for column, (old, new) in pairs if old != new]:
            code, each, bit = self._codes[column]
            self._servers.give([(code, more // each * bit)])
        self.units, own = units.copy(), self._instance.jobs[job]
        return self._servers.fits(own.gpus, own.pool) if own.slice is None else self._servers.fits_slice(own)

    def tried(self, job: int, units: list[int]) -> Tried | None:
        """Where the rules place a job; None: so many units do not hold it."""
        if not self.holds(job, units):
            return None
        own = self._instance.jobs[job]
        placed = self._servers.place(self._rule, own)
        placement, taken = self._servers.start(placed, own)
        self._servers.give(taken)
        return Tried(self._servers.iteration_s(own.graph, placed), placement, self.counted(job, placement))

    def counted(self, job: int, placement: Sequence[Share]) -> Room:
        """What the shares of a job take."""
        usage = usage_of(self._instance, self._instance.jobs[job], placement)
        return [(column, units) for column, units in enumerate(usage) if units]
