"""Small instances that are hard on floats: late clocks, ties, and magnitudes that differ by a thousand million."""

import numpy as np
from nasty import POWERS

from dlsched.srpt_mapping.instance import RANGES, Instance


def nasty(generator: np.random.Generator, begun: bool = False) -> Instance:
    """Draw one to four jobs on one to three servers of one to three GPUs.

    Clocks from 0, at a Unix time, at a million, and with jobs far apart; seconds, bytes, bandwidths and iterations from 1e-12
    to 1e12, alike or within a thousand million of each other; whole numbers with ties, thirds, neighbours in floating point;
    identical jobs; rarely a job larger than the cluster. With ``begun`` the first jobs that fit together run already.
    """
    pick = generator.choice
    sizes = [int(pick(RANGES["servers[].gpus"].nasty)) for _ in range(int(pick([1, 2, 2, 3])))]
    seconds = 10.0 ** float(pick([0, 0, 0, -3, 3, *POWERS]))
    sent = 10.0 ** float(pick([0, 0, *POWERS, 9])) * seconds
    spread = float(pick([1.0, 1.0, 1e3, 1e9]))  # of the magnitudes within the instance
    inside = 10.0 ** float(pick([0, 0, 3, -3, 9])) * float(pick([1.0, 3.0]))
    nic = inside * 10.0 ** float(pick([-1, -1, 0, -9, POWERS[1]]))
    clock = float(pick([0.0, 0.0, 1.7e9, 1.7e9 + 0.3, 1e6, 1e15]))
    apart = float(pick([1.0, 1.0, 10.0, 1e9])) * seconds

    def number(scale: float) -> float:
        value = float(pick([1.0, 2.0, 1 / 3, generator.uniform(0.1, 3), np.nextafter(1.0, 2.0)]))
        return value * scale * float(pick([1.0, 1.0, spread, 1 / spread]))

    def stage(replicas: int, last: bool) -> dict[str, float]:
        exchanged = generator.random() < 0.6
        return {
            "replicas": replicas,
            "compute_s": number(seconds),
            "output_bytes": number(sent) if exchanged and not last else 0.0,
            "parameter_bytes": number(sent) if exchanged else 0.0,
        }

    def job() -> dict[str, object]:
        left, replicas = int(generator.integers(1, sum(sizes) + 1 if generator.random() < 0.5 else 3)), []
        left = min(left, sum(sizes), 4)
        while left and len(replicas) < 3:
            replicas.append(int(generator.integers(1, left + 1)))
            left -= replicas[-1]
        iterations = float(
            pick([1.0, 1.0, 2.0, generator.uniform(1, 9), 1e6, 1e12 if generator.random() < 0.2 else 3.0])
        )
        made: dict[str, object] = {
            "release_s": clock + apart * float(pick([0.0, 0.0, 1.0, 2.0, generator.uniform(0, 5)])),
            "iterations": iterations,
            "stages": [stage(each, index + 1 == len(replicas)) for index, each in enumerate(replicas)],
        }
        if generator.random() < 0.3:
            made["predicted_iterations"] = iterations * float(pick([0.5, 2.0, 1e-6, 1e6]))
        return made

    jobs = [job() for _ in range(int(pick([1, 2, 3, 3, 4])))]
    if generator.random() < 0.1:
        jobs = [jobs[0]] * len(jobs)
    if generator.random() < 0.02:
        jobs[0]["stages"] = [stage(sum(sizes) + 1, last=True)]
    if begun:
        jobs = _running(generator, jobs, sizes)
    return Instance(
        name="nasty",
        intra_bandwidth_bytes_per_s=inside,
        nic_bandwidth_bytes_per_s=nic,
        servers=[{"id": f"s{index}", "gpus": size} for index, size in enumerate(sizes)],
        jobs=[{"id": f"j{index}", **each} for index, each in enumerate(jobs)],
    )


def _running(generator, jobs, sizes):
    """Release the jobs that fit together at the earliest time, each replica on any server that has room."""
    earliest = min(job["release_s"] for job in jobs)
    room = [server for server, size in enumerate(sizes) for _ in range(size)]
    generator.shuffle(room)
    made = []
    for job in jobs:
        replicas = [stage["replicas"] for stage in job["stages"]]
        if sum(replicas) > len(room):
            made.append(job)
            continue
        placed = []
        for stage, count in enumerate(replicas):
            held = [room.pop() for _ in range(count)]
            placed += [
                {"stage": stage, "server": f"s{server}", "replicas": held.count(server)} for server in sorted(set(held))
            ]
        made.append(job | {"release_s": earliest, "begun": placed})
    return made
