"""Resources over time: whether more is held than there is, found by a sweep over the moments at which it changes."""

from collections.abc import Sequence


def first_excess(changes: Sequence[tuple[float, int, float]], capacity: int) -> tuple[int, float, float] | None:
    """Most that is held, start and end of the first time in which more is held than ``capacity``; None if there is none.

    ``changes``: when, by how much, and the time that is reported; in order, what is released before what is taken.

    >>> first_excess([(0.0, 2, 0.0), (1.0, 1, 1.0), (3.0, -2, 3.0), (4.0, -1, 4.0)], 2)
    (3, 1.0, 3.0)
    """
    held, most, since_s = 0, 0, 0.0
    for _, change, time_s in changes:
        before, held = held, held + change
        if before <= capacity < held:
            since_s = time_s
        most = max(most, held)
        if held <= capacity < before:
            return most, since_s, time_s
    return None
