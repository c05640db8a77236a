"""Serial schedules by hand: gaps are used, units are never taken twice, and jobs of no length get a time of their own."""

import itertools
import random

import pytest

from dlsched.algorithms.serial_schedule import earliest_starts


def test_a_short_job_fits_in_front():
    """The second waits for the first; the third, which is later in the order, runs before it ends."""
    assert earliest_starts([2], [(0.0, 2.0, [1]), (0.0, 3.0, [2]), (0.0, 2.0, [1])]) == [0.0, 2.0, 0.0]


def test_a_job_of_no_length_waits_for_its_units():
    """It does not run across another, and takes nothing from the next."""
    assert earliest_starts([1], [(0.0, 2.0, [1]), (1.0, 0.0, [1]), (1.0, 1.0, [1])]) == [0.0, 2.0, 2.0]


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_overfull_and_no_job_could_start_sooner(seed):
    """Whole times: at every moment units are enough, and every earlier start would break that."""
    rng = random.Random(seed)
    sizes = [rng.randint(1, 3) for _ in range(2)]
    jobs = [(float(rng.randint(0, 6)), float(rng.randint(1, 4)), [rng.randint(0, n) for n in sizes]) for _ in range(7)]
    starts = earliest_starts(sizes, jobs)

    def free(count, start_s):
        """Whether the job of that number could run from there, beside those before it."""
        _, length_s, usage = jobs[count]
        return all(
            usage[m] + sum(other[2][m] for other, s in zip(jobs[:count], starts, strict=False) if s <= t < s + other[1])
            <= sizes[m]
            for m, t in itertools.product(range(2), range(int(start_s), int(start_s + length_s)))
        )

    for count, (release_s, _, _) in enumerate(jobs):
        assert free(count, starts[count])
        assert not any(free(count, t) for t in range(int(release_s), int(starts[count])))
