"""Every policy fresh, and streams written out by hand or drawn with many ties."""

import numpy as np

from dlsched.elastic_stream import Instance
from dlsched.elastic_stream.policies import (
    ORDERS,
    Doubling,
    EqualShare,
    Exploratory,
    Fastest,
    Fixed,
    Knee,
    Marginal,
    Myopic,
    Priced,
    Queue,
    Weighted,
)

SIZES = {"fixed": Fixed(2), "fastest": Fastest(), "knee": Knee()}
POLICIES = {
    "doubling": Doubling,
    "myopic": Myopic,
    "weighted": Weighted,
    "priced": Priced,
    "exploratory": lambda: Exploratory((1, 2, 4), 7.0),
    **{f"{order}-equal": lambda order=order: EqualShare(order) for order in ORDERS},
    **{f"{order}-marginal": lambda order=order: Marginal(order) for order in ORDERS},
    **{
        f"{order}-{name}": lambda order=order, size=size: Queue(order, size)
        for order in ORDERS
        for name, size in SIZES.items()
    },
}


VAST = {"theta": [1e-3, 0.0, 0.0, 1.0], "samples": 50_000.0, "model_bytes": 0.0}
"""A law that never gets worse: 50 / w + 1 s."""


def stream(*jobs, units=4, **fields):
    """An instance; each job is its arrival, epochs, times by count or law, and further fields."""
    drawn = []
    for index, (arrival, epochs, times, further) in enumerate((*job, {})[:4] for job in jobs):
        speed = {"speed_law" if "theta" in times else "epoch_time_s": times}
        drawn.append({"id": f"j{index}", "arrival_s": arrival, "epochs": epochs, **speed, **further})
    return Instance(name="by hand", units=units, jobs=drawn, **fields)


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
