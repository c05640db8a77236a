"""A study as an object: what it says of itself, and its methods, which do what the functions and commands do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dlsched import study
from tests.study.small import small


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    plan = small(folder, methods=[{"name": "exact"}, {"name": "doubling"}, {"name": "fixed"}])
    study.run(plan, folder / "s", workers=1).close()
    return folder / "s"


@pytest.fixture
def held(store: Path) -> Iterator[study.Study]:
    with study.open(store) as opened:
        yield opened


def test_it_says_what_it_is(held: study.Study) -> None:
    """A few lines, a table in a notebook; closed, that it is closed."""
    lines = repr(held).splitlines()
    about = held.about
    assert lines[0].startswith(f"Study {about.name}: {about.ended} cells of {about.instances} instance")
    assert lines[1] == held.summary().sentence and len(lines) <= 3
    assert (f"{held.failed} cell" in lines[-1]) == (held.failed > 0)
    assert held._repr_html_().count("<table>") == 1
    held.close()
    assert repr(held).endswith("closed") and "closed" in held._repr_html_()


def test_dir_shows_what_users_call(held: study.Study) -> None:
    """And nothing with an underscore."""
    assert {"report", "export", "summary", "frame", "plot", "rows", "close"} <= set(dir(held))
    assert not [name for name in dir(held) if name.startswith("_")]
    assert dir(study) == sorted(study.__all__)


def test_methods_do_what_the_functions_do(held: study.Study, store: Path, tmp_path: Path) -> None:
    """Report and exports byte for byte."""
    held.report(tmp_path / "a.md", "markdown")
    study.report(store, tmp_path / "b.md", "markdown")
    assert (tmp_path / "a.md").read_bytes() == (tmp_path / "b.md").read_bytes()
    held.export("csv", tmp_path / "a.csv", columns=["method", "ratio"])
    assert (tmp_path / "a.csv").read_text().splitlines()[:2] == ["method,ratio", "exact,1.0"]
    held.export("latex", tmp_path / "a.tex", columns=["method", "mean"])
    assert r"\begin{tabular}{lr}" in (tmp_path / "a.tex").read_text()
    pytest.importorskip("matplotlib")
    assert held.plot("ratios", width=3.3).get_figwidth() == 3.3
