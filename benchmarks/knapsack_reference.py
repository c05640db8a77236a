"""A plain C loop for the knapsack, built by ``cc -O2`` into a temporary folder and called through ctypes."""

import ctypes
import math
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dlsched.allocation.cost_table import CostTable

SOURCE = Path(__file__).with_suffix(".c")


def c_loop() -> Callable[[CostTable, int], float] | None:
    """From a table and a capacity to the least total cost; None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "knapsack.so")
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, SOURCE, "-lm"], check=True)
        loop = ctypes.CDLL(str(library)).knapsack
    whole = np.ctypeslib.ndpointer(np.dtype("long"), flags="C")
    loop.restype = ctypes.c_double
    loop.argtypes = [ctypes.c_long, whole, whole, np.ctypeslib.ndpointer(np.float64, flags="C"), ctypes.c_long]

    def solved(table: CostTable, capacity: int) -> float:
        found = float(loop(table.jobs, table.starts, table.counts, table.costs, capacity))
        if math.isnan(found):
            raise MemoryError
        return found

    return solved
