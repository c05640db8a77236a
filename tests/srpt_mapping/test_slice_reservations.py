"""EASY and conservative backfilling on slices: by hand, and against a slow queue that looks at every GPU and slot."""

import math
import random

import pytest
from hypothesis import given, settings

import dlsched
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping.checker import check, infeasible
from dlsched.srpt_mapping.reservations import backfill_reserving, conservative, easy
from dlsched.testing.srpt_mapping import srpt_mapping_instances

from .test_slices import A100, made, places, starts


def test_the_head_is_not_delayed_by_a_slice():
    """Job b needs the GPU of which a has a half to 4 s: c, a quarter for 9 s, waits for b, and d ends by 4 s and passes both."""
    instance = made([(1, "shares")], (0, 4, 0.5), (1, 2, 1), (2, 9, 0.25), (3, 1, 0.25))
    assert starts(easy(instance)) == [0, 4, 6, 3]
    assert starts(backfill_reserving(instance, reservations=0)) == [0, 11, 2, 3]


def test_a_slice_passes_on_another_gpu_than_the_reserved_one():
    """The head c, .8 of a GPU, is reserved on s0/1 at 4 s; best fit would put d there, beside b, but d runs to 11 s: on s0/0."""
    instance = made([(2, "shares")], (0, 9, 0.5), (0, 4, 0.6), (1, 2, 0.8), (2, 9, 0.3))
    schedule = easy(instance)
    assert starts(schedule) == [0, 0, 4, 2]
    assert [gpus for _, gpus, _ in places(schedule)] == [(0,), (1,), (1,), (0,)]
    assert starts(backfill_reserving(instance, reservations=0)) == [0, 0, 9, 2]


def test_slots_are_reserved():
    """4g.20gb waits for slots 0 to 3, which c holds to 4 s. Of 9 s, d may not take a slot of these, e takes one above."""
    jobs = (0, 9, "1g.5gb"), (0, 2, "1g.5gb"), (0, 4, "3g.20gb"), (1, 3, "4g.20gb")
    instance = made([(1, A100)], *jobs, (2, 9, "1g.5gb"), (2, 9, "3g.20gb"))
    schedule = easy(instance)
    slots = [slot for *_, slot in places(schedule)]
    assert slots[:4] == [6, 4, 0, 0] and starts(schedule)[:4] == [0, 0, 0, 4]
    assert starts(schedule)[4] == 2 and slots[4] == 4
    assert starts(schedule)[5] == 7 and slots[5] == 0


def test_arguments():
    """A wrong rule of slices is named."""
    with pytest.raises(UsageError, match="slices: found 'none'"):
        easy(made([(1, "shares")], (0, 4, 0.5)), slices="none")


class Slow:
    """A queue with reservations that counts thousandths of every GPU, or slots, whenever some run begins or ends."""

    def __init__(self, instance, reservations):
        self.instance, self.reservations = instance, reservations
        self.size = {}
        for server in instance.servers:
            for gpu in range(server.gpus):
                slots = server.geometry.slots if server.geometry else 1
                for slot in range(slots):
                    self.size[server.id, gpu, slot] = 1000 if server.slicing == "shares" else 1
        self.promised = {}  # by job when it was to start as it came first the first time

    def cells_of(self, job, server, gpu, start=0):
        """What a job takes of a GPU."""
        if job.profile is not None:
            size = server.geometry.profiles[job.profile].size
            return {(server.id, gpu, slot): 1 for slot in range(start, start + size)}
        share = round(1000 * job.gpu_share)
        slots = range(server.geometry.slots) if server.geometry else (0,)
        return {(server.id, gpu, slot): share if server.slicing == "shares" else 1 for slot in slots}

    def place(self, job, free):
        """Shares and cells: slices by best fit, whole GPUs from the servers with the most free ones; None: no room."""
        servers, found = self.instance.servers, []
        if job.slice is not None:
            for server in servers:
                if server.slicing == "shares":
                    starts_at = (None,) if job.profile is None else ()
                else:
                    shape = server.geometry
                    known = shape is not None and job.profile in shape.profiles
                    starts_at = shape.profiles[job.profile].starts if known else ()
                for gpu in range(server.gpus) if starts_at else ():
                    gpu_cells = [cell for cell in free if cell[:2] == (server.id, gpu)]
                    rest = sum(free[cell] for cell in gpu_cells) / sum(self.size[cell] for cell in gpu_cells)
                    for start in starts_at:
                        cells = self.cells_of(job, server, gpu, start or 0)
                        if all(free[cell] >= need for cell, need in cells.items()):
                            part = sum(cells.values()) / sum(self.size[cell] for cell in gpu_cells)
                            found.append((round(rest - part, 9), len(found), ((server.id, 1, (gpu,), start),), cells))
            return min(found)[2:] if found else None
        idle = {
            server.id: [
                gpu
                for gpu in range(server.gpus)
                if all(free[cell] == self.size[cell] for cell in free if cell[:2] == (server.id, gpu))
            ]
            for server in servers
        }
        if sum(map(len, idle.values())) < job.gpus:
            return None
        order = sorted(sorted(servers, key=lambda each: each.gpus), key=lambda each: -len(idle[each.id]))
        shares, cells, missing = [], {}, job.gpus
        for server in order:
            gpus = idle[server.id][:missing]
            missing -= len(gpus)
            for gpu in gpus:
                cells |= self.cells_of(job, server, gpu)
            if gpus:
                named = tuple(gpus) if server.slicing != "none" else ()
                shares.append((server.id, len(gpus), named, None))
        return tuple(shares), cells

    def free(self, taken, start, end):
        """The least that is free of every cell from one time to another."""
        least = dict(self.size)
        for at in [start, *(begin for begin, _, _ in taken if start < begin < end)]:
            for cell in least:
                used = sum(cells.get(cell, 0) for begin, until, cells in taken if begin <= at < until)
                least[cell] = min(least[cell], self.size[cell] - used)
        return least

    def run(self):
        """Starts and shares by job."""
        jobs, limits = self.instance.jobs, {group.id: group.limit for group in self.instance.groups}
        started = {}
        planned = [job.limit_s or job.predicted for job in jobs]
        while len(started) < len(jobs):
            last = getattr(self, "now", -1)
            ends = [begin + jobs[j].iterations for j, (begin, _, _) in started.items()]
            self.now = now = min(t for t in [*ends, *(job.release_s for job in jobs)] if t > last)
            running = {j: each for j, each in started.items() if each[0] + jobs[j].iterations > now}
            taken = [
                (begin, max(begin + planned[j], math.nextafter(now, math.inf)), cells)
                for j, (begin, _, cells) in running.items()
            ]
            waiting = [j for j, job in enumerate(jobs) if j not in started and job.release_s <= now]
            left, first = self.reservations, True
            for j in sorted(waiting, key=lambda j: (-jobs[j].priority, jobs[j].release_s, j)):
                group = jobs[j].group
                members = [other for other in running if jobs[other].group == group]
                if group in limits and len(members) >= limits[group]:
                    continue
                for at in sorted({now, *(until for _, until, _ in taken if until > now)}):
                    found = self.place(jobs[j], self.free(taken, at, at + planned[j]))
                    if found is not None:
                        break
                if first:
                    self.promised.setdefault(j, at)
                    first = at == now
                if at == now:
                    started[j] = running[j] = (now, *found)
                elif left:
                    left -= 1
                else:
                    continue
                taken.append((at, at + planned[j], found[1]))
        return {jobs[j].id: (begin, shares) for j, (begin, shares, _) in started.items()}


def drawn(draw, *, told, walls):
    """Up to eight jobs on three small servers; ``told``: how wrong predictions are; ``walls``: classes, and a group."""
    own = {
        "slots": 3,
        "profiles": [{"id": "pair", "size": 2, "starts": [1, 0]}, {"id": "one", "size": 1, "starts": [2, 0]}],
    }
    kinds = draw.sample(["shares", "none", own, "A30-24GB", "shares"], 3)
    needs = [1, 1, 2, 3]
    needs += [0.25, 0.5, 0.7] if "shares" in kinds else []
    needs += ["pair", "one"] if own in kinds else []
    needs += ["1g.6gb", "2g.12gb"] if "A30-24GB" in kinds else []
    jobs = [(draw.randrange(8), draw.randrange(1, 8), draw.choice(needs)) for _ in range(draw.randrange(3, 9))]
    instance = made([(draw.randrange(1, 4), kind) for kind in kinds], *jobs)
    fields = instance.canonical_data()
    for each in fields["jobs"]:
        if draw.random() < told:
            each["predicted_iterations"] = draw.randrange(1, 9)
        elif draw.random() < told / 2:
            each["limit_s"] = float(draw.randrange(1, 9))
        if walls:
            each |= {"priority": draw.randrange(2), "group": draw.choice("gh")}
    if walls:
        fields["groups"] = [{"id": "g", "limit": 2}]
    return dlsched.srpt_mapping.Instance(**{name: value for name, value in fields.items() if name != "format"})


def shown(schedule):
    """Starts and shares by job."""
    return {
        name: (start, tuple((share.server, share.replicas, share.gpus, share.slot) for share in placement))
        for name, (start, placement) in schedule.jobs.items()
    }


@pytest.mark.parametrize("reservations", [0, 1, 2, 9])
@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.long)])
def test_against_a_slow_queue(reservations, count):
    """The same starts, GPUs and slots, with true and wrong predictions, classes and a group."""
    draw, sliced = random.Random(7 + reservations), 0
    for number in range(count):
        instance = drawn(draw, told=(number % 3) / 3, walls=number % 4 == 0)
        if infeasible(instance) is not None:
            continue
        sliced += instance.sliced
        schedule = backfill_reserving(instance, reservations=reservations)
        assert check(instance, schedule) == []
        if instance.sliced:
            assert shown(schedule) == Slow(instance, reservations).run()
    assert sliced > count / 3


@pytest.mark.parametrize("policy", [easy, conservative])
def test_the_head_starts_when_it_was_promised(policy):
    """Lengths being known, a job starts no later than reserved when it came first, whatever came after it."""
    draw, waited = random.Random(3), 0
    for _ in range(80):
        instance = drawn(draw, told=0, walls=False)
        if infeasible(instance) is not None or not instance.sliced:
            continue
        slow = Slow(instance, 1 if policy is easy else 9)
        slow.run()
        schedule = policy(instance)
        for job, promised in slow.promised.items():
            waited += promised > instance.jobs[job].release_s
            assert schedule.jobs[instance.jobs[job].id].start_s <= promised
    assert waited > 40


@settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(instance=srpt_mapping_instances(slices=True, walls=True, begun=True))
def test_with_communication(instance):
    """Pools, consolidated placement, jobs that have begun and odd numbers: the schedule breaks no rule."""
    for policy in (easy, conservative):
        schedule = policy(instance)
        assert (schedule is None) == (infeasible(instance) is not None)
        assert schedule is None or check(instance, schedule) == []
