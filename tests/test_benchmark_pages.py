"""The studies of ``benchmarks``: their plans read, and small ones run and are worded."""

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from dlsched.study.plans.plan_file import read_plan

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
STUDIES = sorted(path.stem for path in (BENCHMARKS / "studies").glob("*.toml"))
SHORT = ("node_heuristics",)
"""Studies that are tried in every run; the others take longer."""
UNANSWERED = {
    "node_heuristics": "fixed",
    "placement_heuristics": "equal",
    "rings": "gadget-published",
    "shipped": "fixed",
}
"""Studies with cells that have no answer by right, and a method of such cells."""


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return import_module("pages")


def require_trace(name: str, pages: ModuleType) -> None:
    """Skip the studies of traces that are not here."""
    if name in pages.TRACES and not pages.TRACES[name].is_file():
        pytest.skip(f"{pages.TRACES[name]} is not there")


@pytest.mark.parametrize("name", STUDIES)
def test_plans_are_read(name: str, pages: ModuleType) -> None:
    """Each begins with its title, and has instances and methods."""
    require_trace(name, pages)
    plan = read_plan(BENCHMARKS / "studies" / f"{name}.toml")
    assert plan.text.startswith("# ") and plan.sources and plan.methods


@pytest.mark.parametrize(
    "name",
    [name if name in SHORT else pytest.param(name, marks=pytest.mark.long) for name in STUDIES if name != "demo"],
)
def test_small_studies_are_worded(name: str, pages: ModuleType, tmp_path: Path) -> None:
    """Every cell that should have an answer has one, and no brace of a template is left."""
    require_trace(name, pages)
    plan = pages.quick(read_plan(BENCHMARKS / "studies" / f"{name}.toml"))
    text = pages.written(name, plan, tmp_path / "store", tmp_path)
    assert text.startswith(plan.text.splitlines()[0])
    failures = text.partition("## Failures")[2]
    assert (UNANSWERED[name] in failures) if name in UNANSWERED else not failures
    assert not re.search(r"\{\w+\}|\bnan\b", text)


def test_a_trace_that_is_not_there_is_left_out(
    pages: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """It is said, and is no error."""
    monkeypatch.setattr(pages, "TRACES", {"gangs": tmp_path / "trace.csv"})
    monkeypatch.setattr("sys.argv", ["pages.py", "--quick", "gangs"])
    pages.main()
    assert "gangs: skipped" in capsys.readouterr().err
