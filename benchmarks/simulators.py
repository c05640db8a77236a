"""Other simulators of a job of asynchronous SGD with one server, full duplex: two plain loops, SimPy and ciw.

Computing and updates are exponential, transfers fixed. Each simulates one replication, and returns the throughput and how many
services ended.

- The *loop* is what one writes first: a heap of events; at a shared station, an arrival or a departure takes from everyone
  what was served, and schedules the next to end anew.
- The *tags* are the better one: a heap a shared station, ordered by its virtual time.
- In *SimPy* a worker is a process, a link such a heap with one timeout at a time, the server a resource.
- In *ciw* links are its nodes with processor sharing; it runs until a time, that of as many cycles by the analysis.
"""

import heapq
import random
from collections import deque
from importlib.util import find_spec

from dlsched.queueing.cycle import Stage

Found = tuple[float, int]  # throughput and events
PEERS = {"simpy": "SimPy", "ciw": "ciw"}


def installed() -> list[str]:
    """Which peers are here, by module."""
    return [module for module in PEERS if find_spec(module) is not None]


def loop(stages: tuple[Stage, ...], workers: int, cycles: int, seed: int) -> Found:
    """A heap of events; a shared station goes through all its customers at every change."""
    drawn = random.Random(seed)
    events: list[tuple[float, int, int, int]] = []  # time, station, version, customer
    left: dict[int, dict[int, float]] = {stage.station: {} for stage in stages if stage.discipline == "sharing"}
    since, version = dict.fromkeys(left, 0.0), dict.fromkeys(left, 0)
    waiting: dict[int, deque[int]] = {stage.station: deque() for stage in stages if stage.discipline == "queue"}
    at = [[stage.work for stage in stages].index("compute")] * workers
    now = 0.0

    def begin(customer: int) -> None:
        stage = stages[at[customer]]
        heapq.heappush(events, (now + drawn.expovariate(1 / stage.mean_s), stage.station, 0, customer))

    def share(station: int, *, joins: tuple[int, float] | None = None, leaves: int | None = None) -> None:
        here = left[station]
        for customer in here:
            here[customer] -= (now - since[station]) / len(here)
        since[station] = now
        if joins is not None:
            here[joins[0]] = joins[1]
        if leaves is not None:
            del here[leaves]
        version[station] += 1
        if here:
            soonest = min(here, key=here.__getitem__)
            heapq.heappush(events, (now + here[soonest] * len(here), station, version[station], soonest))

    def arrive(customer: int) -> None:
        stage = stages[at[customer]]
        if stage.station in left:
            share(stage.station, joins=(customer, stage.mean_s))
            return
        line = waiting.get(stage.station)
        if line is not None:
            line.append(customer)
        if line is None or len(line) == 1:
            begin(customer)

    for customer in range(workers):
        arrive(customer)
    ended = 0
    while ended < cycles * len(stages):
        now, station, number, customer = heapq.heappop(events)
        if station in left:
            if number != version[station]:
                continue
            share(station, leaves=customer)
        elif station in waiting:
            waiting[station].popleft()
            if waiting[station]:
                begin(waiting[station][0])
        ended += 1
        at[customer] = (at[customer] + 1) % len(stages)
        arrive(customer)
    return cycles / now, ended


def tags(stages: tuple[Stage, ...], workers: int, cycles: int, seed: int) -> Found:
    """The one layout of these jobs: pull, compute, push, update, in virtual time, written out."""
    drawn = random.Random(seed)
    pull_s, compute_s, push_s, update_s = (stage.mean_s for stage in stages)
    computing = [drawn.expovariate(1 / compute_s) for _ in range(workers)]
    heapq.heapify(computing)
    down: list[float] = []
    up: list[float] = []
    now = down_clock = up_clock = 0.0
    waiting, update_ends, never = 0, float("inf"), float("inf")
    ended = 0
    while ended < cycles * 4:
        computed = computing[0] if computing else never
        pulled = now + (down[0] - down_clock) * len(down) if down else never
        pushed = now + (up[0] - up_clock) * len(up) if up else never
        then = min(computed, pulled, pushed, update_ends)
        if down:
            down_clock += (then - now) / len(down)
        if up:
            up_clock += (then - now) / len(up)
        now = then
        ended += 1
        if now == computed:
            heapq.heappop(computing)
            heapq.heappush(up, up_clock + push_s)
        elif now == pulled:
            heapq.heappop(down)
            heapq.heappush(computing, now + drawn.expovariate(1 / compute_s))
        elif now == pushed:
            heapq.heappop(up)
            waiting += 1
            if waiting == 1:
                update_ends = now + drawn.expovariate(1 / update_s)
        else:
            waiting -= 1
            update_ends = now + drawn.expovariate(1 / update_s) if waiting else never
            heapq.heappush(down, down_clock + pull_s)
    return cycles / now, ended


def by_simpy(stages: tuple[Stage, ...], workers: int, cycles: int, seed: int) -> Found:
    """SimPy: a worker is a process."""
    import simpy

    class Link:
        """Processor sharing in virtual time."""

        def __init__(self) -> None:
            self.clock, self.since, self.version, self.number = 0.0, 0.0, 0, 0
            self.here: list[tuple[float, int, simpy.Event]] = []

        def transfer(self, seconds: float) -> simpy.Event:
            self.turn()
            self.number += 1
            done = environment.event()
            heapq.heappush(self.here, (self.clock + seconds, self.number, done))
            self.plan()
            return done

        def turn(self) -> None:
            if self.here:
                self.clock += (environment.now - self.since) / len(self.here)
            self.since = environment.now

        def plan(self) -> None:
            self.version += 1
            if self.here:
                version = self.version
                rest = environment.timeout(max(0.0, (self.here[0][0] - self.clock) * len(self.here)))
                rest.callbacks.append(lambda _: self.leave(version))

        def leave(self, version: int) -> None:
            if version == self.version:
                self.turn()
                heapq.heappop(self.here)[2].succeed()
                self.plan()

    drawn, environment = random.Random(seed), simpy.Environment()
    pull_s, compute_s, push_s, update_s = (stage.mean_s for stage in stages)
    down, up, server = Link(), Link(), simpy.Resource(environment)
    left, finished = cycles, environment.event()

    def worker() -> "simpy.events.ProcessGenerator":
        nonlocal left
        while True:
            yield environment.timeout(drawn.expovariate(1 / compute_s))
            yield up.transfer(push_s)
            with server.request() as turn:
                yield turn
                yield environment.timeout(drawn.expovariate(1 / update_s))
            left -= 1
            if left == 0:
                finished.succeed()
            yield down.transfer(pull_s)

    for _ in range(workers):
        environment.process(worker())
    environment.run(finished)
    return cycles / environment.now, 4 * cycles


def by_ciw(stages: tuple[Stage, ...], workers: int, cycles: int, seed: int, per_s: float) -> Found:
    """ciw: all workers arrive at the computing node at the beginning; ``per_s`` is the throughput to expect."""
    import ciw

    pull_s, compute_s, push_s, update_s = (stage.mean_s for stage in stages)
    one, never = ciw.dists.Deterministic(1), float("inf")
    network = ciw.create_network(
        arrival_distributions=[None, ciw.dists.Sequential([1e-9, never]), None, None],
        batching_distributions=[one, ciw.dists.Deterministic(workers), one, one],
        service_distributions=[
            ciw.dists.Deterministic(pull_s),
            ciw.dists.Exponential(1 / compute_s),
            ciw.dists.Deterministic(push_s),
            ciw.dists.Exponential(1 / update_s),
        ],
        number_of_servers=[never, never, never, 1],
        routing=[[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0]],
    )
    ciw.seed(seed)
    simulation = ciw.Simulation(network, node_class=[ciw.PSNode, ciw.Node, ciw.PSNode, ciw.Node])
    simulation.simulate_until_max_time(cycles / per_s)
    ended = sum(len(one.data_records) for node in simulation.transitive_nodes for one in node.all_individuals)
    return ended / 4 / (cycles / per_s), ended
