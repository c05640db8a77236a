"""Moves and simplifications of tables, by hand."""

import numpy as np

from dlsched.worst.space import Data
from dlsched.worst.spaces import holds, projected, table_of
from dlsched.worst.spaces.table_moves import alike, simpler_tables, table_moves


def of_times(*jobs: list[float]) -> Data:
    """Jobs with these times on 1, 2, 4, ... GPUs."""
    return {"jobs": [{"epoch_time_s": {str(2**place): time for place, time in enumerate(times)}} for times in jobs]}


def test_shapes_that_moves_make() -> None:
    """Of 8, 7, 4 s: a plateau, perfect speed; a count more or less; nothing else is touched."""
    generator = np.random.default_rng(0)
    met = set()
    for move in table_moves([1, 2, 4, 8]):
        for _ in range(40):
            changed = move(of_times([8.0, 7.0, 4.0]), generator)
            if changed is not None:
                met.add(tuple(table_of(changed["jobs"][0]).values()))
    assert {(8, 8, 8), (8, 8, 4), (8, 4, 2), (8, 7, 3.5), (8, 4, 4), (8, 7), (8, 7, 4, 4)} <= met


def test_lines_are_exact() -> None:
    """Gains per GPU that are all alike, in rational numbers: so a table stays in its class, and steps of a hull merge.

    Of 47.3, 40.1, 38.9, 36.7 and 28.3 s on 1, 2, 4, 8 and 16 GPUs the line from end to end falls by 19/15 s: to three binary
    digits behind the first 1.25 s, to 28.25 s at the end.
    """
    generator = np.random.default_rng(0)
    counts = [1, 2, 4, 8, 16]
    met = set()
    for move in table_moves(counts):
        for _ in range(100):
            changed = move(of_times([47.3, 40.1, 38.9, 36.7, 28.3]), generator)
            if changed is not None:
                met.add(tuple(table_of(changed["jobs"][0]).values()))
    line = tuple(28.25 + 1.25 * (16 - count) for count in counts)
    assert line in met
    table = dict(zip(counts, line, strict=True))
    assert holds("convex", table) and projected("convex", table, 1.0, 1000.0) == table


def test_a_job_is_made_like_another() -> None:
    """Times of the other times one factor."""
    changed = alike(of_times([8.0, 4.0], [5.0]), np.random.default_rng(0))
    assert changed is not None
    a, b = (list(table_of(job).values()) for job in changed["jobs"])
    assert (len(a), len(b)) in {(1, 1), (2, 2)}
    assert max(a) / max(b) in {0.1, 0.5, 0.99, 1 / 0.99, 1.01, 1 / 1.01, 2.0, 10.0}


def test_simpler_tables_have_less_to_read() -> None:
    """Fewer counts, equal times, fewer digits, other scales; a table of one digit and count is as simple as can be."""
    simpler = simpler_tables(lambda data: data)
    found = {tuple(table_of(data["jobs"][0]).values()) for data in simpler(of_times([80.0, 41.7]))}
    assert {(80.0,), (80.0, 80.0), (80.0, 40.0), (80.0, 42.0), (80.0, 41.0), (100.0, 50.0)} <= found
    assert simpler(of_times([5.0])) == []
