"""Seconds that one all-reduce of n bytes takes on w GPUs, for the ring and for recursive halving and doubling.

=========================  =====================================================================
code                       mathematics
=========================  =====================================================================
``gpus``                   w >= 1
``size_bytes``             n >= 0, or an array of them
``link``                   alpha, beta, gamma: latency, transfer and reduction times
``ring``                   2 (w-1) alpha + 2 (w-1)/w n beta + (w-1)/w n gamma
``halving_doubling``       w = 2^k: 2 k alpha + 2 (w-1)/w n beta + (w-1)/w n gamma
``halving_doubling``       otherwise: (2 floor(log2 w) + 3) alpha + 4 n beta + 3/2 n gamma
=========================  =====================================================================

Both are 0 on one GPU. Source: Thakur, Rabenseifner, Gropp 2005, "Optimization of collective communication operations
in MPICH", Int. J. High Performance Computing Applications 19(1).
"""

import math
from dataclasses import dataclass, fields
from operator import index

from dlsched.core.elementary import FloatsT


@dataclass(frozen=True, slots=True)
class Link:
    """Cost of a message between any two GPUs; all links are equal; immutable.

    ``latency_s``: alpha, seconds per message. ``transfer_s_per_byte``: beta, the reciprocal of the bandwidth.
    ``reduction_s_per_byte``: gamma, seconds to add one byte to another. ValueError: a field is negative or not finite.
    """

    latency_s: float
    transfer_s_per_byte: float
    reduction_s_per_byte: float

    def __post_init__(self) -> None:
        for field in fields(self):
            _refuse_unless_non_negative(field.name, getattr(self, field.name))


def ring(gpus: int, size_bytes: FloatsT, link: Link) -> FloatsT:
    """Seconds of a ring all-reduce: w - 1 steps of reduce-scatter, then w - 1 of all-gather, n / w bytes each.

    Raises
    ------
    ValueError
        ``gpus`` < 1, or ``size_bytes`` negative or not finite.

    >>> ring(4, 100.0, Link(latency_s=1.0, transfer_s_per_byte=0.5, reduction_s_per_byte=0.25))
    99.75
    """
    gpus = _checked(gpus, size_bytes)
    return 2 * (gpus - 1) * link.latency_s + _moving_s(gpus, size_bytes, link)


def halving_doubling(gpus: int, size_bytes: FloatsT, link: Link) -> FloatsT:
    """Seconds of an all-reduce by recursive halving and doubling; they jump as ``gpus`` grows.

    If ``gpus`` is not a power of two, the surplus GPUs first add their data to those of the others and
    receive the result at the end. So 9 GPUs need more time than 16.

    Raises
    ------
    ValueError
        ``gpus`` < 1, or ``size_bytes`` negative or not finite.

    >>> link = Link(latency_s=1.0, transfer_s_per_byte=0.5, reduction_s_per_byte=0.25)
    >>> [halving_doubling(gpus, 64.0, link) for gpus in (8, 9, 16)]
    [76.0, 161.0, 83.0]
    """
    gpus = _checked(gpus, size_bytes)
    log2 = gpus.bit_length() - 1
    if gpus == 1 << log2:
        return 2 * log2 * link.latency_s + _moving_s(gpus, size_bytes, link)
    per_byte = 4 * link.transfer_s_per_byte + 1.5 * link.reduction_s_per_byte
    return (2 * log2 + 3) * link.latency_s + size_bytes * per_byte


def _moving_s(gpus: int, size_bytes: FloatsT, link: Link) -> FloatsT:
    """Seconds without the latencies, the same for both algorithms: (w-1)/w n (2 beta + gamma)."""
    return (gpus - 1) / gpus * size_bytes * (2 * link.transfer_s_per_byte + link.reduction_s_per_byte)


def _checked(gpus: int, size_bytes: FloatsT) -> int:
    if index(gpus) < 1:
        raise ValueError(f"gpus is {gpus}, must be at least 1")
    _refuse_unless_non_negative("size_bytes", size_bytes)
    return index(gpus)


def _refuse_unless_non_negative(name: str, value: FloatsT) -> None:
    least, most = (value, value) if isinstance(value, float | int) else (value.min(), value.max())
    if not 0 <= least <= most < math.inf:
        raise ValueError(f"{name} is {value}, must be finite and >= 0")
