"""The report in a real browser: names as text, sorting, paper, the dark, and a telephone."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from dlsched import FAMILIES
from dlsched.core.messages import printable
from dlsched.study.reports.page import write_report
from dlsched.study.reports.page_parts import KEY, labels, short
from dlsched.study.rows import Row
from tests.browser import opened, running

from .synthetic import HOSTILE, content, hostile, rows

pytest.importorskip("matplotlib", reason="Matplotlib is not installed: the report is not tested in a browser")
pytest.importorskip("jinja2", reason="Jinja2 is not installed: the report is not tested in a browser")
A4 = 680
"""Pixels between the margins of a printed page."""
running_browser = pytest.fixture(scope="module", name="browser")(running)

Page = Any  # of Playwright, which may not be installed
Open = Callable[..., AbstractContextManager[Page]]


CASES: dict[str, Callable[[], list[Row]]] = {
    "one family": rows,
    "six families": lambda: [row for seed, family in enumerate(FAMILIES) for row in rows(family, seed=seed)],
    "hostile": hostile,
    "one method": lambda: rows(methods={"doubling": 0.1}),
    "failures": lambda: rows(failing=1.1),
    "bounds": lambda: rows(kind="bound"),
    "many": lambda: rows(instances=1500, sizes=range(5, 60)),
}


@pytest.fixture(scope="module")
def show(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Open:
    """Open the report of a case."""
    folder = tmp_path_factory.mktemp("reports")

    def show(case: str, **options: Any) -> AbstractContextManager[Page]:
        path = folder / f"{case}.html"
        if not path.exists():
            write_report(content(CASES[case](), HOSTILE[0] if case == "hostile" else case), path)
        return opened(browser, path, **options)

    return show


def column(page: Page, index: int) -> list[str]:
    """Texts of a column of the table of methods."""
    found: list[str] = page.evaluate(
        "index => [...document.querySelector('table.methods').tBodies[0].rows].map(row => row.cells[index].innerText)",
        index,
    )
    return found


def test_tables_sort_by_click(show: Open) -> None:
    """Up, then down; the head says which; other heads say that they do not."""
    with show("one family") as page:
        head = page.locator("table.methods thead th").nth(2)
        before = column(page, 2)
        head.get_by_role("button").click()
        ratios = [float(text.split()[1]) for text in column(page, 2)]
        assert ratios == sorted(ratios) and column(page, 2) != before
        assert head.get_attribute("aria-sort") == "ascending"
        head.get_by_role("button").click()
        assert [float(text.split()[1]) for text in column(page, 2)] == sorted(ratios, reverse=True)
        assert head.get_attribute("aria-sort") == "descending"
        page.locator("table.methods thead th").nth(0).get_by_role("button").click()
        assert column(page, 0) == sorted(column(page, 0))
        assert head.get_attribute("aria-sort") == "none"


def test_tables_sort_by_keyboard(show: Open) -> None:
    """The heads are reached with the tabulator; what has no number stays last both ways."""
    with show("one family") as page:
        page.locator("table.methods thead th").nth(10).get_by_role("button").focus()
        page.keyboard.press("Tab")  # better / equal / worse, which the method compared with has not
        for key in ("Enter", "Space"):
            page.keyboard.press(key)
            assert column(page, 11)[-1] == "–"
        wins = [int(text.split(" / ")[0]) for text in column(page, 11)[:-1]]
        assert wins == sorted(wins, reverse=True)


def test_hostile_names_are_text_and_run_nothing(show: Open) -> None:
    """In tables, keys and plots; a dialog would fail the test."""
    with show("hostile") as page:
        text = page.locator("body").text_content()
        shown = labels(HOSTILE, KEY)
        for name in HOSTILE:
            assert shown[name] in text and short(name) in text
        assert page.locator("h1").inner_text() == HOSTILE[0]
        assert page.locator(".key li").all_inner_texts() == list(shown.values())
        assert page.locator("main img, main script:not([type]), header img").count() == 0
        in_plots = page.locator(".plot >> nth=0").locator(".note text").all_text_contents()
        assert in_plots == list(shown.values())
        whole = [cell["title"] or cell["text"] for cell in first_cells(page)]
        assert whole == [printable(name) for name in HOSTILE]


def first_cells(page: Page) -> list[dict[str, str]]:
    """Names of the methods, and the whole of them where they are cut."""
    found: list[dict[str, str]] = page.evaluate(
        "[...document.querySelectorAll('table.methods tbody th')].map(cell => ({text: cell.textContent, title: cell.title}))"
    )
    return found


@pytest.mark.parametrize(
    ("case", "width"),
    [
        ("hostile", 360),
        pytest.param("six families", 360, marks=pytest.mark.long),
        pytest.param("failures", 360, marks=pytest.mark.long),
        pytest.param("hostile", 768, marks=pytest.mark.long),
    ],
)
def test_the_page_never_scrolls_sideways(show: Open, case: str, width: int) -> None:
    """With everything unfolded, too; tables scroll within their boxes."""
    with show(case, width=width) as page:
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        page.evaluate("scrollTo(500, 0)")
        assert page.evaluate("scrollX") == 0


CONTRAST = """() => {
    const numbers = text => text.match(/[0-9.]+/g).map(Number);
    const linear = part => part <= 0.04045 * 255 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4;
    const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const behind = element => {
        for (let each = element; each; each = each.parentElement) {
            const found = numbers(getComputedStyle(each).backgroundColor);
            if (found.length < 4 || found[3] > 0) return found;
        }
        return [255, 255, 255];
    };
    const least = {};
    for (const element of document.querySelectorAll('body *')) {
        const own = [...element.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
        if (!own || !element.checkVisibility() || ['SCRIPT', 'STYLE'].includes(element.tagName)) continue;
        const style = getComputedStyle(element);
        const ink = light(numbers(element instanceof SVGElement ? style.fill : style.color)), paper = light(behind(element));
        const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
        least[element.tagName] = Math.min(least[element.tagName] ?? 99, contrast);
    }
    return least;
}"""


def test_text_is_read_easily(show: Open) -> None:
    """Contrast of every text to what lies behind it, by the Web Content Accessibility Guidelines: at least 4.5."""
    with show("one family") as page:
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        for scheme, paper in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 23, 27)")):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
            least = page.evaluate(CONTRAST)
            assert {"BDI", "TH", "TD", "text", "PRE", "FIGCAPTION", "SUMMARY", "BUTTON"} <= set(least)
            assert min(least.values()) >= 4.5, least


def test_paper_is_light_and_holds_the_plots(show: Open) -> None:
    """Printed from a dark screen: dark on white, no plot wider than the page, what is folded left out."""
    with show("one family", color_scheme="dark") as page:
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert min(page.evaluate(CONTRAST).values()) >= 4.5
        assert max(page.evaluate("[...document.querySelectorAll('.plot svg')].map(each => each.clientWidth)")) <= A4
        assert page.locator(".numbers:visible").count() == 0
        assert page.locator(".specimen summary:visible").count() > 0
        page.set_viewport_size({"width": A4, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == A4
        assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


def test_without_javascript_the_page_still_reads(show: Open) -> None:
    """The tables and the plots are there, and the tables of the plots too."""
    with show("one family", java_script_enabled=False) as page:
        assert page.locator(".plot svg:visible").count() == 4
        page.locator(".numbers summary").first.click()
        assert page.locator(".numbers").first.locator("tbody tr:visible").count() == 5 + 60
        assert page.locator("table.methods tbody tr:visible").count() == 5
