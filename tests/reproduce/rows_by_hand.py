"""Rows of reproductions, written by hand."""

from dlsched.study.rows import Row


def row(
    instance: str,
    method: str,
    objective: float | None = None,
    *,
    family: str = "ring_embedding",
    preset: str = "",
    jobs: int = 10,
    gpus: int = 64,
    seed: int = 0,
    status: str = "feasible",
    **more: object,
) -> Row:
    """Return a row; further columns by name."""
    key = f"{instance} {method} {seed}"
    return Row(key, instance, family, "generate", preset, jobs, gpus, seed, method, status, objective, **more)  # type: ignore[arg-type]
