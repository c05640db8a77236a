"""Every way to give each job one of its counts within a capacity, for brute force."""

from collections.abc import Iterator, Sequence


def fitting(allowed: Sequence[Sequence[int]], capacity: int) -> Iterator[tuple[int, ...]]:
    """Yield every choice of one allowed number (given ascending) each whose sum fits, in lexicographic order.

    >>> list(fitting([(1, 2), (1, 2, 4)], 4))
    [(1, 1), (1, 2), (2, 1), (2, 2)]
    """
    if not allowed:
        yield ()
        return
    reserve = sum(counts[0] for counts in allowed[1:])  # prefixes without room for the rest are dropped
    for count in allowed[0]:
        if count + reserve > capacity:
            return
        for rest in fitting(allowed[1:], capacity - count):
            yield count, *rest
