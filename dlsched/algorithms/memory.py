"""How much memory an algorithm of this package may take: a quarter of the machine's, and at most 1 GiB.

An algorithm that would need more raises ``MemoryError`` first; ``Family.solve`` then ends with
``memory_limit``.
"""

import os

_GIB = 2**30


def _physical_bytes() -> int:
    """Return this machine's memory; if the system does not tell, four times the largest allowance."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 4 * _GIB


ALLOWED_BYTES = min(_GIB, _physical_bytes() // 4)
"""Bytes that one run of an algorithm may hold besides its cost table."""


def require_memory(needed: int, what: str) -> None:
    """Refuse to begin a computation that needs more than ``ALLOWED_BYTES``.

    Raises
    ------
    MemoryError
        The computation needs more; the message says how much.
    """
    if needed > ALLOWED_BYTES:
        raise MemoryError(f"{what}: needs {needed / _GIB:.1f} GiB, allowed: {ALLOWED_BYTES / _GIB:.1f} GiB")
