"""Free room where jobs take slices of GPUs, and the rules that place them: first fit, best fit, dot product, and FGD.

Jobs of whole GPUs are placed by the rules of ``placing``: for these a GPU is free while no job has a slice of it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dlsched.cluster.fragmentation import JobClass, growth, growth_slots
from dlsched.core.arrays import IntArray
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping.instance import Instance, Job
from dlsched.srpt_mapping.layouts import usage_of
from dlsched.srpt_mapping.placing import Placed, Rule, Servers, named
from dlsched.srpt_mapping.solution import Share

_WHOLE = 1000  # thousandths of a GPU


def require_slices(instance: Instance) -> None:
    """Refuse instances in which no job takes a slice (UsageError)."""
    if not instance.sliced:
        allowed = "one with gpu_share or profile, or another method, such as exact"
        raise UsageError(where="jobs", found="none on a slice of a GPU", allowed=allowed)


class Spot(NamedTuple):
    """Where a slice may lie: position of the server, number of the GPU, units or mask of slots that it takes, and its start."""

    server: int
    gpu: int
    taken: int
    slot: int | None = None


class SlicedServers(Servers):
    """The free GPUs, and what is free of those that have slices. Jobs of whole GPUs take the free ones of least number.

    ``rule``: of ``SLICE_RULES``, which places slices. ``room``: by position of a server and GPU the units that are free, or the
    mask of slots that are used.
    """

    def __init__(self, instance: Instance, rule: str) -> None:
        super().__init__(instance)
        self._instance, self._rule, self._kinds = instance, SLICE_RULES[rule], job_classes(instance)
        self._sliced = [instance.servers[m] for m in self.servers]
        self._empty = [0 if each.geometry else instance.units for each in self._sliced]
        self.room = [[empty] * each.gpus for empty, each in zip(self._empty, self._sliced, strict=True)]
        self._order = sorted(range(len(self.servers)), key=self.servers.__getitem__)
        self._placed: dict[str, Spot] = {}  # where jobs on slices were placed that start next

    def spots(self, job: Job) -> Iterator[Spot]:
        """Yield where the slice of a job fits: servers in the instance's order, GPUs by number, starts in the profile's order."""
        allowed, units = self.allowed(job.pool), self._instance.units_of(job)
        for server in self._order:
            each = self._sliced[server]
            if not (allowed[server] and each.has_slice(job.slice)):
                continue
            for gpu, state in enumerate(self.room[server]):
                if each.geometry is None or job.profile is None:
                    if state >= units:
                        yield Spot(server, gpu, units)
                    continue
                starts = each.geometry.profiles[job.profile].starts
                for slot, mask in zip(starts, each.geometry.masks(job.profile), strict=True):
                    if not state & mask:
                        yield Spot(server, gpu, mask, slot)

    def growth(self, spot: Spot) -> Fraction:
        """By how much a slice there raises the expected fragment of the jobs of the instance, in GPUs."""
        shape, row = self._sliced[spot.server].geometry, self.room[spot.server]
        if shape is not None:
            able = {name: weight for name, weight in self._kinds.profiles.items() if name in shape.profiles}
            return growth_slots(shape, row[spot.gpu], spot.taken, able) / shape.slots
        units = self._instance.units
        free = [state * _WHOLE // units for state in row]
        return growth(free, [spot.gpu], spot.taken * _WHOLE // units, self._kinds.shares) / _WHOLE

    def free_after(self, spot: Spot) -> Fraction:
        """The part of the GPU that a slice there leaves free."""
        shape, state = self._sliced[spot.server].geometry, self.room[spot.server][spot.gpu]
        if shape is None:
            return Fraction(state - spot.taken, self._instance.units)
        return Fraction(shape.slots - (state | spot.taken).bit_count(), shape.slots)

    def free_on(self, server: int) -> Fraction:
        """What is free of all GPUs of a server, in GPUs."""
        shape = self._sliced[server].geometry
        if shape is None:
            return Fraction(sum(self.room[server]), self._instance.units)
        return Fraction(sum(shape.slots - state.bit_count() for state in self.room[server]), shape.slots)

    def fits_slice(self, job: Job) -> bool:
        """Whether the slice that a job takes is free somewhere."""
        return next(self.spots(job), None) is not None

    def place(self, rule: Rule, job: Job) -> Placed:
        """Where a rule places a job of whole GPUs, or the rule of slices another one."""
        if job.slice is None:
            return super().place(rule, job)
        spot = self._placed[job.id] = self._rule(self, job)
        return [(spot.server, (1,))]

    def start(self, placed: Placed, job: Job) -> tuple[tuple[Share, ...], list[tuple[int, int]]]:
        """As ``Servers.start``; what is given back are numbers of GPUs, counted over all, after those of servers."""
        shares = []
        if job.slice is not None:
            spot = self._placed.pop(job.id)
            shares.append(Share(0, self.names[spot.server], 1).on((spot.gpu,), spot.slot))
        for server, row in placed if job.slice is None else ():
            gpus: list[int] = []
            if self._sliced[server].slicing != "none":
                gpus = [gpu for gpu, state in enumerate(self.room[server]) if state == self._empty[server]]
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
            # units of each GPU, or a mask of slots
            amount = self._instance.units_of(job) if isinstance(job.slice, int) else self._instance.units
            if shape is not None:
                size = shape.slots if job.profile is None else shape.profiles[job.profile].size
                amount = ((1 << size) - 1) << (share.slot or 0)
            for gpu in share.gpus:
                state = self.room[server][gpu]
                if state & amount if shape else state < amount:
                    found = f"GPU {gpu} of server {share.server!r} taken by others"
                    raise UsageError(where="begun", found=found, allowed="what is free of it")
                taken.append((server + len(self.servers) * (1 + gpu), amount))
                self._change(taken[-1:], -1)
            if len(share.gpus) != share.replicas:
                found = f"{len(share.gpus)} GPUs of server {share.server!r} by number"
                raise UsageError(where="begun", found=found, allowed=f"{share.replicas}")
        return taken

    def give(self, taken: list[tuple[int, int]]) -> None:
        """Give GPUs and slices back."""
        self._change(taken, 1)

    def _change(self, taken: Sequence[tuple[int, int]], sign: int) -> None:
        """Give back (1) or take (-1); a GPU counts as free while none has a slice of it."""
        for code, amount in taken:
            place, server = divmod(code, len(self.servers))
            if not place:
                super().give([(server, sign * amount)])
                continue
            row, gpu = self.room[server], place - 1
            before = row[gpu] == self._empty[server]
            row[gpu] = row[gpu] ^ amount if self._sliced[server].geometry else row[gpu] + sign * amount
            after = row[gpu] == self._empty[server]
            if before != after:
                super().give([(server, after - before)])


class JobClasses(NamedTuple):
    """What the jobs of an instance need: whole GPUs and shares, and profiles, with how many jobs need it."""

    shares: list[JobClass]
    profiles: Mapping[str, int]


def job_classes(instance: Instance) -> JobClasses:
    """The jobs of the instance, as FGD's target workload; a policy that does not know them knows those of other weeks."""
    shares = Counter((job.gpus, round(_WHOLE * job.gpu_share)) for job in instance.jobs if job.profile is None)
    profiles = Counter(job.profile for job in instance.jobs if job.profile is not None)
    return JobClasses([JobClass(*need, count) for need, count in sorted(shares.items())], profiles)


def first_fit(servers: SlicedServers, job: Job) -> Spot:
    """The first server, GPU and start at which the slice fits; starts in the order of NVIDIA's driver. Guarantee: none."""
    return next(servers.spots(job))


def best_fit(servers: SlicedServers, job: Job) -> Spot:
    """The GPU on which the least is left free, the first of several. Guarantee: none."""
    return min(servers.spots(job), key=servers.free_after)


def dot_product(servers: SlicedServers, job: Job) -> Spot:
    """The server with the least free of all its GPUs, and of these the GPU on which the least is left free. Guarantee: none.

    The least dot product of what the server has free and what the job takes, as the simulator of Weng et al. 2023 computes
    it, of GPUs alone, where its best fit is the same. Tetris (Grandl et al. 2014) takes the largest.
    """
    return min(servers.spots(job), key=lambda spot: (servers.free_on(spot.server), servers.free_after(spot)))


def fgd(servers: SlicedServers, job: Job) -> Spot:
    """Fragmentation gradient descent: where the expected fragment grows least, the first of several. Guarantee: none.

    As the simulator of Weng et al. 2023 does it (``fgd_score.go``; the paper itself was not available): each GPU that holds the
    job is tried, and that on which the growth is least is taken (``dlsched.cluster.fragmentation``, with exact ties). The target
    workload is the jobs of the instance. Whole GPUs are placed by the rule of the policy, as no GPU of a node is worse than
    another for these.
    """
    return min(servers.spots(job), key=servers.growth)


SliceRule = Callable[[SlicedServers, Job], Spot]
"""From servers on which the slice of a job fits to where it lies."""
SLICE_RULES: Mapping[str, SliceRule] = {
    "first-fit": first_fit,
    "best-fit": best_fit,
    "dot-product": dot_product,
    "fgd": fgd,
}


def servers_of(instance: Instance, rule: str = "best-fit") -> Servers:
    """The empty servers; ``rule``: of ``SLICE_RULES``, where jobs take slices."""
    return SlicedServers(instance, rule) if instance.sliced else Servers(instance)


class Tried(NamedTuple):
    """A placement: seconds of an iteration, its shares, and what it takes, as whoever asked counts that."""

    iteration_s: float
    placement: tuple[Share, ...]
    room: IntArray


class Trial(SlicedServers):
    """Servers with slices on which jobs, by index, are placed by what stays free for some time, units by column, shape (C,).

    What a job takes is counted as columns and their units, shape (2, N). ``units``: what is free. ``kinds``: by job equal values
    if what holds one holds the other.
    """

    by_server = True

    def __init__(self, instance: Instance, slices: str, rule: Rule) -> None:
        super().__init__(instance, slices)
        self._place, self.units = rule, np.array(instance.capacities[: instance.columns[-1].stop])
        self.kinds = [(job.pool, job.gpus, job.slice) for job in instance.jobs]
        # units of which a job needs some column to have as many, if not more
        cut = any(server.geometry for server in instance.servers)
        self.needs = [1 if cut else min(instance.units, instance.units_of(job)) for job in instance.jobs]
        # by column its server or GPU, as ``give`` takes it, and how many units are one there; or the bit of a slot
        self._codes: dict[int, tuple[int, int, int]] = {}
        for position, index in enumerate(self.servers):
            server, columns = self._sliced[position], instance.columns[index]
            slots = server.geometry.slots if server.geometry else 1
            for number, column in enumerate(columns):
                code = position + len(self.servers) * (1 + number // slots)
                whole = server.slicing == "none"
                bit = 1 << number % slots if server.geometry else 0
                self._codes[column] = (position, instance.units, 0) if whole else (code, 1, bit)

    def holds(self, job: int, units: IntArray) -> bool:
        """Whether so many units hold a job; they are what is free then."""
        off = units - self.units
        changed = np.flatnonzero(off)
        for column, more in zip(changed.tolist(), off[changed].tolist(), strict=True):
            code, each, bit = self._codes[column]
            self.give([(code, bit or more // each)])
        self.units, own = units.copy(), self._instance.jobs[job]
        return self.fits(own.gpus, own.pool) if own.slice is None else self.fits_slice(own)

    def tried(self, job: int, units: IntArray) -> Tried | None:
        """Where the rules place a job; None: so many units do not hold it."""
        if not self.holds(job, units):
            return None
        own = self._instance.jobs[job]
        placed = self.place(self._place, own)
        placement, taken = self.start(placed, own)
        self.give(taken)
        return Tried(self.iteration_s(own.graph, placed), placement, self.counted(job, placement))

    def counted(self, job: int, placement: Sequence[Share]) -> IntArray:
        """What the shares of a job take."""
        usage = np.array(usage_of(self._instance, self._instance.jobs[job], placement))
        used = np.flatnonzero(usage)
        return np.array([used, usage[used]])
