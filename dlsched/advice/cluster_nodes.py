"""The nodes of a cluster at one moment, and the placement of the running jobs."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import count
from typing import NamedTuple

from dlsched.core.errors import UsageError
from dlsched.traces.queue import Queue
from dlsched.traces.snapshot import Present, Snapshot


class ClusterState(NamedTuple):
    """GPUs by node; GPUs by node of every running job, by id; assumed nodes and jobs; audit sentences."""

    nodes: Mapping[str, int]
    held: Mapping[str, Mapping[str, int]]
    assumed: frozenset[str]
    homeless: frozenset[str]
    audit: tuple[str, ...]

    @property
    def free(self) -> dict[str, int]:
        """GPUs that no job holds, by node."""
        free = Counter(self.nodes)
        for held in self.held.values():
            free.subtract(held)
        return dict(free)

    def known(self, room: Mapping[str, int]) -> dict[str, int]:
        """GPUs by node for an action; empty if a node has no name of its own."""
        return {} if self.assumed.intersection(room) else dict(room)

    def stays(self, job: str) -> dict[str, int]:
        """Known placement of a running job; empty if unknown."""
        return {} if job in self.homeless else self.known(self.held[job])


def standing(queue: Queue, found: Snapshot, gpus: int, gpus_of_node: int) -> ClusterState:
    """Place running and left-out jobs on their recorded nodes, with GPUs spread evenly over several nodes.

    Nodes are those that the source lists, or else those on which jobs are recorded, with ``gpus_of_node``
    GPUs each. Nodes with running jobs come first, as many as hold ``gpus``; unnamed nodes are added if these
    are too few. A job whose nodes are unknown or full is placed on the emptiest nodes.

    Raises
    ------
    UsageError
        The running jobs hold more GPUs than the cluster has.
    """
    needed = found.held_gpus
    if needed > gpus:
        raise UsageError(where="gpus", found=f"{gpus:,}", allowed=f"at least {needed:,}, which jobs that run hold")
    nodes, assumed, audit = _nodes(queue, found, gpus, gpus_of_node)
    free = dict(nodes)
    held: dict[str, dict[str, int]] = {}
    homeless = []
    for each in found.holding:
        room = _recorded(each, free)
        if room is None:
            homeless.append(each)
        else:
            held[each.job.id] = _taken(free, room.items())
    for each in homeless:
        held[each.job.id] = _taken(free, _emptiest(each.job.gpus, free))
    outside = sum(each in found.outside for each in homeless)
    for words, number in (("Jobs that run", len(homeless) - outside), ("GPUs of jobs left out", outside)):
        if number:
            audit.append(
                f"{words} on nodes that are not known or have no such room, taken to stand on the emptiest: {number:,}."
            )
    return ClusterState(nodes, held, frozenset(assumed), frozenset(each.job.id for each in homeless), tuple(audit))


def _nodes(
    queue: Queue, found: Snapshot, gpus: int, gpus_of_node: int
) -> tuple[dict[str, int], dict[str, int], list[str]]:
    """Return GPUs by node, ``gpus`` in all; the nodes with invented names; and sentences about them."""
    listed = {node.id: node.gpus for node in queue.nodes if node.gpus}
    busy = [name for each in found.holding for name in each.job.nodes]
    names = [*busy, *listed] if listed else [*busy, *(name for job in queue.jobs for name in job.nodes)]
    nodes: dict[str, int] = {}
    left = gpus
    for name in dict.fromkeys(names):
        size = min(left, listed.get(name, 0) if listed else gpus_of_node)
        if size:
            nodes[name] = size
            left -= size
    audit = [] if listed or not nodes else [f"Nodes are those that jobs were on, of {gpus_of_node} GPUs each."]
    assumed: dict[str, int] = {}
    names_left = (f"s{index}" for index in count())
    while left:
        made = next(name for name in names_left if name not in nodes)
        assumed[made] = min(left, gpus_of_node)
        left -= assumed[made]
    if assumed:
        audit.append(f"GPUs on nodes of which nothing is known, {gpus_of_node} each: {sum(assumed.values()):,}.")
    return nodes | assumed, assumed, audit


def _recorded(each: Present, free: Mapping[str, int]) -> dict[str, int] | None:
    """Return a job's GPUs by recorded node; None: the nodes are unknown or full."""
    names = each.job.nodes
    if not names or len(set(names)) < len(names) or len(names) > each.job.gpus:
        return None
    share, more = divmod(each.job.gpus, len(names))
    even = {name: share + (place < more) for place, name in enumerate(names)}
    return even if all(taken <= free.get(name, 0) for name, taken in even.items()) else None


def _emptiest(gpus: int, free: Mapping[str, int]) -> list[tuple[str, int]]:
    room = []
    for name in sorted(free, key=free.__getitem__, reverse=True):
        room.append((name, min(gpus, free[name])))
        gpus -= room[-1][1]
        if not gpus:
            break
    return room


def _taken(free: dict[str, int], room: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Take GPUs by node, and return them."""
    taken = dict(room)
    for name, held in taken.items():
        free[name] -= held
    return taken
