"""Small random networks, instances in them, and all that can stand in one slot of them, by enumeration."""

import random
from collections import Counter
from itertools import combinations, pairwise, permutations, product

import networkx as nx
import numpy as np

from dlsched.cluster.network import Link, Node, Path
from dlsched.cluster.utility import Capped, Log, Sigmoid, Sqrt
from dlsched.core.limits import Budget
from dlsched.ring_embedding.instance import Instance, Job
from dlsched.ring_embedding.rings.placing import Slot

PARTS = "gpu", "disk"


def any_forest(rng, servers):
    """Racks, a line, a star, or any tree, whole or in two parts: what is no server, and the pairs linked."""
    kind = rng.choice(["racks", "line", "star", "any", "parts"])
    if kind == "racks":
        return ["r0", "r1", "core"], [(name, rng.choice(["r0", "r1"])) for name in servers] + [
            ("r0", "core"),
            ("core", "r1"),
        ]
    if kind == "line":
        return [], list(pairwise(servers))
    if kind == "star":
        return ["hub"], [("hub", name) for name in servers]
    nodes = [*servers, "n0"]
    rng.shuffle(nodes)
    pairs = [(nodes[index], rng.choice(nodes[:index])) for index in range(1, len(nodes))]
    if kind == "parts":
        del pairs[rng.randrange(len(pairs))]
    return ["n0"], pairs


def any_graph(rng, servers):
    """A cycle of the servers with chords, or any links with a node that is no server."""
    if rng.random() < 0.6:
        cycle = [tuple(sorted(pair)) for pair in zip(servers, [*servers[1:], servers[0]], strict=True)]
        return [], sorted({*cycle, *(pair for pair in combinations(servers, 2) if rng.random() < 0.4)})
    nodes = [*servers, "n0"]
    pairs = list(combinations(nodes, 2))
    return ["n0"], rng.sample(pairs, min(len(pairs), len(nodes) + 1))


def any_paths(rng, servers, pairs):
    """A path for most pairs of servers that have one, mostly the shortest, in either direction."""
    network = nx.Graph(pairs)
    network.add_nodes_from(servers)
    paths = []
    for pair in combinations(servers, 2):
        ends = pair if rng.random() < 0.5 else pair[::-1]
        ways = sorted(nx.all_simple_paths(network, *ends), key=lambda nodes: (len(nodes), nodes))
        if ways and rng.random() < 0.9:
            paths.append({"ends": ends, "nodes": ways[0] if rng.random() < 0.7 else rng.choice(ways)})
    return paths


def charged(instance, on, workers=0.0):
    """The instance with what servers cost while they are on, and workers (one price, or each job's), in a slot of an hour."""
    data = instance.model_dump()
    for node, price in zip((node for node in data["nodes"] if node["capacity"] is not None), on, strict=True):
        node["power_on_w"] = 1000.0 * price
    for record, price in zip(data["jobs"], np.broadcast_to(workers, len(data["jobs"])).tolist(), strict=True):
        record["worker_power_w"] = 1000.0 * price
    return Instance(**data | {"energy_price_per_kwh": 1.0})


def one_slot(seed, *, forest):
    """Three to five servers, three or four jobs of up to four workers; a forest, or a graph with a path for most pairs."""
    rng = random.Random(seed)
    names = [f"s{index}" for index in range(rng.choice([4, 4, 5] if forest else [3, 4, 4]))]
    servers = [{"id": name, "capacity": {"gpu": rng.choice([1, 1, 1, 2])}} for name in names]
    others, pairs = any_forest(rng, names) if forest else any_graph(rng, names)
    links = [{"ends": pair, "bandwidth_bytes_per_s": rng.choice([1.0, 1.0, 1.5, 2.5])} for pair in pairs]
    return Instance(
        name=f"seed-{seed}",
        slots=1,
        nodes=servers + [{"id": name} for name in others],
        links=links,
        paths=None if forest else any_paths(rng, names, pairs),
        jobs=[_job(rng, index) for index in range(rng.choice([3, 3, 4]))],
    )


def _job(rng, index):
    workers = rng.choice([2, 3, 4])
    height = rng.choice([1.0, 2.0, 5.0, round(rng.uniform(1, 9), 2)])
    utility = rng.choice(
        [
            {"kind": "sqrt", "scale": height},
            {"kind": "log", "scale": height},
            {"kind": "capped", "slope": height, "cap": 2.5 * height},
            {
                "kind": "sigmoid",
                "height": height,
                "steepness": rng.choice([1.0, 4.0]),
                "midpoint": rng.choice([0, 1, 2]),
            },
        ]
    )
    return {
        "id": f"j{index}",
        "max_workers": workers,
        "demand": {"gpu": rng.choice([1, 1, 0.5, 0.5, 0.7])},
        "bandwidth_bytes_per_s": rng.choice([0.0, 1.0, 1.0, 1.5, 0.8, round(rng.uniform(0.3, 2), 3)]),
        "rate": 1.0,
        "utility": utility,
    }


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


def draw(seed):
    """Two or three jobs on two to four servers in one to three slots; a forest, or listed paths when the seed is 2 mod 3."""
    rng = random.Random(seed)
    forest = seed % 3 < 2
    servers = [f"s{index}" for index in range(rng.choice([2, 3, 3, 4] if forest else [3, 3, 4]))]
    others, pairs = any_forest(rng, servers) if forest else any_graph(rng, servers)
    resources = PARTS[: rng.choice([1, 1, 2])]
    slots = rng.choice([1, 2, 2, 3, 4])
    concave, single = rng.random() < 0.5, rng.random() < 0.6
    jobs = [_job_of_slots(rng, resources, slots, concave, single) for _ in range(rng.choice([2, 2, 3]))]
    if seed % 9 == 4:
        jobs = [jobs[0]] * len(jobs)
    return Instance(
        name=f"drawn-{seed}",
        slots=slots,
        nodes=[{"id": name, "capacity": _capacity(rng, resources, single)} for name in servers]
        + [{"id": name} for name in others],
        links=[{"ends": pair, "bandwidth_bytes_per_s": _edge(rng, rng.choice([1, 1, 2, 3]))} for pair in pairs],
        paths=None if forest else any_paths(rng, servers, pairs),
        jobs=[{"id": f"j{index}", **job} for index, job in enumerate(jobs)],
    )


def _edge(rng, amount):
    """At times a little less than that: within the checker's tolerance, or beyond that of any solver."""
    return amount * rng.choice([1, 1, 1, 1 - 0.5e-9, 1 - 1e-5])


def _capacity(rng, resources, single):
    """Single: a server holds little more than a worker, so that larger rings need several."""
    held = {name: _edge(rng, rng.choice([1, 1, 1, 1, 2] if single else [1, 1, 2, 3])) for name in resources}
    if len(held) > 1 and rng.random() < 0.2:
        del held[resources[1]]
    return held


def _job_of_slots(rng, resources, slots, concave, single):
    rate, workers = rng.choice([1, 1, 0.5, 37.5]), rng.choice([2, 3, 3, 4] if single else [1, 2, 3, 3])
    most = rate * workers * slots
    kinds = [
        {"kind": "sqrt", "scale": rng.choice([1, 3, 10])},
        {"kind": "log", "scale": rng.choice([1, 3, 10])},
        {"kind": "capped", "slope": rng.choice([1, 2.5]) / rate, "cap": rng.choice([1, 2.5, 6, 20])},
        {"kind": "sigmoid", "height": rng.choice([2, 9]), "steepness": 1 / rate, "midpoint": 0},
    ]
    if not concave and rng.random() < 0.7:
        steepness = rng.choice([1, 4, 1000]) / rate
        kinds = [{"kind": "sigmoid", "height": rng.choice([3, 9]), "steepness": steepness, "midpoint": most / 2}]
        kinds.append(kinds[0] | {"midpoint": rng.uniform(0, 1.2) * most})
    demand = {name: rng.choice([1, 1, 1, 0.7] if single else [1, 1, 0.5, 0.3, 2]) for name in resources}
    job = {"max_workers": workers, "demand": demand, "rate": rate, "utility": rng.choice(kinds)}
    job["bandwidth_bytes_per_s"] = rng.choice([0, 0.5, 1, 1, 1.5])
    job["arrival_slot"] = rng.choice([1, 1, rng.randint(1, slots)])
    if rng.random() < 0.3:
        job["budget"] = {resources[0]: demand[resources[0]] * rng.choice([1, 2.5, 4 - 1e-10])}
    return job
