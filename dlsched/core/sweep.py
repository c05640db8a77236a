"""Capacity over time: a sweep over the changes of a resource's use finds the first excess."""

from collections.abc import Sequence


def first_excess(changes: Sequence[tuple[float, int, float]], capacity: int) -> tuple[int, float, float] | None:
    """Return peak, start and end of the first period with a use above ``capacity``; None: there is none.

    ``changes``: time, change, and the time to report; sorted, with releases before acquisitions at the same
    time.

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
