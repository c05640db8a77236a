"""The checker of others, built once from its source."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent / "viprchk" / "viprchk.cpp"
CONFIG = "#define VIPR_VERSION_MAJOR 1\n#define VIPR_VERSION_MINOR 1\n"
SECONDS = 60


@pytest.fixture(scope="session")
def viprchk(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., bool]:
    """Say whether viprchk accepts a file; a crash is no, and so is a file on which it hangs.

    It is built once for all processes of a run; where it cannot be, the test is skipped.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "viprchk"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the other processes of the run wait here
        binary = folder / "viprchk"
        if not binary.exists():
            build(folder)

    def accepts(path: Path, seconds: float = SECONDS) -> bool:
        try:
            done = subprocess.run([str(binary), str(path)], capture_output=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    return accepts


def build(folder: Path) -> None:
    """Compile viprchk into a folder, or skip the test in words."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("viprchk cannot be built: there is no g++")
    (folder / "gmp.cpp").write_text("#include <gmpxx.h>\nint main() { return mpq_class(0) != 0; }\n", encoding="utf-8")
    (folder / "CMakeConfig.hpp").write_text(CONFIG, encoding="utf-8")
    libraries = ("-lgmpxx", "-lgmp")
    if subprocess.run([compiler, "gmp.cpp", *libraries], cwd=folder, capture_output=True, check=False).returncode:
        pytest.skip("viprchk cannot be built: there is no GMP with its C++ part")
    command = [compiler, "-O1", "-DNDEBUG", "-I.", "-o", "new", str(SOURCE), *libraries]
    subprocess.run(command, cwd=folder, check=True)
    (folder / "new").rename(folder / "viprchk")
