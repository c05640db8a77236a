"""The page as text: what stands on it, what does not, and that equal studies are equal bytes."""

import builtins
import html
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dlsched import FAMILIES
from dlsched.core.errors import InputError, SolverMissingError
from dlsched.core.messages import printable
from dlsched.study.figures.summary import summarise
from dlsched.study.reports.content import trials
from dlsched.study.reports.page import LONGEST, WORST_SHOWN, failures, parts_of, render, specimens, write_report
from dlsched.study.reports.page_parts import looks
from dlsched.study.rows import Row

from .synthetic import HOSTILE, changed, content, evidence, rows

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")


def body(page: str) -> str:
    """The page without styles and scripts, and tags as they are written in it."""
    return re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)


def said(page: str) -> str:
    """Text of the page."""
    return html.unescape(re.sub(r"<[^>]*>", "", body(page)))


@cache
def page_of(**changes: Any) -> str:
    """The page of drawn rows."""
    return render(content(rows(**changes)))


def test_equal_studies_are_equal_bytes(tmp_path: Path) -> None:
    write_report(content(rows()), tmp_path / "page")
    assert (tmp_path / "page").read_bytes() == page_of().encode()


def test_what_a_reader_wants_first_stands_first() -> None:
    """Name, answer, limits, methods, and then the rest."""
    study = content(rows())
    text = said(page_of())
    order = [
        *(study.name, study.sentence.replace("`", ""), "5 methods", "60 instances of 1 family"),
        *("ring_allocation · mixed", "Performance profile", "Gap against size", "Worst instances", "Failures"),
        *("Environment", "AMD EPYC", study.plan.splitlines()[0]),
    ]
    at = [text.index(each) for each in order]
    assert at == sorted(at)


def test_hostile_names_are_text() -> None:
    """No tag, no attribute and no template expression comes of a name."""
    found = rows(instances=40, names=HOSTILE, methods={name: 0.05 for name in HOSTILE})
    study = content([changed(row, message=row.instance, preset=HOSTILE[0]) for row in found], HOSTILE[1])
    page = render(study)
    assert not re.search(r"<(img|b|br)[ >]", body(page).replace("<b><bdi>", ""))
    assert page.count("<script") == page.count("</script>")
    written = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)  # the data of the plots stay
    assert not re.search(r"<script>alert|[\x00-\x09\x0b-\x1f\u202e\u200f]", written)
    for name in HOSTILE:
        assert printable(name) in html.unescape(page)


def test_the_policy_forbids_every_request() -> None:
    """No source but hashes of scripts, styles in the page, and images in it."""
    page = page_of()
    policy = html.unescape(re.findall(r'Content-Security-Policy" content="([^"]*)"', page)[0])
    sources = dict(part.split(" ", 1) for part in policy.split("; "))
    scripts = sources.pop("script-src").split()
    assert sources == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    assert len(scripts) == 1
    assert all(re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", each) for each in scripts)


@pytest.mark.parametrize(
    "found",
    [
        [],
        rows(failing=1.1),
        [changed(row, reference=None, reference_kind="", ratio=None, gap=None, status="feasible") for row in rows()],
        rows(instances=1, failing=0.0),
        rows(methods={"one": 0.1}, instances=1),
        rows(preset="", sizes=[10]),
        [changed(row, jobs=None, gpus=None, seed=None, time_s=None) for row in rows()],
    ],
    ids=["none", "failed", "no reference", "one instance", "one of all", "files of one size", "nothing known"],
)
def test_strange_studies_have_sensible_pages(found: list[Row]) -> None:
    """Every plot that is there has something in it; of the others a sentence tells why they are not."""
    page = render(content(found))
    assert page.count('<div class="plot" role="img" aria-label="') + said(page).count("ot drawn,") >= (
        1 if found else 0
    )
    assert "None" not in said(page) and "nan" not in said(page)


def test_pages_are_small() -> None:
    """With nothing to draw, and with 12,500 rows of six families."""
    assert len(page_of(failing=1.1)) < 50_000
    found = [
        row
        for seed, family in enumerate(FAMILIES)
        for row in rows(family, seed=seed, instances=400, sizes=range(5, 60))
    ]
    assert len(render(content(found)).encode()) < 1e6


def test_bounds_have_their_sign() -> None:
    """With bounds for references every ratio of the table of methods is at most what it says; with optima none is."""
    table = re.compile(r'<table class="methods">.*?</table>', re.DOTALL)
    bounds, optima = (table.findall(page_of(kind=kind))[0] for kind in ("bound", "optimum"))
    assert bounds.count("≤") == 5 * 5  # mean, mean where all answered, median, 95 %, worst
    assert "≤" not in optima


def test_worst_instances_are_the_worst_of_every_method() -> None:
    """Each with the methods on it, the command, and the instance."""
    found = rows(failing=0.0)
    shown = specimens(
        trials(found), looks(["doubling", "greedy"]) | looks(sorted({row.method for row in found})), evidence, 1
    )
    worst = {
        max((row for row in found if row.method == method), key=lambda row: row.ratio or 0).instance
        for method in ("doubling", "rounding", "greedy", "first-fit")
    }
    assert worst <= {each["name"] for each in shown}
    assert len(shown) == WORST_SHOWN
    assert all(
        len(each["table"].rows) == 5 and each["command"] and f'"name": "{each["name"]}"' in each["instance"]
        for each in shown
    )


def test_a_long_instance_is_named_by_its_command() -> None:
    found = trials(rows(failing=0.0, instances=1))

    def long(row: Row) -> tuple[str, str]:
        return "x" * (LONGEST + 1), "the command"

    (shown,) = specimens(found, looks(list(found[0].rows)), long, 1)
    assert (shown["instance"], shown["command"]) == ("", "the command")
    assert shown["omitted"] == "The instance has 40,001 characters and is not shown; the command makes it."


def test_failures_are_counted_by_kind() -> None:
    """A proof that there is no answer is none; nor is having none where that is proven; nor a bound alone."""
    base = rows(failing=0.0, instances=3, methods={"a": 0.0, "b": 0.1, "c": 0.1})
    ends = ["error", "optimal", "feasible", "error", "timeout", "no_solution", "infeasible", "no_solution", "error"]
    found = [
        changed(row, status=status, message="why", objective=None, ratio=None)
        for row, status in zip(base, ends, strict=True)
    ]
    table, left = failures(summarise(found)[0].failed, looks(["a", "b", "c"]))
    assert table is not None
    assert [[cell.text for cell in line[:4]] for line in table.rows] == [
        ["a", "error", "2", "why"],
        ["b", "timeout", "1", "why"],
        ["c", "no_solution", "1", "why"],
        ["c", "error", "1", "why"],
    ]
    assert (table.caption, left) == ("5 cells without an answer", "")


def test_failures_of_many_kinds_are_cut_and_that_is_said() -> None:
    found = [changed(row, message=f"message {index}") for index, row in enumerate(rows(failing=1.1, instances=10))]
    table, left = failures(summarise(found)[0].failed, looks(["exact", "doubling", "rounding", "greedy", "first-fit"]))
    assert table is not None and len(table.rows) == 20
    assert left == "30 other kinds of failures, each at most as frequent, not listed."


def test_names_in_the_sentence() -> None:
    """A backtick within a name leaves the sentence as it is."""
    assert parts_of("`a` beats `b`") == ["", "a", " beats ", "b", ""]
    assert parts_of("`a``, a name") == ["`a``, a name"]


def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib_not_here")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SolverMissingError, match=r"pip install 'dlsched\[report\]'"):
        render(content([]))


def test_a_path_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_report(content([]), tmp_path / "no" / "report.html")
