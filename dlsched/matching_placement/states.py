"""Dynamic programming over jobs; a state is how many workers of each type are taken.

f_0(0) = 0,  f_i(u) = min over configurations c <= u of f_{i-1}(u - c) + J_i(c);  the optimum is min_u f_S(u).

States: prod_g (s_g + 1). Cost: O(sum_i N_i prod_g (s_g + 1)) additions for N_i configurations of job i, all states of
one configuration at once; memory 8 bytes for each state and job, from which the decisions are read back.
"""

from collections.abc import Callable

import numpy as np

from dlsched.matching_placement.arrays import Arrays, Counts, Floats
from dlsched.matching_placement.configurations import configurations, count_configurations, state_count


def state_bytes(arrays: Arrays) -> int:
    """Bytes that ``solve_by_states`` keeps."""
    return 8 * state_count(arrays) * (arrays.jobs + 1)


def additions(arrays: Arrays, *, most: int | None = None) -> int:
    """Bound on the additions that ``solve_by_states`` makes; where it is above ``most``, maybe only a number above that."""
    states, ways = state_count(arrays), arrays.jobs  # every job that can be served has a configuration
    if most is not None and states * ways > most:
        return states * ways
    ways = 0
    for job in range(arrays.jobs):
        ways += count_configurations(arrays, job)
        if most is not None and states * ways > most:
            break
    return states * ways


def solve_by_states(
    arrays: Arrays, *, step: Callable[[], None], tick: Callable[[], None] | None = None
) -> Counts | None:
    """Return optimal counts, shape (S, G), or None when no placement exists.

    ``step`` is called before every job, ``tick`` before every configuration; both may raise to stop.
    """
    shape = tuple(int(stock) + 1 for stock in arrays.stock)
    least = np.full(shape, np.inf)
    least[(0,) * arrays.types] = 0.0
    layers = [least]
    listed: list[tuple[Counts, Floats]] = []
    for job in range(arrays.jobs):
        step()
        counts = configurations(arrays, job)
        times = arrays.times(job, counts)
        following = np.full(shape, np.inf)
        for row, time in zip(counts.tolist(), times.tolist(), strict=True):
            if tick is not None:
                tick()
            target = following[tuple(slice(count, None) for count in row)]
            source = least[tuple(slice(None, size - count) for size, count in zip(shape, row, strict=True))]
            np.minimum(target, source + time, out=target)
        layers.append(following)
        listed.append((counts, times))
        least = following
    state = np.unravel_index(int(np.argmin(least)), shape)
    if not np.isfinite(least[state]):
        return None
    return _read_back(arrays, layers, listed, np.array(state, dtype=np.int64))


def _read_back(arrays: Arrays, layers: list[Floats], listed: list[tuple[Counts, Floats]], state: Counts) -> Counts:
    chosen = np.zeros((arrays.jobs, arrays.types), dtype=np.int64)
    for job in range(arrays.jobs - 1, -1, -1):
        counts, times = listed[job]
        before = state - counts
        fits = np.flatnonzero((before >= 0).all(axis=1))
        values = layers[job][tuple(before[fits].T)] + times[fits]
        chosen[job] = counts[fits[int(np.argmin(values))]]
        state = state - chosen[job]
    return chosen
