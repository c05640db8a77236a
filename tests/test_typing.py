"""What type checkers say of calls: mypy reads all scripts of ``tests/typing`` in one strict run."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted(Path(__file__).with_name("typing").glob("[!_]*.py"))


@pytest.mark.long
def test_scripts_are_typed_as_they_say() -> None:
    """Every ``assert_type`` holds, and nothing needs a cast; without plugins, as users have mypy."""
    pytest.importorskip("mypy")
    words = ["--strict", "--config-file=", "--no-incremental", "--follow-imports=silent", *map(str, SCRIPTS)]
    done = subprocess.run([sys.executable, "-m", "mypy", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_forty_calls_of_users_run(tmp_path: Path) -> None:
    """One after another in a new Python, with warnings as errors; each answers what the script says."""
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    script = Path(__file__).with_name("typing") / "forty_calls.py"
    words = [sys.executable, "-W", "error", "-W", "ignore::DeprecationWarning", str(script), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "ratios.pdf").exists() and (tmp_path / "table.tex").exists()
