"""The space in which ``dlsched worst prism`` searches: models of the task's ranges."""

from dataclasses import replace

import numpy as np

from dlsched.families import FAMILIES
from dlsched.worst import spaces
from dlsched.worst.spaces import Data, Number, Space

RANGES = {"size_gb": (10, 29), "requests_per_s": (1, 9), "slo": (5, 9)}
GPUS, MOST_MODELS = 3, 6


def space_of(*, jobs: int | None = None, gpus: int | None = None, preset: str | None = None) -> Space:
    """Return the space of 2 to 6 models, or ``jobs``, on 3 GPUs of 80 GB, or ``gpus``; ``drawn`` is the one preset."""
    spaces.require_sizes(jobs=jobs, gpus=gpus)
    spaces.require_one_of("preset", preset, (None, "drawn"))
    total, counts = gpus or GPUS, [jobs] if jobs else list(range(2, MOST_MODELS + 1))
    lows, highs = np.array(list(RANGES.values())).T

    def draw_jobs(generator: np.random.Generator, many: int, kind: str | None) -> list[Data]:
        del kind
        rows = generator.integers(lows, highs + 1, (many, len(RANGES))).tolist()
        return [dict(zip(RANGES, map(float, row), strict=True)) for row in rows]

    space = spaces.space_of_jobs(
        FAMILIES["prism"],
        {"format": "dlsched/prism/1", "name": "worst", "gpus": total, "memory_gb": 80.0},
        jobs=counts,
        preset=preset,
        draw_jobs=draw_jobs,
        repair_jobs=lambda models: models,
        words=f"{spaces.sizes_said(counts[-1], total)} of 80 GB, whole numbers of the task's ranges",
        wider=["--jobs", "--gpus"],
        numbers=[Number(f"jobs[].{field}", low, high, whole=True) for field, (low, high) in RANGES.items()],
    )
    return replace(space, presets={})
