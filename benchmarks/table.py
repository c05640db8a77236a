"""What the benchmarks share: a Markdown table, and the machine in one line."""

import os
import platform
from collections.abc import Sequence
from importlib.metadata import version


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def machine() -> str:
    """Say what the figures were measured on."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("dlsched", "numpy", "scipy"))
    return f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, {packages}"
