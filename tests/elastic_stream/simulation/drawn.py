"""Streams with many ties: few different times, pauses, weights, early ends, jobs without work."""

import numpy as np

from dlsched.elastic_stream import Instance


def drawn(seed, jobs=40, **fields):
    """A stream of a seed; ``fields`` of all jobs."""
    generator = np.random.default_rng(seed)
    units = int(generator.choice([1, 3, 8, 16]))
    records = []
    for index in range(jobs):
        counts = sorted({int(count) for count in generator.integers(1, units + 1, size=3)})
        time_s, times = float(generator.integers(4, 12)), {}
        for count in counts:
            times[count], time_s = time_s, time_s * float(generator.choice([0.5, 0.75, 1.0, 1.25]))
        record = {
            "id": f"j{index}",
            "arrival_s": float(generator.integers(0, 3 * jobs)),
            "epochs": float(generator.integers(0, 6)),
            "epoch_time_s": times,
            "restart_s": float(generator.integers(0, 4)) if seed % 2 else 0.0,
            "weight": float(generator.choice([0.5, 1.0, 2.0])) if seed % 3 == 0 else 1.0,
            "stops_at": float(generator.choice([0.3, 1.0])) if seed % 4 == 1 else 1.0,
        }
        records.append(record | fields)
    return Instance(name="drawn", units=units, jobs=records)
