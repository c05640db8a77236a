"""The line of jobs is the greedy pass over all of them, event by event."""

import numpy as np
import pytest

from dlsched.algorithms.overtaking import Line


def greedy_pass(entries, units):
    """Jobs that run: in order of their keys, each takes its size if as many units are left."""
    running = set()
    for _, job, size in sorted(entries):
        if size <= units:
            units -= size
            running.add(job)
    return running


@pytest.mark.parametrize("seed", range(30))
def test_the_line_is_the_greedy_pass(seed):
    """Jobs with drawn keys and sizes come and go; after every event the same ones run."""
    generator = np.random.default_rng(seed)
    units = int(generator.integers(4, 12))
    line, present, running = Line(units), {}, set()
    for job in range(60):
        line.begin()
        ended = [each for each in sorted(running) if generator.random() < 0.2]
        line.fill(line.end(ended))
        arrived = float(generator.integers(0, 9)), job, int(generator.integers(1, units + 1))
        line.arrive(arrived)
        for entry in line.stopped:
            line.wait(entry)
        for each in ended:
            del present[each]
        present[job] = arrived
        running = (running - set(ended) - {each for each, held in line.changes.items() if not held}) | {
            each for each, held in line.changes.items() if held
        }
        assert running == greedy_pass(present.values(), units)
