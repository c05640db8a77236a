"""Instances of prism: the example, the fifty of the task, and random ones like them."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from dlsched.core.arguments import require_arguments
from dlsched.core.errors import UsageError
from prism.instance import Instance

PRESETS = {
    "drawn": "like the task's: two models a GPU of 80 GB, 10 to 29 GB, 1 to 9 requests a second, targets from 5 to 9",
    "task": "the instance of the task Prism whose number, from 0 to 49, is the seed",
}


@cache
def task() -> dict[str, Any]:
    """Return the data of the fifty, as the package carries them."""
    data: dict[str, Any] = json.loads((files("prism") / "instances.json").read_text(encoding="utf-8"))
    return data


def example() -> Instance:
    """Four models on two GPUs of 80 GB; the optimum, 1/40, puts ``a`` alone."""
    fields = ("id", "size_gb", "requests_per_s", "slo")
    rows = (("a", 40.0, 8.0, 8.0), ("b", 20.0, 2.0, 8.0), ("c", 10.0, 2.0, 8.0), ("d", 10.0, 4.0, 8.0))
    return Instance(
        name="four-models", gpus=2, memory_gb=80.0, jobs=[dict(zip(fields, row, strict=True)) for row in rows]
    )


def generate(*, preset: str = "drawn", jobs: int | None = None, gpus: int | None = None, seed: int = 0) -> Instance:
    """Draw an instance (16 models unless ``jobs`` says otherwise); the same arguments give the same one."""
    require_arguments(PRESETS, preset, seed, jobs=jobs, gpus=gpus)
    if preset == "task":
        if jobs is not None or gpus is not None or seed >= len(task()["instances"]):
            raise UsageError(where="preset task", found="jobs, gpus or seed", allowed="a seed from 0 to 49 alone")
        entry, name = task()["instances"][seed], f"prism-{seed}"
        return _instance(name, entry["gpus"], entry["models"], task()["source"])
    jobs = 16 if jobs is None else jobs
    numbers = np.random.default_rng(seed).integers([10, 1, 5], [30, 10, 10], (jobs, 3)).tolist()
    return _instance(f"{preset}-{jobs}-seed{seed}", gpus or max(1, jobs // 2), numbers, None)


def _instance(name: str, gpus: int, rows: list[list[int]], source: str | None) -> Instance:
    models = [
        {"id": f"model_{n}", "size_gb": float(size), "requests_per_s": float(requests), "slo": float(slo)}
        for n, (size, requests, slo) in enumerate(rows)
    ]
    return Instance(name=name, source=source, gpus=gpus, memory_gb=float(task()["memory_gb"]), jobs=models)
