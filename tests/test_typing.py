"""What type checkers say of calls: mypy reads all scripts of ``tests/typing`` in one strict run."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted(Path(__file__).with_name("typing").glob("[!_]*.py"))


@pytest.mark.long
def test_scripts_are_typed_as_they_say() -> None:
    """Every ``assert_type`` holds, and nothing needs a cast."""
    pytest.importorskip("mypy")
    words = ["--strict", "--no-incremental", "--follow-imports=silent", *map(str, SCRIPTS)]
    done = subprocess.run([sys.executable, "-m", "mypy", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
