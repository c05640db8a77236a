"""``dlsched reproduce``: the list, small runs from end to end, Ctrl-C, wrong usage."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Ended

from dlsched.cli import study_runs as study_run
from dlsched.reproduce import entries
from dlsched.reproduce.entries import ENTRIES

SMALL = {
    "capes-trend": tuple({"seeds": seeds} for seeds in ("0:1", "0:1", "0:2")),
    "liu-sampling": ({"preset": ["few-types", "compute-only"], "jobs": 3, "gpus": 8, "seeds": "0:2"},),
}
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Two reproductions at a tiny size, in an empty folder."""
    tiny = {name: replace(ENTRIES[name], quick=quick) for name, quick in SMALL.items()}
    monkeypatch.setattr(entries, "ENTRIES", {**ENTRIES, **tiny})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_name_the_list(cli: Callable[..., Ended]) -> None:
    """Every name; the page of the documentation has the same."""
    ended = cli("reproduce")
    assert ended.code == 0 and all(name in ended.out for name in ENTRIES)
    page = (DOCS / "reproduce.md").read_text(encoding="utf-8")
    assert [name for name in ENTRIES if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize("name", [pytest.param("capes-trend", marks=pytest.mark.long), "liu-sampling"])
def test_a_small_run_prints_writes_and_goes_on(name: str, small: Path, cli: Callable[..., Ended]) -> None:
    """The table, what the figures say and what differs; a second call computes nothing and gives the same page."""
    pytest.importorskip("matplotlib")
    first = cli("reproduce", name, "--quick", "-o", "page.html", "--workers", "1")
    assert first.code == 0, first.err
    assert "What differs from the paper:" in first.out and first.out.endswith("page: page.html\n")
    assert (small / f"{name}.study.sqlite").exists()
    page = (small / "page.html").read_bytes()
    again = cli("reproduce", name, "--quick", "-o", "page.html", "--workers", "1")
    assert again.out == first.out and (small / "page.html").read_bytes() == page
    assert f"dlsched reproduce {name} --quick -o {name}.html".encode() in page


def test_trend_of_two_seeds_is_what_the_policies_give(small: Path, cli: Callable[..., Ended]) -> None:
    """At a job every 1000 s there are always 8 units: 160 epochs of 47.25 s on 4 of them take 2.1 h."""
    ended = cli("reproduce", "capes-trend", "--quick", "--store", "other.sqlite", "--workers", "1")
    assert ended.code == 0 and (small / "other.sqlite").exists()
    (line,) = (line for line in ended.out.splitlines() if "fixed, 4 units, a job every 1000 s" in line)
    assert line.split()[-6:] == ["2.1", "to", "2.1", "2.1", "0", "%"]


def test_the_page_alone_on_standard_output(small: Path, cli: Callable[..., Ended]) -> None:
    """With ``-o -`` nothing else is printed there."""
    pytest.importorskip("matplotlib")
    ended = cli("reproduce", "liu-sampling", "--quick", "-o", "-", "--workers", "1")
    assert (
        ended.code == 0 and ended.out.startswith("<!doctype html>") and "What differs from the paper:" not in ended.out
    )
    assert ended.err.endswith("page: -\n")


def test_ctrl_c_says_how_to_go_on(small: Path, cli: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 5; what has ended is kept by the study."""

    def interrupted(*arguments: object, progress: Callable[[object], None], **named: object) -> None:
        progress(study_run.StudyProgress(9, 4, 0))
        raise KeyboardInterrupt

    monkeypatch.setattr(study_run, "run_study", interrupted)
    ended = cli("reproduce", "capes-trend", "--quick")
    assert (ended.code, ended.out) == (5, "")
    assert ended.err.endswith("dlsched: interrupted; 5 cells are left, the same command goes on\n")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["fig9"], 2, "name: found 'fig9', allowed: gadget-fig4, "),
        (["--quick"], 2, "name: found nothing, allowed: gadget-fig4, "),
        (["lin-grid", "--trace", "a.csv"], 2, "allowed: no such option for lin-grid"),
        (["a-srpt-philly", "--trace", "none.csv"], 3, "none.csv"),
        (["lin-grid", "-o", "no/such/page.html"], 3, "no/such/page.html: cannot be written"),
        (["capes-trend", "--quick", "--workers", "0"], 2, "workers: found 0"),
    ],
)
def test_wrong_usage(arguments: list[str], code: int, words: str, small: Path, cli: Callable[..., Ended]) -> None:
    """One line, before anything runs."""
    ended = cli("reproduce", *arguments)
    assert ended.code == code and words in ended.err and list(small.iterdir()) == []


def test_a_page_without_its_packages(small: Path, cli: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 6 before anything runs."""
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)
    ended = cli("reproduce", "capes-trend", "--quick", "-o", "page.html")
    assert ended.code == 6 and "pip install 'dlsched[report]'" in ended.err and list(small.iterdir()) == []
