"""Small random networks, and all that can stand in one slot of them, by enumeration."""

from collections import Counter
from itertools import combinations, pairwise, permutations, product

import numpy as np

from dlsched.cluster.network import Link, Node, Path
from dlsched.cluster.utility import Capped, Log, Sigmoid, Sqrt
from dlsched.core.limits import Budget
from dlsched.ring_embedding.instance import Instance, Job
from dlsched.ring_embedding.rings.placing import Slot


class Asked(Budget):
    """No limit; calls ``tick`` when it is asked."""

    def __init__(self, tick):
        super().__init__()
        self.asked = tick

    def tick(self, nodes=0):
        self.asked()


def concave(rng):
    scale = float(rng.integers(1, 9))
    return [Sqrt(scale=scale), Log(scale=scale), Capped(slope=scale, cap=3.5 * scale)][rng.integers(3)]


def any_utility(rng):
    if rng.random() < 0.6:
        return concave(rng)
    return Sigmoid(
        height=float(rng.integers(1, 20)), steepness=float(rng.uniform(0.5, 3)), midpoint=float(rng.integers(1, 7))
    )


def jobs(rng, count, slots, utility, most=3):
    made = []
    for name in "abcdefghijklmnopqrstuvwxyz"[:count]:
        demand = {"gpu": int(rng.integers(1, 3))} | (
            {"memory": float(rng.integers(1, 4))} if rng.random() < 0.5 else {}
        )
        budget = {"gpu": float(rng.integers(2, 9))} if rng.random() < 0.5 else {}
        made.append(
            Job(
                id=name,
                arrival_slot=int(rng.integers(1, slots + 1)),
                max_workers=int(rng.integers(1, most + 1)),
                demand=demand,
                budget=budget,
                bandwidth_bytes_per_s=float(rng.integers(0, 4)),
                rate=float(rng.integers(1, 4)),
                utility=utility(rng),
            )
        )
    return made


def server(rng, name):
    return Node(id=name, capacity={"gpu": int(rng.integers(1, 5)), "memory": float(rng.integers(2, 9))})


def racks(seed, *, servers=4, count=3, slots=3, utility=any_utility, most=3):
    """Servers in racks of one or two under a core; or the servers themselves in a line."""
    rng = np.random.default_rng(seed)
    names = [f"s{index}" for index in range(servers)]
    nodes, links = [server(rng, name) for name in names], []
    if rng.random() < 0.7:
        tops = [f"r{index}" for index in range((servers + 1) // 2)]
        nodes += [Node(id=name) for name in ["core", *tops]]
        ends = [("core", top) for top in tops] + [(tops[index // 2], name) for index, name in enumerate(names)]
    else:
        ends = list(pairwise(names))
    links = [Link(ends=pair, bandwidth_bytes_per_s=float(rng.integers(1, 6))) for pair in ends if rng.random() < 0.9]
    return Instance(name="racks", slots=slots, nodes=nodes, links=links, jobs=jobs(rng, count, slots, utility, most))


def switches(seed, *, servers=4, count=3, slots=3, utility=any_utility, most=3):
    """A ring of switches with a server each; paths take the shorter way, and some are not listed."""
    rng = np.random.default_rng(seed)
    nodes = [server(rng, f"s{index}") for index in range(servers)] + [Node(id=f"w{index}") for index in range(servers)]
    ends = [(f"s{index}", f"w{index}") for index in range(servers)]
    ends += [(f"w{index}", f"w{(index + 1) % servers}") for index in range(servers)]
    paths = []
    for here, there in combinations(range(servers), 2):
        if rng.random() < 0.85:
            forward = there - here <= servers / 2
            step = 1 if forward else -1
            between = [f"w{(here + step * hop) % servers}" for hop in range(((there - here) * step) % servers + 1)]
            nodes_on = (f"s{here}", *between, f"s{there}")
            paths.append(Path(ends=(f"s{here}", f"s{there}"), nodes=nodes_on))
    return Instance(
        name="switches",
        slots=slots,
        nodes=nodes,
        links=[Link(ends=pair, bandwidth_bytes_per_s=float(rng.integers(2, 9))) for pair in ends],
        paths=paths,
        jobs=jobs(rng, count, slots, utility, most),
    )


def rings_of(network, job, most):
    """Every ring of a job of 1 .. ``most`` workers: workers, order, links; of orders that cross the same links one."""
    found = {}
    servers = range(len(network.capacity))
    for counts in product(*(range(int(network.fits[job, index]) + 1) for index in servers)):
        held = [index for index in servers if counts[index]]
        if not 1 <= sum(counts) <= most:
            continue
        for rest in permutations(held[1:]):
            order = (held[0], *rest)
            links = network.crossed(order)
            if links is not None:
                found.setdefault((counts, tuple(sorted(links))), ({p: counts[p] for p in held}, order, links))
    return list(found.values())


def slots_of(network, sizes):
    """Every feasible choice of at most one ring a job, of at most ``sizes[job]`` workers."""
    capacity, bandwidth = network.capacity, network.bandwidth
    partial = [({}, np.zeros_like(capacity), np.zeros_like(bandwidth))]
    for job, most in sizes.items():
        longer = []
        for placed in rings_of(network, job, most):
            held, load = np.zeros_like(capacity), np.zeros_like(bandwidth)
            for index, many in placed[0].items():
                held[index] = many * network.demand[job]
            for link, times in Counter(placed[2]).items():
                load[link] = times * network.load[job]
            for rings, used, loads in partial:
                if (used + held <= capacity).all() and (loads + load <= bandwidth).all():
                    longer.append((rings | {job: placed}, used + held, loads + load))
        partial += longer
    return [rings for rings, _, _ in partial]


def best_slot(network, available, gains):
    """The slot of largest gain, by enumeration."""
    del available
    slot = Slot(network)

    def gain(rings):
        return sum(gains[job][sum(workers.values())] for job, (workers, _, _) in rings.items())

    for job, placed in max(slots_of(network, {job: len(gains[job]) - 1 for job in gains}), key=gain).items():
        slot.put(job, placed)
    return slot
