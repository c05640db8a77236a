"""Every configuration of a job, and the dynamic program over all of them (``algorithms.count_vectors``)."""

from collections.abc import Iterator

import numpy as np

from dlsched.algorithms.count_vectors import all_vectors, cheapest_choice, number_of_states, number_of_vectors
from dlsched.core.limits import Tick, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts, Floats


def count_configurations(arrays: Arrays, job: int) -> int:
    """Number of configurations of a job, without listing them; cost O(G max_i)."""
    return number_of_vectors(arrays.stock[arrays.able(job)], int(arrays.least[job]), int(arrays.most[job]))


def configurations(arrays: Arrays, job: int) -> Counts:
    """List the configurations of a job, shape (N, G), in lexicographic order."""
    able = arrays.able(job)
    rows = all_vectors(arrays.stock[able], int(arrays.least[job]), int(arrays.most[job]))
    counts = np.zeros((len(rows), arrays.types), dtype=np.int64)
    counts[:, able] = rows
    return counts


def state_bytes(arrays: Arrays) -> int:
    """Bytes that ``solve_by_states`` keeps."""
    return 8 * number_of_states(arrays.stock) * (arrays.jobs + 1)


def additions(arrays: Arrays, *, most: int | None = None) -> int:
    """Upper bound on the additions of ``solve_by_states``, or any number above ``most`` if it is."""
    states, ways = number_of_states(arrays.stock), arrays.jobs  # every job that can be served has a configuration
    if most is not None and states * ways > most:
        return states * ways
    ways = 0
    for job in range(arrays.jobs):
        ways += count_configurations(arrays, job)
        if most is not None and states * ways > most:
            break
    return states * ways


def solve_by_states(arrays: Arrays, *, step: Tick = no_tick, tick: Tick = no_tick) -> Counts | None:
    """Return optimal counts, shape (S, G), or None when no placement exists.

    ``step`` is called before every job, ``tick`` before every configuration; both may raise to stop.
    """

    def listed() -> Iterator[tuple[Counts, Floats]]:
        for job in range(arrays.jobs):
            step()
            counts = configurations(arrays, job)
            yield counts, arrays.cost(job, counts)

    combine = np.maximum if arrays.bottleneck else np.add
    chosen = cheapest_choice(arrays.stock, listed(), tick=tick, combine=combine)
    return None if chosen is None else np.array(chosen)
