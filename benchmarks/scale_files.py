"""From nothing to the file of a proven result: the piece ``files`` of ``scale.py``."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from growth import Point, shown, slope

import dlsched

DRAW = "import sys, numpy; numpy.random.default_rng(0).random(int(sys.argv[1]))"
JSON = """
import json, os, sys
with open(sys.argv[1]) as instance, open(sys.argv[2]) as result, open(os.devnull, "w") as nothing:
    json.load(instance)
    json.dump(json.load(result), nothing)
"""
NUMBERS = {"ring_allocation": 65, "async_sgd": 9}
"""Numbers that a job of the preset mixed has."""


def spent(*command: str) -> tuple[float, float]:
    """Seconds of the processor and peak memory in GB of a command."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0, command
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


def files(sizes: Sequence[int], families: Sequence[str]) -> None:
    """From nothing to a file of an instance, and from that to a file of its proven result, beside NumPy and json alone."""
    print("family | jobs | generate | of NumPy | solve | of json | peak GB | of the file")
    for family in families or NUMBERS:
        points: dict[str, list[Point]] = {"generate": [], "solve": []}
        for size in sizes:
            with tempfile.TemporaryDirectory() as folder:
                instance, result = f"{folder}/i.json", f"{folder}/r.json"
                draw, _ = spent(sys.executable, "-c", DRAW, str(size * NUMBERS[family]))
                drawn, _ = spent(
                    "dlsched", "generate", family, "--preset", "mixed", "--jobs", str(size), "-o", instance
                )
                solved, peak = spent("dlsched", "solve", instance, "-o", result)
                alone, _ = spent(sys.executable, "-c", JSON, instance, result)
                assert dlsched.read_result(result).status == "optimal"
                points["generate"].append(Point(size, drawn))
                points["solve"].append(Point(size, solved))
                ratio = f"{drawn:.1f} s | {drawn / draw:.0f} | {solved:.1f} s | {solved / alone:.1f}"
                share = peak * 2**30 / os.path.getsize(instance)
                print(f"{family} | {size:,} | {ratio} | {peak:.2f} | {share:.1f}", flush=True)
        print(" | ".join(f"{what}: {shown(slope(found, len(found)))}" for what, found in points.items()), flush=True)
