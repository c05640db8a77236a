"""Pipeline and data-parallel jobs as graphs of stages, and the time of one iteration on given servers.

A job is a chain of stages; stage s has k_s replicas, one GPU each. A server with g GPUs gives each of them an equal
share of its network card, so that jobs do not disturb each other.

===================  ================================================================================================
code                 mathematics
===================  ================================================================================================
``replicas``         k_s
``compute_s``        p_s, seconds of a replica's computation in an iteration
``output_bytes``     d_s, bytes from stage s to the next in an iteration, and as many back; 0 for the last
``parameter_bytes``  h_s, bytes that the replicas of stage s all-reduce
``inside``           b_in, bandwidth between GPUs of one server, B/s
``shares``           b_out / g^m, bandwidth of one GPU's share of the card of server m, B/s
``counts``           x_sm, replicas of every stage on one server, shape (S,)
===================  ================================================================================================

Source: Luo, Liu, Lee, Shroff, INFOCOM 2025 (arXiv 2501.05563, abstract); the iteration time is dlsched's own definition.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dlsched.core.instance import Count, NonNegative, Positive
from dlsched.core.part import Part


class Stage(Part):
    """A pipeline stage of a job.

    Parameters
    ----------
    replicas
        Data-parallel copies, one GPU each.
    compute_s
        Seconds that one replica computes in an iteration, forward and backward of its share of the batch; > 0.
    output_bytes
        Bytes that an iteration of the whole job moves from this stage to the next, and as many back; 0 for the last.
    parameter_bytes
        Bytes that the replicas all-reduce in an iteration.
    """

    replicas: Count
    compute_s: Positive
    output_bytes: NonNegative
    parameter_bytes: NonNegative


@dataclass(frozen=True, slots=True)
class JobGraph:
    """The stages of a job; each of the four fields has one entry per stage. Equal graphs have equal hashes.

    >>> graph = JobGraph((2, 1), (0.5, 0.25), (8.0, 0.0), (0.0, 0.0))
    >>> graph.gpus, graph.iteration_s([(2, 1)], [1.0], inside=16.0)
    (3, 1.25)
    """

    replicas: tuple[int, ...]
    compute_s: tuple[float, ...]
    output_bytes: tuple[float, ...]
    parameter_bytes: tuple[float, ...]
    gpus: int = field(init=False, compare=False)
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gpus", sum(self.replicas))
        fields = self.replicas, self.compute_s, self.output_bytes, self.parameter_bytes
        object.__setattr__(self, "_hash", hash(fields))

    def __hash__(self) -> int:
        return self._hash

    def neighbours(self, stage: int) -> list[tuple[int, float]]:
        """Pairs (v, O_sv) of the neighbour stages and the bytes exchanged with them in each direction."""
        before = [(stage - 1, self.output_bytes[stage - 1])] if stage else []
        after = [(stage + 1, self.output_bytes[stage])] if stage + 1 < len(self.replicas) else []
        return before + after

    def ring_bytes(self, stage: int) -> float:
        """2 (k_s - 1) / k_s h_s: bytes that the ring all-reduce of a stage sends through each replica."""
        return 2 * (self.replicas[stage] - 1) / self.replicas[stage] * self.parameter_bytes[stage]

    def partner_bytes(self, stage: int) -> float:
        """2 sum_v O_sv / k_s: bytes that one replica exchanges with the neighbour stages."""
        return 2 * sum(sent for _, sent in self.neighbours(stage)) / self.replicas[stage]

    def uniform_s(self, bandwidth: float) -> float:
        """Seconds of an iteration if all bytes went at one bandwidth: alpha^max at the lowest, alpha^low at the highest."""
        return max(
            compute_s + (self.partner_bytes(stage) + self.ring_bytes(stage)) / bandwidth
            for stage, compute_s in enumerate(self.compute_s)
        )

    def iteration_s(self, counts: Sequence[Sequence[int]], shares: Sequence[float], inside: float) -> float:
        """alpha(x): seconds of a placement's iteration; ``counts`` and ``shares`` have one entry per server used."""
        splits = tuple(zip(*counts, strict=True))
        return max(self.stage_s(stage, splits, shares, inside) for stage in range(len(splits)))

    def stage_s(self, stage: int, splits: Sequence[Sequence[int]], shares: Sequence[float], inside: float) -> float:
        """Seconds of one stage of a placement; ``splits``: replicas by stage and server, at least to the next stage."""
        here = splits[stage]
        used = [index for index, count in enumerate(here) if count]
        # The ring is as fast as its slowest link: inside one server, or the least share of the cards that it passes.
        band = inside if len(used) == 1 else min(shares[index] for index in used)
        ring_s = self.ring_bytes(stage) / band
        slowest_s = 0.0
        # By server: the share ``near`` of each neighbour stage is reached inside the server, the rest through the card.
        for index in used:
            transfer_s = 0.0
            for other, sent in self.neighbours(stage):
                near = splits[other][index] / self.replicas[other]
                each = 2 * sent / self.replicas[stage]
                transfer_s += each * (near / inside + (1 - near) / shares[index])
            slowest_s = max(slowest_s, self.compute_s[stage] + transfer_s + ring_s)
        return slowest_s

    def edge_weight(self, first: int, second: int) -> float:
        """Bytes in an iteration between two replicas, of two stages or of one: Heavy-Edge's weights."""
        if first == second:
            return 2 * self.parameter_bytes[first] / self.replicas[first]
        sent = dict(self.neighbours(first)).get(second, 0.0)
        return 2 * sent / (self.replicas[first] * self.replicas[second])
