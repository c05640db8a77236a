"""The wheel holds the package, its data and nothing else."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_wheel_holds_dlsched_only(tmp_path: Path) -> None:
    """Built from the tree, it has every module and data file of dlsched/, and no tests, instances or models."""
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("dlsched-*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    tree = subprocess.run(["git", "ls-files", "dlsched"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert names == set(tree.stdout.split())
    assert {"dlsched/py.typed", "dlsched/cluster/published_speeds.json", "dlsched/__main__.py"} <= names
