"""Search space of worst instances of async_sgd: batches, and seconds of computing, updates and transfers.

A job of N batches has one epoch of N examples; its one server has full-duplex links of 1 GB/s, so 1e9 bytes
take a second. Times are up to 10 s, those of updates and transfers 0 or at least 10 ms, batches up to 1000:
beyond that ratios hardly grow. They do grow with nodes and jobs: if nodes are short, ``equal`` and ``knee``
give each of J jobs the same number, and if one job has all the work and perfect speed, they take (N - J + 1)
/ floor(N / J) times the optimum, J times in the limit. ``fixed`` has no answer if its counts do not fit.
"""

import numpy as np

from dlsched.async_sgd.instance import RANGES
from dlsched.core.elementary import four_digits, log_uniform
from dlsched.core.ranges import Ends
from dlsched.families import FAMILIES
from dlsched.worst import spaces
from dlsched.worst.spaces import Data, Space

NODES = 16
_KEYS = ("dataset_examples", "compute_s", "update_s", "parameter_bytes")
BATCHES, COMPUTE_S, UPDATE_S, BYTES = (RANGES[f"jobs[].{name}"].searched for name in _KEYS)
ONE_BATCH, _ = RANGES["jobs[].batch_examples"].searched
BANDWIDTH, _ = RANGES["jobs[].bandwidth_bytes_per_s"].searched
_LEAST_S = 0.01  # of an update or transfer that takes time


def space_of(*, jobs: int | None = None, gpus: int | None = None, preset: str | None = None) -> Space:
    """Return the space of 2 to 4 jobs, or ``jobs``, on ``gpus`` nodes.

    Numbers are log-uniform, and a quarter of updates and transfers 0. Jobs of a ``preset`` keep times and
    batches, scaled so that the longest times take 10 s and the most batches are 1000.
    """
    spaces.require_sizes(jobs=jobs, gpus=gpus)
    family = FAMILIES["async_sgd"]
    spaces.require_one_of("preset", preset, (None, *family.presets))
    total = gpus or NODES
    drawn = spaces.jobs_drawn(jobs, total)

    def draw_jobs(generator: np.random.Generator, many: int, kind: str | None) -> list[Data]:
        if kind is None:
            return [_drawn(generator) for _ in range(many)]
        instance = family.generate(preset=kind, jobs=many, nodes=total, seed=int(generator.integers(2**31)))
        return _scaled([(job.batches, job.compute_s, job.update_s, job.transfer_s) for job in instance.jobs])

    return spaces.space_of_jobs(
        family,
        {"format": "dlsched/async_sgd/1", "name": "worst", "nodes": total},
        jobs=drawn,
        preset=preset,
        draw_jobs=draw_jobs,
        repair_jobs=lambda held: [_job(*(float(job[key]) for key in _KEYS)) for job in held],
        words=f"{spaces.sizes_said(drawn[-1], total, 'node')}, one full-duplex server of 1 GB/s a job, "
        f"up to {BATCHES[1]:g} batches, up to {COMPUTE_S[1]:g} s a batch, an update or a transfer",
        wider=["--jobs", "--gpus"],
        numbers=spaces.searched(
            RANGES, "jobs[].compute_s", "jobs[].update_s", "jobs[].parameter_bytes", whole=["jobs[].dataset_examples"]
        ),
    )


def _job(batches: float, compute_s: float, update_s: float, moved_bytes: float) -> Data:
    """Make a job, with its numbers clipped to their ranges."""
    return {
        "epochs": 1.0,
        "dataset_examples": float(round(_within(batches, BATCHES))),
        "batch_examples": ONE_BATCH,
        "parameter_bytes": _within(moved_bytes, BYTES, _LEAST_S * BANDWIDTH),
        "bandwidth_bytes_per_s": BANDWIDTH,
        "compute_s": _within(compute_s, COMPUTE_S),
        "update_s": _within(update_s, UPDATE_S, _LEAST_S),
    }


def _within(value: float, ends: Ends, least: float = 0.0) -> float:
    """Clip a value to a range; a value nearer to 0 than to the least nonzero one becomes 0."""
    return 0.0 if value < least / 2 else min(max(value, ends[0], least), ends[1])


def _drawn(generator: np.random.Generator) -> Data:
    batches, compute_s = log_uniform(generator, *BATCHES), log_uniform(generator, *COMPUTE_S)
    update_s, transfer_s = (
        0.0 if generator.random() < 0.25 else log_uniform(generator, _LEAST_S, UPDATE_S[1]) for _ in range(2)
    )
    return _job(batches, four_digits(compute_s), four_digits(update_s), four_digits(transfer_s * BANDWIDTH))


def _scaled(jobs: list[tuple[float, float, float, float]]) -> list[Data]:
    """Make jobs of (batches, compute, update and transfer seconds), with the largest scaled to the range's end."""
    # one factor for all jobs, so that their proportions stay
    batches = BATCHES[1] / max(job[0] for job in jobs)
    seconds = COMPUTE_S[1] / max(max(job[1:]) for job in jobs)
    return [
        _job(
            job[0] * batches,
            four_digits(job[1] * seconds),
            four_digits(job[2] * seconds),
            four_digits(job[3] * seconds * BANDWIDTH),
        )
        for job in jobs
    ]
