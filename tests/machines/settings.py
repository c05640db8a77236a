"""Run what must not depend on the processor under settings that stand for other processors, and compare.

``python tests/machines/settings.py [SETTING ...] [--answers]`` runs a selection of the tests under each setting, and compares the
lines of ``answers.py`` with those of the machine as it is: drawn instances and models, with ``--answers`` also the answers of
heuristics (an hour). Exit code 1: a test failed, or a line differs.
"""

import os
import subprocess
import sys
from pathlib import Path

from numpy._core._multiarray_umath import __cpu_dispatch__

HERE = Path(__file__).parent
WIDE = [name for name in __cpu_dispatch__ if name.startswith(("AVX512", "X86_V4"))]
EVERY = [*WIDE, *(name for name in __cpu_dispatch__ if name in ("AVX2", "FMA3", "X86_V3"))]
SETTINGS: dict[str, dict[str, str]] = {
    "no-avx512": {"NPY_DISABLE_CPU_FEATURES": " ".join(WIDE)},
    "no-avx2": {"NPY_DISABLE_CPU_FEATURES": " ".join(EVERY)},
    "libm": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F"},
    "blas-haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "blas-prescott": {"OPENBLAS_CORETYPE": "Prescott"},
}
"""Kernels of NumPy, of the C library and of BLAS, by what they are set by."""
TESTS = (
    "tests/test_models.py",
    "tests/test_instances.py",
    "tests/proofs/test_shipped.py",
    "tests/certificates",
    "tests/core/test_elementary.py",
    "tests/ring_embedding/test_checker.py",
    "tests/matching_placement/test_checker.py",
    "tests/matching_placement/test_generator.py",
    "tests/elastic_stream/test_generator.py",
    "tests/srpt_mapping/test_generator.py",
    "tests/ring_embedding/test_generator.py",
)


def lines(parts: list[str], setting: dict[str, str]) -> list[str]:
    """Lines of some parts of ``answers.py``."""
    found: list[str] = []
    for part in parts:
        done = subprocess.run(
            [sys.executable, HERE / "answers.py", part],
            env=os.environ | setting,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found += done.stdout.splitlines()
    return found


def main(given: list[str]) -> int:
    """Return 0 if all tests pass and all lines agree."""
    parts = ["drawn", "models", *(["answers"] if "--answers" in given else [])]
    names = [name for name in given if name != "--answers"] or list(SETTINGS)
    failed = False
    here = lines(parts, {})
    for name in names:
        setting = SETTINGS[name]
        there = lines(parts, setting)
        differing = sorted({line.rsplit(" ", 1)[0] for line in set(here) ^ set(there)})
        print(f"{name} {setting}: {len(here)} lines, {len(differing)} differ", *differing[:20], sep="\n  ", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "-m", "not long and not slow", *TESTS]
        tested = subprocess.run(command, env=os.environ | setting, check=False)
        failed = failed or bool(differing) or tested.returncode != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
