"""Memory limit of an algorithm of this package: a quarter of the machine's, and at most 1 GiB.

An algorithm that would need more raises ``MemoryError`` first; ``Family.solve`` then ends with
``memory_limit``.
"""

import os

_GIB = 2**30


def _physical_bytes() -> int:
    """Return this machine's memory; if the system does not report it, four times the largest allowance."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 4 * _GIB


ALLOWED_BYTES = min(_GIB, _physical_bytes() // 4)
"""Bytes that one run of an algorithm may hold besides its cost table."""


def require_memory(needed: int, what: str) -> None:
    """Raise ``MemoryError``, with the size, before a computation that needs more than ``ALLOWED_BYTES``."""
    if needed > ALLOWED_BYTES:
        raise MemoryError(f"{what}: needs {needed / _GIB:.1f} GiB, allowed: {ALLOWED_BYTES / _GIB:.1f} GiB")
