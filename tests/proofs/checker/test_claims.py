"""Claims of a result that a proof contradicts: its bound, its gap, that it is optimal."""

import json
from pathlib import Path
from typing import Any

import pytest

import dlsched
from dlsched import ring_allocation
from dlsched.cli import run
from dlsched.proofs.verification import verify_alone

JOBS = [
    {"id": "a", "epochs": 1, "epoch_time_s": {"1": 4, "2": 2}},
    {"id": "b", "epochs": 1, "epoch_time_s": {"1": 5, "2": 2}},
]
"""With three GPUs the optimum is 4 + 2 = 6 (b has two), the other allocation that uses all has 2 + 5 = 7; 4 + 5 = 9."""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The instance, and its proof."""
    instance = ring_allocation.Instance(name="pair", gpus=3, jobs=JOBS)
    dlsched.write(instance, tmp_path / "pair.json")
    assert dlsched.prove(instance, tmp_path / "pair.vipr").status == "optimal"
    found, _ = verify_alone(tmp_path / "pair.vipr", instance)
    assert found.objective == 6.0
    return tmp_path / "pair.json", tmp_path / "pair.vipr"


def claimed(instance: Path, gpus: dict[str, int], objective: float, **said: Any) -> Path:
    """Write a result of HiGHS that says so."""
    path = instance.parent / "result.json"
    dlsched.write(dlsched.solve(dlsched.read(instance), method="milp"), path)
    data = json.loads(path.read_text())
    data |= {"solution": {"gpus": gpus}, "objective": objective, "certificate": None, "figures": {}, **said}
    path.write_text(json.dumps(data))
    return path


@pytest.mark.parametrize(
    ("gpus", "objective", "said", "failures"),
    [
        (
            {"a": 2, "b": 1},
            7.0,
            {"status": "optimal", "bound": 7.0, "gap": 0.0},
            [
                "bound: 7.0 is claimed, the proof's solution has 6.0",
                "gap: 0.0 is claimed, it is 0.14285714285714285 at least: the proof's solution has 6.0",
                "status: optimal is claimed of 7.0, the proof's solution has 6.0",
            ],
        ),
        (
            {"a": 1, "b": 1},
            9.0,
            {"status": "feasible", "bound": 7.2, "gap": 0.19999999999999998},
            [
                "bound: 7.2 is claimed, the proof's solution has 6.0",
                "gap: 0.19999999999999998 is claimed, it is 0.3333333333333333 at least: the proof's solution has 6.0",
            ],
        ),
        ({"a": 2, "b": 1}, 7.0, {"status": "feasible", "bound": 5.6, "gap": 0.2}, []),
        ({"a": 1, "b": 2}, 6.0, {"status": "optimal", "bound": 6.0, "gap": 0.0}, []),
    ],
    ids=["a worse optimum", "a bound beyond the range", "a weak bound", "the optimum"],
)
def test_claims_against_a_proof(
    files: tuple[Path, Path],
    gpus: dict[str, int],
    objective: float,
    said: dict[str, Any],
    failures: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What the proof excludes is exit 7, in words that say which; without the proof it is claimed only."""
    instance, proof = files
    result = claimed(instance, gpus, objective, **said)
    assert run(["check", str(instance), str(result)]) == 0
    assert "claimed: bound" in capsys.readouterr().out
    assert run(["check", str(instance), str(result), "--proof", str(proof)]) == (7 if failures else 0)
    lines = capsys.readouterr().out.splitlines()
    assert [line.removeprefix("FAILED  ") for line in lines if line.startswith("FAILED")] == failures
