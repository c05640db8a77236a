"""The servers while jobs run: their free GPUs, and the seconds that placements take."""

from dlsched.cluster.job_graph import JobGraph
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.solution import Share

Placed = list[tuple[int, tuple[int, ...]]]
"""Pairs of a server's position and the replicas of every stage that it gets."""


class Servers:
    """The free GPUs, and the seconds that placements take. Servers with fewer GPUs, whose shares are larger, come first."""

    def __init__(self, instance: Instance) -> None:
        self.servers = sorted(range(len(instance.servers)), key=lambda place: instance.servers[place].gpus)
        self.names = [instance.servers[place].id for place in self.servers]
        self.free = [instance.servers[place].gpus for place in self.servers]
        self.shares = [instance.shares[place] for place in self.servers]
        self.inside = instance.intra_bandwidth_bytes_per_s
        self.total = sum(self.free)
        self._known: dict[tuple[object, ...], float] = {}

    def iteration_s(self, graph: JobGraph, placed: Placed) -> float:
        """Alpha of a placement; remembered, as clusters have few kinds of servers."""
        counts = tuple(row for _, row in placed)
        shares = tuple(self.shares[place] for place, _ in placed)
        key = graph, counts, shares
        if key not in self._known:
            self._known[key] = graph.iteration_s(counts, shares, self.inside)
        return self._known[key]

    def named(self, placed: Placed) -> list[Share]:
        """A placement as solutions hold it."""
        return [
            Share(stage, self.names[server], count)
            for server, row in placed
            for stage, count in enumerate(row)
            if count
        ]

    def take(self, placed: Placed) -> list[tuple[int, int]]:
        """Take the GPUs of a placement; return what to give back."""
        taken = [(place, sum(row)) for place, row in placed]
        self._move(taken, -1)
        return taken

    def give(self, taken: list[tuple[int, int]]) -> None:
        """Give GPUs back."""
        self._move(taken, 1)

    def _move(self, taken: list[tuple[int, int]], sign: int) -> None:
        for place, count in taken:
            self.free[place] += sign * count
            self.total += sign * count
