"""Run the command line as a program where the process matters; and the contract's example."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Ended

PROGRAM = [sys.executable, "-m", "dlsched"]


@pytest.fixture
def program() -> Callable[..., Ended]:
    """Run ``python -m dlsched`` in a process of its own."""

    def call(*arguments: object, stdin: str = "", **environment: str) -> Ended:
        ended = subprocess.run(
            [*PROGRAM, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            env=os.environ | environment,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    return call


@pytest.fixture
def two_jobs() -> dict[str, Any]:
    """Return the example of the file format.

    By hand: job a costs 22090, 13114, 7560 on 1, 2, 4 GPUs (10 s of restart unless 4), job b 90.5 tau(w) with
    tau(w) = 50000/w + 0.01 (w-1) + 0.1 (w-1)/w + 0.2: 4525018.1, 2262523.53, 1131277.6025, 905028.96 on 1, 2, 4, 5.
    Six GPUs: 1 + 5 cost 927118.96, the least (2 + 4: 1144391.6025, where ``doubling`` ends; 4 + 2: 2270083.53).
    """
    table = {"1": 138.0, "2": 81.9, "4": 47.25, "8": 29.6}
    law = {"theta": [1.0, 0.01, 1e-9, 0.2], "samples": 50000, "model_bytes": 1.0e8}
    a = {"id": "a", "epochs": 160, "epoch_time_s": table, "weight": 1.0, "current_gpus": 4, "restart_s": 10.0}
    b = {"id": "b", "epochs": 90.5, "max_gpus": 16, "speed_law": law}
    return {"format": "dlsched/ring_allocation/1", "name": "two-jobs", "gpus": 6, "jobs": [a, b]}


@pytest.fixture
def save(tmp_path: Path) -> Callable[..., Path]:
    """Write data as a JSON file and return its path."""

    def write(data: Any, name: str = "instance.json") -> Path:
        path = tmp_path / name
        path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
        return path

    return write


@pytest.fixture
def example(two_jobs: dict[str, Any], save: Callable[..., Path]) -> Path:
    """Path of the example."""
    return save(two_jobs, "two-jobs.json")


@pytest.fixture
def result(cli: Callable[..., Ended], example: Path) -> dict[str, Any]:
    """Return the optimal result of the example, with its price certificate, as the command line writes it."""
    ended = cli("solve", example, "--json")
    assert ended.code == 0
    return dict(ended.json)
