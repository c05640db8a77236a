"""Random gangs on small clusters: ties on even seeds, floats on odd ones."""

import random

from dlsched.srpt_mapping.instance import Instance


def draw(seed):
    """One to six jobs on one to three servers of one to four GPUs; ties on even seeds, floats on odd ones."""
    rng = random.Random(seed)
    whole = seed % 2 == 0
    number = rng.randint(1, 3)
    sizes = [rng.randint(1, 4)] * number if rng.random() < 0.5 else [rng.randint(1, 4) for _ in range(number)]
    count = rng.randint(1, 6)
    larger = seed % 20 == 9
    jobs = [job(rng, sum(sizes), whole) for _ in range(count)]
    if seed % 7 == 0:
        jobs = [jobs[0]] * count
    if larger:
        jobs[0] = jobs[0] | {"stages": [stage(rng, sum(sizes) + 1, whole, last=True)]}
    inside, nic = rng.choice(
        [(16.0, 4.0), (8.0, 8.0), (64.0, 1.0), (1.0, 8.0), (rng.uniform(5, 30), rng.uniform(1, 5))]
    )
    return Instance(
        name=f"drawn-{seed}",
        intra_bandwidth_bytes_per_s=inside,
        nic_bandwidth_bytes_per_s=nic,
        servers=[{"id": f"s{index}", "gpus": size} for index, size in enumerate(sizes)],
        jobs=[{"id": f"j{index}", **each} for index, each in enumerate(jobs)],
    )


def stage(rng, replicas, whole, *, last):
    """Seconds and bytes of a stage; a third sends nothing."""
    sends = rng.random() < 0.67
    return {
        "replicas": replicas,
        "compute_s": rng.choice([0.5, 1.0, 2.0]) if whole else rng.uniform(0.2, 3),
        "output_bytes": 0.0 if last or not sends else rng.choice([1.0, 8.0]) if whole else rng.uniform(0, 12),
        "parameter_bytes": 0.0 if not sends else rng.choice([2.0, 8.0]) if whole else rng.uniform(0, 12),
    }


def job(rng, total, whole):
    """One to three stages of at most six GPUs; some predictions are wrong."""
    gpus = rng.randint(1, min(total, 6))
    replicas = []
    while gpus and len(replicas) < 3:
        replicas.append(rng.randint(1, gpus))
        gpus -= replicas[-1]
    stages = [stage(rng, each, whole, last=index + 1 == len(replicas)) for index, each in enumerate(replicas)]
    iterations = float(rng.randint(1, 6)) if whole else rng.uniform(1, 9)
    drawn = {"release_s": float(rng.randint(0, 8)) if whole else rng.uniform(0, 12), "iterations": iterations}
    if rng.random() < 0.3:
        drawn["release_s"] = 0.0
    if rng.random() < 0.5:
        drawn["predicted_iterations"] = iterations * rng.uniform(0.3, 3)
    return drawn | {"stages": stages}
