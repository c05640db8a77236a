"""Where rules place slices: the spots that are remembered are those of a walk over all GPUs, whatever starts and ends."""

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.srpt_mapping.placing import heavy_edge
from dlsched.srpt_mapping.slices import SLICE_RULES, SlicedServers
from dlsched.testing.srpt_mapping import srpt_mapping_instances
from tests.srpt_mapping.fragments_by_hand import fragment_of


class Walk:
    """What is taken of each GPU, as shares say: a fraction, or a set of slots."""

    def __init__(self, instance):
        self.instance = instance
        self.taken = {}
        for m, server in enumerate(instance.servers):
            for gpu in range(server.gpus):
                self.taken[m, gpu] = set() if server.geometry else Fraction(0)

    def put(self, job, shares, sign):
        """Take what shares name, or give it back."""
        for share in shares:
            m = self.instance.server_index[share.server]
            shape = self.instance.servers[m].geometry
            # servers without slices: GPUs are alike there
            like = [each for (server, each), state in self.taken.items() if server == m and state == (sign < 0)]
            for gpu in share.gpus or like[: share.replicas]:
                if shape is None:
                    self.taken[m, gpu] += sign * Fraction(str(job.gpu_share))
                    continue
                first = share.slot or 0
                size = shape.profiles[job.profile].size if job.profile else shape.slots
                self.taken[m, gpu] ^= set(range(first, first + size))

    def free(self, m, gpu, more=()):
        """The part of a GPU that is free, if slots ``more`` are taken, too."""
        taken, shape = self.taken[m, gpu], self.instance.servers[m].geometry
        return 1 - taken if shape is None else 1 - Fraction(len(taken | set(more)), shape.slots)

    def spots(self, job):
        """Server, GPU, first slot and the slots of each spot where the job fits, in order."""
        for m, server in enumerate(self.instance.servers):
            if job.pool not in (None, *server.pools):
                continue
            for gpu in range(server.gpus):
                if job.profile is None:
                    if server.slicing == "shares" and self.free(m, gpu) >= Fraction(str(job.gpu_share)):
                        yield m, gpu, None, ()
                elif server.geometry is not None and job.profile in server.geometry.profiles:
                    size, starts = server.geometry.profiles[job.profile]
                    for slot in starts:
                        if not self.taken[m, gpu] & set(range(slot, slot + size)):
                            yield m, gpu, slot, range(slot, slot + size)

    def says(self, rule, job, spot):
        """What a rule says of a spot, in GPUs."""
        m, gpu, _, slots = spot
        server = self.instance.servers[m]
        after = self.free(m, gpu, slots) - (Fraction(str(job.gpu_share)) if job.profile is None else 0)
        if rule == "fgd":
            before = [self.taken[m, each] for each in range(server.gpus)]
            left = list(before)
            left[gpu] = before[gpu] | {*slots} if slots else before[gpu] + Fraction(str(job.gpu_share))
            return self.expected(m, left) - self.expected(m, before)
        on = sum(self.free(m, each) for each in range(server.gpus))
        return {"first-fit": 0, "best-fit": after, "dot-product": (on, after)}[rule]

    def expected(self, m, states):
        """Fragments of a server in such a state, in GPUs, added up over all jobs."""
        return sum(fragment_of(self.instance.servers[m], states, each) for each in self.instance.jobs)

    def whole(self, job):
        """The first server on which fragments grow least if a job takes idle GPUs of it; None: none holds it."""
        found = []
        for m, server in enumerate(self.instance.servers):
            states = [self.taken[m, gpu] for gpu in range(server.gpus)]
            idle = [gpu for gpu, state in enumerate(states) if not state]
            if job.pool in (None, *server.pools) and len(idle) >= job.gpus:
                left = list(states)
                for gpu in idle[: job.gpus]:
                    left[gpu] = {*range(server.geometry.slots)} if server.geometry else Fraction(1)
                found.append((self.expected(m, left) - self.expected(m, states), m))
        return min(found, default=(None, None))[1]


@pytest.mark.parametrize("rule", SLICE_RULES)
@settings(max_examples=60, derandomize=True, deadline=None, database=None)
@given(
    instance=srpt_mapping_instances(slices=True, walls=True, max_jobs=6, max_servers=5, max_gpus=4, max_stages=2),
    seed=st.integers(0, 1000),
)
def test_remembered_spots_are_those_of_a_walk(rule, instance, seed):
    """Jobs of any slice, pool and number of GPUs start where the rule says, many of each, and end in any order."""
    if not instance.sliced:
        return
    servers, walk, draw = SlicedServers(instance, rule), Walk(instance), random.Random(seed)
    running, position_of = [], {m: position for position, m in enumerate(servers.servers)}
    for _ in range(60):
        if running and draw.random() < 0.4:
            job, shares, taken = running.pop(draw.randrange(len(running)))
            servers.give(taken)
            walk.put(job, shares, -1)
        job = draw.choice(instance.jobs)
        if job.slice is None:
            if not servers.fits(job.gpus, job.pool):
                continue
            placed, best = servers.place(heavy_edge, job), walk.whole(job) if rule == "fgd" else None
            assert best is None or [m for m, _ in placed] == [position_of[best]]
        else:
            found = list(walk.spots(job))
            assert servers.fits_slice(job) == bool(found)
            if not found:
                continue
            best = min(found, key=lambda spot: walk.says(rule, job, spot))
            placed = servers.place(heavy_edge, job)
        shares, taken = servers.start(placed, job)
        if job.slice is not None:
            (share,) = shares
            m, gpu, slot, _ = best
            assert (share.server, share.gpus, share.slot) == (instance.servers[m].id, (gpu,), slot)
        walk.put(job, shares, 1)
        running.append((job, shares, taken))
