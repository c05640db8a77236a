"""Instances of one slot from a seed, with servers so small and links so thin that rings compete for them."""

import random

from dlsched.ring_embedding.instance import Instance

from .networks import any_forest, any_graph, any_paths


def one_slot(seed, *, forest):
    """Three to five servers, three or four jobs of up to four workers; a forest, or a graph with a path for most pairs."""
    rng = random.Random(seed)
    names = [f"s{index}" for index in range(rng.choice([4, 4, 5] if forest else [3, 4, 4]))]
    servers = [{"id": name, "capacity": {"gpu": rng.choice([1, 1, 1, 2])}} for name in names]
    others, pairs = any_forest(rng, names) if forest else any_graph(rng, names)
    links = [{"ends": pair, "bandwidth_bytes_per_s": rng.choice([1.0, 1.0, 1.5, 2.5])} for pair in pairs]
    return Instance(
        name=f"seed-{seed}",
        slots=1,
        nodes=servers + [{"id": name} for name in others],
        links=links,
        paths=None if forest else any_paths(rng, names, pairs),
        jobs=[_job(rng, index) for index in range(rng.choice([3, 3, 4]))],
    )


def _job(rng, index):
    workers = rng.choice([2, 3, 4])
    height = rng.choice([1.0, 2.0, 5.0, round(rng.uniform(1, 9), 2)])
    utility = rng.choice(
        [
            {"kind": "sqrt", "scale": height},
            {"kind": "log", "scale": height},
            {"kind": "capped", "slope": height, "cap": 2.5 * height},
            {
                "kind": "sigmoid",
                "height": height,
                "steepness": rng.choice([1.0, 4.0]),
                "midpoint": rng.choice([0, 1, 2]),
            },
        ]
    )
    return {
        "id": f"j{index}",
        "max_workers": workers,
        "demand": {"gpu": rng.choice([1, 1, 0.5, 0.5, 0.7])},
        "bandwidth_bytes_per_s": rng.choice([0.0, 1.0, 1.0, 1.5, 0.8, round(rng.uniform(0.3, 2), 3)]),
        "rate": 1.0,
        "utility": utility,
    }
