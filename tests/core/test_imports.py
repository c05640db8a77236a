"""What a failed import says: what is absent, what is broken, which packages exclude each other, and never another package."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dlsched.core.errors import SolverMissingError, UsageError
from dlsched.core.imports import import_failure, needing

RACKS = Path(__file__).parent.parent.parent / "instances" / "ring_embedding" / "two-racks.json"
SYMBOL = "libortools.so.9: undefined symbol: _Z19setLocalOptionValueRK15HighsLogOptions"
HIGHSPY = f'''
import importlib.util, sys

class OneHighs:
    """Has an import of OR-Tools fail as it does beside the real highspy 1.15.1."""

    def find_spec(self, name, path=None, target=None):
        if name == "ortools.sat.python.cp_model_helper":
            file = path[0] + "/cp_model_helper.so"
            raise ImportError(file + ": {SYMBOL}", name="cp_model_helper", path=file)

sys.meta_path.insert(0, OneHighs())
'''


def program(code: str, *folders: Path) -> str:
    """What a program prints that finds the modules of some folders."""
    path = os.pathsep.join([*map(str, folders), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=os.environ | {"PYTHONPATH": path}
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def failed(statement: str) -> ImportError:
    """Return what an import raises."""
    with pytest.raises(ImportError) as raised:
        exec(statement, {})
    return raised.value


def test_or_tools_beside_highspy_is_named_as_a_clash(tmp_path: Path) -> None:
    """Not a package ``cp_model_helper``: both names, that one process cannot have both, what to do, and the cause."""
    (tmp_path / "highspy.py").write_text(HIGHSPY)
    said = program(
        "import highspy, dlsched\n"
        f"instance = dlsched.read({str(RACKS)!r})\n"
        "try:\n"
        "    dlsched.solve(instance, method='circuit')\n"
        "except dlsched.SolverMissingError as error:\n"
        "    print(error)",
        tmp_path,
    )
    assert said.startswith(
        "OR-Tools and highspy cannot be loaded into one process, in whichever order, and this one has "
    )
    assert "run what needs ortools in a process that does not import highspy" in said
    assert said.endswith(SYMBOL) and "pip install" not in said


def test_highspy_beside_or_tools_is_named_as_a_clash(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other order: the second one fails then, too."""
    monkeypatch.setitem(sys.modules, "ortools", sys)
    folder = next(folder for folder in sys.path if folder)
    error = ImportError(
        "_core.so: undefined symbol: _ZN5Highs13", name="highspy._core", path=f"{folder}/highspy/_core.so"
    )
    assert str(import_failure(error)).startswith("highspy and OR-Tools cannot be loaded into one process")


def test_an_undefined_symbol_without_highspy_is_no_clash(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cause is all that is known then; the package is that of the file."""
    monkeypatch.delitem(sys.modules, "highspy", raising=False)
    folder = next(folder for folder in sys.path if folder)
    error = ImportError(
        "it said so: undefined symbol: x", name="cp_model_helper", path=f"{folder}/ortools/sat/helper.so"
    )
    said = import_failure(error)
    assert isinstance(said, SolverMissingError) and said.exit_code == 6
    assert str(said) == "package ortools is here but cannot be loaded: it said so: undefined symbol: x"


def test_absent_broken_and_not_whole_are_three_things(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first is mended by installing it; the second shows its cause, in a line."""
    (tmp_path / "broken_here.py").write_text("raise ImportError('it needs NumPy 2.2\\nor less', name='numpy.core')")
    (tmp_path / "half_here").mkdir()
    (tmp_path / "half_here" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    absent = import_failure(failed("import no_such_package.part"))
    assert str(absent) == "package no_such_package is not here: pip install no_such_package"
    assert str(import_failure(failed("import sklearnx"))).endswith("pip install sklearnx")
    broken = import_failure(failed("import broken_here"))
    assert str(broken) == "package numpy is here but cannot be loaded: it needs NumPy 2.2 or less"
    half = import_failure(failed("import half_here.part"))
    assert str(half).startswith(
        "package half_here is here but not whole (No module named 'half_here.part'): pip install "
    )
    named = import_failure(failed("from half_here import nothing"))
    assert str(named).startswith("package half_here is here but cannot be loaded: cannot import name 'nothing'")


def test_an_import_of_our_own_that_fails_is_a_defect() -> None:
    """It stays what it is, with its traceback; so does an error without a name."""
    for error in (
        failed("import dlsched.nothing"),
        failed("from dlsched.core.files import nothing"),
        ImportError("odd"),
    ):
        assert import_failure(error) is error


def test_an_extra_that_is_broken_is_not_called_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``pip install`` mends what is absent and nothing else."""
    (tmp_path / "broken_extra.py").write_text("raise ImportError('no libfoo.so', name='broken_extra')")
    monkeypatch.syspath_prepend(tmp_path)
    with (
        pytest.raises(
            UsageError, match=r"^plots need it: package broken_extra is here but cannot be loaded: no libfoo"
        ),
        needing("plots need it", "plots", UsageError),
    ):
        import broken_extra  # type: ignore[import-not-found]  # noqa: F401
    installed = r"^plots need it: pip install 'dlsched\[plots\]'$"
    with pytest.raises(SolverMissingError, match=installed), needing("plots need it", "plots"):
        import no_such_package  # type: ignore[import-not-found]  # noqa: F401


BROKEN = "raise ImportError('libbroken.so: cannot open shared object file', name=__name__, path=__file__)"
ASKED = {
    "matplotlib": "from dlsched.plots.figure import canvas; canvas('x.png', 5, 5).__enter__()",
    "jinja2": "from dlsched.study.reports.page import require_report; require_report()",
    "sklearn": "from dlsched.algorithms.recurrence import predictions as p\n"
    "    p(None, by='forest', seed=0, trees=1, retrain=2, prior=1)",
    "pyarrow": "from dlsched.study.reports.export import export; export([], 'parquet', 'x.parquet')",
    "distributed": "from dlsched.study.engines.dask_engine import run; list(run(iter([]), 1, '.'))",
    "hypothesis": "import dlsched.testing",
}
"""What needs each package of the extras."""


def test_every_extra_says_the_cause_where_it_is_broken(tmp_path: Path) -> None:
    """All of them, in a process in which each is here and none can be loaded; nothing is written."""
    for package in ASKED:
        (tmp_path / f"{package}.py").write_text(BROKEN)
    code = "\n".join(
        f"try:\n    {line}\nexcept ImportError as error:\n    print(error)\nexcept ValueError as error:\n    print(error)"
        for line in ASKED.values()
    )
    said = program(code, tmp_path).splitlines()
    assert len(said) == len(ASKED)
    for package, line in zip(ASKED, said, strict=True):
        cause = f": package {package} is here but cannot be loaded: libbroken.so: cannot open shared object file"
        assert line.endswith(cause) and " need" in line, line


def test_numba_that_is_broken_is_no_secret(tmp_path: Path) -> None:
    """Without Numba loops are interpreted, and nothing is said; with one that refuses this NumPy a warning says why."""
    (tmp_path / "numba.py").write_text("raise ImportError('Numba needs NumPy 2.2 or less. Got NumPy 2.3.')")
    code = (
        "import warnings, sys\n"
        "from dlsched.core.imports import compiled\n"
        "with warnings.catch_warnings(record=True) as said:\n"
        "    warnings.simplefilter('always')\n"
        "    if {absent}: sys.modules['numba'] = None\n"
        "    print(compiled(abs), *[each.message for each in said])"
    )
    assert program(code.format(absent=True), tmp_path) == "None"
    assert program(code.format(absent=False), tmp_path) == (
        "None Numba is here but cannot be loaded, so loops are interpreted and slow: "
        "Numba needs NumPy 2.2 or less. Got NumPy 2.3."
    )


@pytest.mark.parametrize(
    "changed",
    ["STEP = 1\n\ndef more(n):\n    return n + STEP + 1\n", "STEP = 2\n\ndef more(n):\n    return n + STEP\n"],
)
def test_a_loop_is_compiled_again_when_what_it_calls_has_changed(changed: str, tmp_path: Path) -> None:
    """A function in another file, or a constant there: Numba's cache knows the loop's file only."""
    pytest.importorskip("numba")
    (tmp_path / "loop.py").write_text("from part import more\n\ndef twice(n):\n    return more(more(n))\n")
    code = "from loop import more, twice\nfrom dlsched.core.imports import compiled\nprint(compiled(twice, more)(0))"
    found = []
    for text in ("STEP = 1\n\ndef more(n):\n    return n + STEP\n", changed):
        (tmp_path / "part.py").write_text(text)
        found.append(program(code, tmp_path))
    assert found == ["2", "4"]
