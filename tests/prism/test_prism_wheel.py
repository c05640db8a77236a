"""The family prism as a wheel in a fresh environment: commands and studies find it, and its methods keep the contract."""

import json
import os
import shutil
import site
import subprocess
import sys
from pathlib import Path

import pytest
import verify

FOLDER = Path(verify.__file__).parent
ROOT = FOLDER.parents[1]
CONTRACT = """
from dlsched import FAMILIES
from dlsched.testing import check_method, hold_to_contract
record = FAMILIES["prism"]
for name, method in record.methods.items():
    if method.kind == "heuristic":
        hold_to_contract("prism", name, examples=5)
    check_method(record, method, record.example())
print(record.name, "holds")
"""
PLAN = """
format = "dlsched/study/1"
name = "prism"
methods = [{ name = "exact" }, { name = "baseline" }, { name = "portfolio" }]
instances = [{ family = "prism", preset = "task", seeds = "0:3" }]
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of an environment that has the wheel, and sees what is installed here."""
    folder = tmp_path_factory.mktemp("wheel")
    source, home = folder / "source", folder / "environment"
    shutil.copytree(FOLDER, source, ignore=shutil.ignore_patterns("__pycache__"))
    build = ["-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(source)]
    subprocess.run([sys.executable, *build], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    found = home / "bin" / "python"
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(subprocess.run([found, "-c", where], check=True, capture_output=True, text=True).stdout.strip())
    lines = [f"import site; site.addsitedir({each!r})" for each in site.getsitepackages()]
    (packages / "present.pth").write_text("\n".join([*lines, str(ROOT), ""]))
    install = ["--python", str(found), "install", "--no-deps", "--no-index", "--quiet", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    return found


def run(python: Path, folder: Path, *words: str, code: int = 0) -> str:
    """Output of a command in a process of the environment."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([python, *words], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_every_command_finds_it(python: Path, tmp_path: Path) -> None:
    """List, generate, schema, solve with a cross-check, check, bound, compare."""

    def dlsched(*words: str) -> str:
        return run(python, tmp_path, "-m", "dlsched", *words)

    assert "prism" in run(python, tmp_path, "-c", "import prism; print(prism.__file__)")
    assert str(tmp_path.parent.parent) in run(python, tmp_path, "-c", "import prism; print(prism.__file__)")
    assert "local-search" in dlsched("methods", "prism") and "ring_allocation" in dlsched("methods")
    assert "size_gb" in dlsched("schema", "prism")
    dlsched("generate", "prism", "--preset", "task", "--seed", "22", "-o", "task.json")
    dlsched("generate", "prism", "--jobs", "6", "--seed", "1", "-o", "drawn.json")
    solved = dlsched("solve", "task.json", "--cross-check", "cpsat", "-o", "best.json")
    assert "optimal (exact)" in solved
    assert json.loads((tmp_path / "best.json").read_text())["objective"] == 8 / 343
    assert "feasible" in dlsched("check", "task.json", "best.json")
    assert "by certificate" in dlsched("bound", "task.json")
    assert "portfolio" in dlsched("compare", "drawn.json", "task.json")


def test_a_study_runs_it(python: Path, tmp_path: Path) -> None:
    """In processes of their own, and what is stored is checked."""
    (tmp_path / "plan.toml").write_text(PLAN)
    run(python, tmp_path, "-m", "dlsched", "study", "run", "plan.toml", "--store", "prism.study")
    assert "baseline" in run(python, tmp_path, "-m", "dlsched", "study", "show", "prism.study")
    run(python, tmp_path, "-m", "dlsched", "study", "check", "prism.study")


def test_worst_instances_are_searched(python: Path, tmp_path: Path) -> None:
    """The baseline is worse than 1.5 times the optimum."""
    words = ("worst", "prism", "--method", "baseline", "--seed", "0", "--budget", "60", "-o", "worst.json")
    run(python, tmp_path, "-m", "dlsched", *words)
    compared = run(python, tmp_path, "-m", "dlsched", "compare", "worst.json", "--methods", "exact,baseline", "--json")
    assert "baseline" in compared


def test_its_methods_keep_the_contract(python: Path, tmp_path: Path) -> None:
    """Heuristics on drawn instances, all methods on the example, by what users have for that."""
    assert run(python, tmp_path, "-c", CONTRACT).strip() == "prism holds"
