"""What SRPT of a million jobs costs, in units of sorting their releases, with Numba and without.

The unit is ``numpy.argsort`` of a million releases in random order. Sizes have mean 1: exponential, or Pareto with shape 1.5
(infinite variance); releases are a Poisson process of the load's rate, or all 0. ``srpt_completions`` gets the arrays and
returns the completion times in the order of the jobs, so sorting the releases is part of it. Fifteen turns, of each way as
many as start within its first 3 s. Both loops must give the same bits. Needs ``dlsched[fast]``.
"""

import itertools
import operator
import os
import subprocess
import sys
import tempfile
import zlib
from importlib.metadata import version
from unittest import mock

import numpy as np
from measure import Page, Ratio, present

from dlsched.algorithms import one_machine

LOADS = (0.3, 0.5, 0.7, 0.9, 1.1, np.inf)  # inf: all released at once
SIZES = ("exponential", "Pareto")
BAR = 5.0  # argsorts


def workload(jobs: int, load: float, sizes: str, in_order: bool) -> tuple[np.ndarray, np.ndarray]:
    """Releases and sizes of that many jobs."""
    random = np.random.default_rng(0)
    work = random.exponential(1.0, jobs) if sizes == "exponential" else (random.pareto(1.5, jobs) + 1) / 3
    releases = np.cumsum(random.exponential(1 / load, jobs))
    return (releases if in_order else random.permutation(releases)), work


def row(page: Page, jobs: int, load: float, sizes: str, in_order: bool) -> tuple[str, Ratio]:
    """One workload, as a row, and its ratio."""
    releases, work = workload(jobs, load, sizes, in_order)
    shuffled = np.random.default_rng(1).permutation(workload(jobs, 1.0, sizes, True)[0])

    def interpreted(turn: int) -> np.ndarray:
        with mock.patch.object(one_machine, "compiled", return_value=None):
            return one_machine.srpt_completions(releases, work)

    case = f"{'at once' if load == np.inf else load} | {sizes} | {'sorted' if in_order else 'random'}"
    ways = {
        "argsort": lambda _: np.argsort(shuffled),
        "SRPT": lambda _: one_machine.srpt_completions(releases, work),
        "without Numba": interpreted,
    }
    how = {"keep": zlib.crc32, "same": operator.eq, "units": ["argsort"], "enough_s": 3}
    unit, compiled, plain = page.measure(case, ways, 3 if page.quick else 15, **how).values()
    ratio = compiled.over(unit)
    cells = (
        f"{unit.median:.4f} | {compiled.median:.4f} | {ratio:.2f} | {plain.median:.3f} | {plain.over(unit).value:.1f}"
    )
    return f"{case} | {cells}", ratio


def first_calls(jobs: int) -> list[str]:
    """Seconds of the first call in a new process, without and with a compiled loop that an earlier one has kept."""
    program = (
        "import time, numpy; from dlsched.algorithms.one_machine import srpt_completions as call;"
        f"arrays = numpy.arange({jobs}.0), numpy.ones({jobs}); begin = time.perf_counter(); call(*arrays);"
        "first = time.perf_counter() - begin; call(*arrays); print(first - (time.perf_counter() - begin - first))"
    )
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        for words in ("import Numba, compile, keep", "import Numba, load what was kept"):
            command = [sys.executable, "-c", program]
            said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            rows.append(f"{words} | {float(said.stdout):.2f}")
    return rows


def fill(page: Page) -> None:
    """Measure everything."""
    jobs = 100_000 if page.quick else 1_000_000
    one_machine.srpt_completions(*workload(jobs, 0.5, "exponential", True))  # compiles, or loads what was kept
    cases = itertools.product(LOADS[2::3] if page.quick else LOADS, SIZES, (True, False))
    rows, ratios = zip(*(row(page, jobs, *case) for case in cases), strict=True)
    page.add(f"{jobs:,} jobs, times in seconds, numba {version('numba')}.")
    page.table("load | sizes | releases | argsort | SRPT | SRPT / argsort | without Numba | / argsort", rows)
    largest = max(ratio.value for ratio in ratios)
    page.add(f"Largest ratio {largest:.2f}, at most {BAR:.0f} wanted: {'yes' if largest <= BAR else 'NO'}.")
    page.add("## First call of a process, beyond the second")
    page.table("what it does besides | seconds", first_calls(jobs))


if __name__ == "__main__":
    present("SRPT of a million jobs", __doc__, fill)
