"""The servers while jobs run: their free GPUs, and the seconds that placements take."""

from collections.abc import Iterable, Sequence

from dlsched.cluster.job_graph import JobGraph
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.solution import Share

Placed = list[tuple[int, tuple[int, ...]]]
"""Pairs of a server's index and the replicas of every stage that it gets."""

LARGEST = 300_000
"""Stages of a job times the servers that it may use, beyond which heuristics refuse to place it."""
_REMEMBERED = 2_000  # the same, of placements whose seconds are remembered


def require_placeable(instance: Instance) -> None:
    """Refuse jobs whose placements are too large to be written down.

    Raises
    ------
    UsageError
        Names the job, its stages and what is allowed.
    """
    for job in instance.jobs:
        servers = min(len(instance.servers), job.gpus)
        if servers * len(job.stages) > LARGEST:
            found = f"{len(job.stages):,} stages on up to {servers:,} servers"
            raise UsageError(where=f"job {job.id!r}", found=found, allowed=f"stages times servers up to {LARGEST:,}")


def named(names: Sequence[str], rows: Iterable[tuple[int, tuple[int, ...]]]) -> list[Share]:
    """A placement as solutions hold it."""
    return [Share(stage, names[server], count) for server, row in rows for stage, count in enumerate(row) if count]


class Servers:
    """The free GPUs, and the seconds that placements take. Servers with fewer GPUs, whose shares are larger, come first."""

    def __init__(self, instance: Instance) -> None:
        self.servers = sorted(range(len(instance.servers)), key=lambda index: instance.servers[index].gpus)
        self.names = [instance.servers[index].id for index in self.servers]
        self.free = [instance.servers[index].gpus for index in self.servers]
        self.shares = [instance.shares[index] for index in self.servers]
        self.inside = instance.intra_bandwidth_bytes_per_s
        self.total = sum(self.free)
        self._known: dict[tuple[object, ...], float] = {}
        self._shares: dict[tuple[int, tuple[int, ...]], tuple[Share, ...]] = {}

    def iteration_s(self, graph: JobGraph, placed: Placed) -> float:
        """Alpha of a placement; remembered, as clusters have few kinds of servers."""
        counts = tuple([row for _, row in placed])
        shares = tuple([self.shares[index] for index, _ in placed])
        key = graph, counts, shares
        known_s = self._known.get(key)
        if known_s is None:
            known_s = graph.iteration_s(counts, shares, self.inside)
            if len(placed) * len(graph.replicas) <= _REMEMBERED:
                self._known[key] = known_s
        return known_s

    def named(self, placed: Placed) -> list[Share]:
        """A placement as solutions hold it."""
        return named(self.names, placed)

    def placement(self, placed: Placed) -> tuple[Share, ...]:
        """The same; what one server gets is made once."""
        if len(placed) > 1:
            return tuple(self.named(placed))
        (each,) = placed
        known = self._shares.get(each)
        if known is None:
            known = self._shares[each] = tuple(self.named(placed))
        return known

    def placed(self, graph: JobGraph, placement: Iterable[Share]) -> Placed:
        """A placement of solutions as rules return it."""
        index = {name: server for server, name in enumerate(self.names)}
        rows: dict[int, list[int]] = {}
        for share in placement:
            rows.setdefault(index[share.server], [0] * len(graph.replicas))[share.stage] += share.replicas
        return [(server, tuple(row)) for server, row in rows.items()]

    def take(self, placed: Placed) -> list[tuple[int, int]]:
        """Take the GPUs of a placement; return what to give back."""
        taken = [(index, sum(row)) for index, row in placed]
        self.give([(index, -count) for index, count in taken])
        return taken

    def give(self, taken: list[tuple[int, int]]) -> None:
        """Give GPUs back."""
        for index, count in taken:
            self.free[index] += count
            self.total += count
