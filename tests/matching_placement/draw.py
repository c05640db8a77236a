"""Random instances for tests, from a seed; another way than the package's generator."""

import numpy as np

from dlsched.matching_placement.instance import Instance


def draw(seed, *, types, each, jobs, exchange=True, most=None, able=0.9):
    """``types`` types of ``each`` workers, the first of which can serve every job."""
    rng = np.random.default_rng(seed)
    bandwidth = rng.choice([1.25e9, 3e9, 6e9], types).tolist()
    base = np.sort(rng.uniform(50, 500, types))
    return Instance(
        name=f"drawn-{seed}",
        workers=[
            {"id": f"w{kind}-{index}", "type": f"t{kind}", "bandwidth_bytes_per_s": bandwidth[kind]}
            for kind in range(types)
            for index in range(each)
        ],
        jobs=[
            {
                "id": f"j{job}",
                "iterations": float(rng.integers(1000, 20000)),
                "batch_samples": 256,
                "gradient_bytes": float(rng.uniform(1e7, 1e9)) if exchange else 0.0,
                "samples_per_s": {
                    f"t{kind}": float(base[kind] * rng.uniform(0.6, 1.4))
                    for kind in range(types)
                    if kind == 0 or rng.random() < able
                },
                **({} if most is None else {"max_workers": most}),
            }
            for job in range(jobs)
        ],
    )


def entry(rates, samples=1.0, *, iterations=1, gradient=0.0, **more):
    """A job as files hold it, by its rates and the samples of an iteration."""
    fields = {"iterations": iterations, "batch_samples": samples, "gradient_bytes": gradient, "samples_per_s": rates}
    return fields | more


def made(workers, *jobs, bandwidth=None, **aim):
    """Workers by their types, w0, w1 .. or as {id: type}; jobs a, b ..; ``bandwidth`` of the types, 1 where it is not given."""
    named = workers if isinstance(workers, dict) else {f"w{place}": kind for place, kind in enumerate(workers)}
    return Instance(
        name="made",
        workers=[
            {"id": name, "type": kind, "bandwidth_bytes_per_s": (bandwidth or {}).get(kind, 1.0)}
            for name, kind in named.items()
        ],
        jobs=[{"id": f"j{place}" if place > 7 else "abcdefgh"[place]} | each for place, each in enumerate(jobs)],
        **aim,
    )


def fields_of(instance):
    """The fields of an instance as a file holds them, to be changed."""
    return {name: value for name, value in instance.as_data().items() if name != "format"}
