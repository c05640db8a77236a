"""How long the smallest ``dlsched solve`` takes beside ``import numpy``: the piece ``start`` of ``scale.py``."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from scale_files import spent

import dlsched

RUNS = 7
METHODS = {
    "ring_allocation": ("exact", "doubling"),
    "elastic_stream": ("exact", "srpt-equal"),
    "matching_placement": ("exact", "beam"),
    "srpt_mapping": ("exact", "a-srpt"),
    "ring_embedding": ("exact", "density"),
    "async_sgd": ("exact", "marginal"),
}
"""By family ``exact`` and a heuristic, for the family's example."""


def start(sizes: Sequence[int], families: Sequence[str]) -> None:
    """Least processor time of several runs, one of each command in turn, after one that writes the bytecode."""
    del sizes
    with tempfile.TemporaryDirectory() as folder:
        commands = {("", "import numpy"): ["-c", "import numpy"]}
        for family in families or METHODS:
            path = Path(folder) / f"{family}.json"
            dlsched.write(dlsched.FAMILIES[family].example(), path)
            for method in METHODS[family]:
                commands[family, method] = ["-m", "dlsched", "solve", str(path), "--method", method]
        least = dict.fromkeys(commands, float("inf"))
        for turn in range(RUNS + 1):
            for name, words in commands.items():
                seconds, _ = spent(sys.executable, *words)
                least[name] = min(least[name], seconds) if turn else least[name]
    numpy_s = least["", "import numpy"]
    print("family | method | ms | times numpy")
    for (family, method), seconds in least.items():
        print(f"{family} | {method} | {1e3 * seconds:.0f} | {seconds / numpy_s:.1f}")
