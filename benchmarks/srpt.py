"""The cost of SRPT of a million jobs, in units of sorting their releases, with Numba and without.

Protocol: one thread, one process. The unit is ``numpy.argsort`` of a million releases in random order. Sizes have mean 1:
exponential, or Pareto with shape 1.5 (infinite variance); releases are a Poisson process of the load's rate, or all 0. In
each row calls and argsort take turns, and the best time of each counts. ``srpt_completions`` gets the arrays and returns
the completion times in the order of the jobs, so sorting the releases is part of it. Both loops must give the same bits.

    python benchmarks/srpt.py            # writes benchmarks/results/srpt.md; needs dlsched[fast]
    python benchmarks/srpt.py --quick    # 100,000 jobs, no file
"""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from unittest import mock

import numpy as np
from table import machine, markdown

from dlsched.algorithms import srpt

LOADS = (0.3, 0.5, 0.7, 0.9, 1.1, np.inf)  # inf: all released at once
SIZES = ("exponential", "Pareto")
BAR = 5.0  # argsorts


def workload(jobs: int, load: float, sizes: str, in_order: bool) -> tuple[np.ndarray, np.ndarray]:
    """Releases and sizes of that many jobs."""
    random = np.random.default_rng(0)
    work = random.exponential(1.0, jobs) if sizes == "exponential" else (random.pareto(1.5, jobs) + 1) / 3
    releases = np.cumsum(random.exponential(1 / load, jobs))
    return (releases if in_order else random.permutation(releases)), work


def seconds(call: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """Time of one call, and its answer."""
    begin = time.perf_counter()
    answer = call()
    return time.perf_counter() - begin, answer


def row(jobs: int, load: float, sizes: str, in_order: bool, repetitions: int = 15) -> tuple[list[str], float]:
    """One workload, as a row, and its ratio."""
    releases, work = workload(jobs, load, sizes, in_order)
    shuffled = np.random.default_rng(1).permutation(workload(jobs, 1.0, sizes, True)[0])
    sorting, compiled = [], []
    for _ in range(repetitions):
        sorting.append(seconds(lambda: np.argsort(shuffled))[0])
        taken, answer = seconds(lambda: srpt.srpt_completions(releases, work))
        compiled.append(taken)
    interpreted = []
    with mock.patch.object(srpt, "_compiled", return_value=None):
        for _ in range(2):
            taken, same = seconds(lambda: srpt.srpt_completions(releases, work))
            interpreted.append(taken)
            if not np.array_equal(answer, same):
                raise RuntimeError("compiled and interpreted loop differ")
    unit = min(sorting)
    columns = [
        "at once" if load == np.inf else f"{load}",
        sizes,
        "sorted" if in_order else "random",
        f"{unit:.4f}",
        f"{min(compiled):.4f}",
        f"{min(compiled) / unit:.2f}",
        f"{min(interpreted):.3f}",
        f"{min(interpreted) / unit:.1f}",
    ]
    return columns, min(compiled) / unit


def first_calls(jobs: int) -> list[list[str]]:
    """Seconds of the first call in a new process, without and with a compiled loop that an earlier one has kept."""
    program = (
        "import time, numpy; from dlsched.algorithms.srpt import srpt_completions as call;"
        f"arrays = numpy.arange({jobs}.0), numpy.ones({jobs}); begin = time.perf_counter(); call(*arrays);"
        "first = time.perf_counter() - begin; call(*arrays); print(first - (time.perf_counter() - begin - first))"
    )
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for words in ("import Numba, compile, keep", "import Numba, load what was kept"):
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
            said = subprocess.run(
                [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
            )
            rows.append([words, f"{float(said.stdout):.2f}"])
    return rows


def main() -> None:
    """Measure and print; write the page unless ``--quick``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    jobs = 100_000 if quick else 1_000_000
    first = first_calls(jobs)
    srpt.srpt_completions(*workload(jobs, 0.5, "exponential", True))
    measured = [row(jobs, *case) for case in itertools.product(LOADS, SIZES, (True, False))]
    columns = ["load", "sizes", "releases", "argsort", "SRPT", "SRPT / argsort", "without Numba", "/ argsort"]
    largest = max(ratio for _, ratio in measured)
    page = "\n".join(
        [
            f"# SRPT of {jobs:,} jobs\n\n`python benchmarks/srpt.py`, {machine()}, numba {version('numba')}. Times in seconds, "
            "best of 15 calls (without Numba: of 2) in one process.\n",
            markdown(columns, [columns for columns, _ in measured]),
            f"Largest ratio {largest:.2f}, at most {BAR:.0f} wanted: {'yes' if largest <= BAR else 'NO'}.\n",
            "## First call of a process, beyond the second\n",
            markdown(["what it does besides", "seconds"], first),
        ]
    )
    print(page)
    if not quick:
        Path(__file__).parent.joinpath("results", "srpt.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
