"""Functions of a plan's own: each call is as the first, and its seconds are its own."""

import os
from pathlib import Path

import pytest

from dlsched.study.cells import functions
from dlsched.study.cells.functions import Caller
from dlsched.study.cells.outcome import CellEnded, Outcome
from dlsched.study.plans.plan import PlannedMethod
from study.cells_at_hand import ROOMY, cell, function, recipe, run, said

DRAWS = """
import numpy as np
from pack.stream import RNG
OWN = np.random.default_rng(0)

def draws(instance):
    ends = np.cumsum([1 for job in instance.jobs])
    free = int(instance.gpus - ends[-1])
    count = 1 + int((RNG.integers(1000) + OWN.integers(1000)) % (free + 1))
    return {"gpus": {job.id: count if index == 0 else 1 for index, job in enumerate(instance.jobs)}}
"""


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A folder with a package whose modules hold generators, and a file that takes one of them."""
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "stream.py").write_text("import numpy as np\nRNG = np.random.default_rng(1)\n")
    (tmp_path / "pack" / "draws.py").write_text(DRAWS)
    (tmp_path / "own.py").write_text(DRAWS)
    return tmp_path


@pytest.mark.parametrize("home", ["pack.draws", "own.py"])
def test_generators_of_modules_begin_anew(home: str, pack: Path):
    """Whatever ran before, and on any number of processes."""
    where = str(pack / home) if home.endswith(".py") else home
    method = PlannedMethod("draws", "python", (where, "draws"), fingerprint="a")
    cells = [cell(method, seed) for seed in range(4)]

    def answers(order: list[int], workers: int) -> dict[int, Outcome]:
        return dict(zip(order, map(said, run([cells[each] for each in order], workers, pack)), strict=True))

    one = answers([0, 1, 2, 3], 1)
    assert {outcome.status for outcome in one.values()} == {"feasible"}, one
    assert one == answers([3, 2, 1, 0], 2)
    assert answers([3], 1)[3] == one[3]


def test_seconds_are_those_of_the_function(tmp_path: Path):
    """Not those of looking through its many modules before a call; nor what it makes of the clocks."""
    for number in range(300):
        (tmp_path / f"module_{number}.py").write_text("")
    (tmp_path / "own.py").write_text(
        "import importlib, sys, time\n"
        "from dlsched.study.cells import function_server\nfrom dlsched.processes.usage import Usage\n"
        "def quick(instance):\n    return {'gpus': {job.id: 1 for job in instance.jobs}}\n"
        "def slow(instance):\n"
        "    time.sleep(0.2)\n    function_server.Meter.usage = lambda meter: Usage(0.0, 0.0, 0.0)\n"
        "    time.perf_counter = lambda: 0.0\n    return quick(instance)\n"
        "for number in range(300):\n    importlib.import_module(f'module_{number}')\n"
    )
    quick, slow = run([cell(function(tmp_path / "own.py", name)) for name in ("quick", "slow")], folder=tmp_path)
    assert (quick.status, slow.status) == ("feasible", "feasible")
    assert quick.time_s is not None and quick.time_s < 0.01
    assert slow.time_s is not None and slow.time_s >= 0.2


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open pipes as Linux lists them")
def test_a_process_that_says_nothing_sensible_as_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Leaves neither pipes nor a process."""
    (tmp_path / "own.py").write_text("def f(instance):\n    return None\n")
    stopped = []

    class Stopped(Caller):
        def stop(self) -> None:
            super().stop()
            stopped.append(self.pid)

    class Nonsense(functions.Frames):
        def feed(self, arrived: bytes) -> list[bytes]:
            raise ValueError("found bytes that are no frame")

    before = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patched:
        patched.setattr(functions, "Frames", Nonsense)
        with pytest.raises(CellEnded, match="no frame"):
            Stopped("ring_allocation", function(tmp_path / "own.py", "f"), str(tmp_path))
    assert len(os.listdir("/proc/self/fd")) == before
    with pytest.raises(ChildProcessError):
        os.waitpid(stopped[0], 0)
    caller = Caller("ring_allocation", function(tmp_path / "own.py", "f"), str(tmp_path))
    try:
        assert caller.call(recipe().make(), ROOMY.inner, 0).status == "no_solution"
    finally:
        caller.stop()
