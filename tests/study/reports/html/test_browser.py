"""The report in a real browser: names as text, the plots' numbers in tables, sorting, paper, the dark, and a telephone.

In every test the browser has nothing to say in its console and asks for nothing but the file.
"""

import html
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from dlsched.core.messages import printable
from dlsched.study.reports.html import write_report
from dlsched.study.reports.html.words import KEY, labels, short
from dlsched.study.rows import Row

from .synthetic import HOSTILE, content, rows

pytest.importorskip("plotly", reason="Plotly is not installed: the report is not tested in a browser")
pytest.importorskip("jinja2", reason="Jinja2 is not installed: the report is not tested in a browser")
playwright = pytest.importorskip(
    "playwright.sync_api", reason="Playwright is not installed: the report is not tested in a browser"
)

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
FAMILIES = ("ring_allocation", "async_sgd", "elastic_stream", "matching_placement", "ring_embedding", "srpt_mapping")
A4 = 680
"""Pixels between the margins of a printed page."""

Page = Any  # of Playwright, which may not be installed
Open = Callable[..., AbstractContextManager[Page]]


def hostile() -> list[Row]:
    """Instances and methods with hostile names."""
    excess = dict(zip(HOSTILE, (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5), strict=True))
    return rows(instances=30, names=HOSTILE, methods=excess, failing=0.05)


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
def browser() -> Iterator[Any]:
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"no browser is here ({', '.join(NAMES)}): the report is not tested in one")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=program, args=QUIET)
        yield running
        running.close()


@pytest.fixture(scope="module")
def show(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Open:
    """Open the report of a case. Whatever the browser says in its console, asks for or runs fails the test."""
    folder = tmp_path_factory.mktemp("reports")

    @contextmanager
    def opened(case: str, *, width: int = 1280, **options: object) -> Iterator[Page]:
        path = folder / f"{case}.html"
        if not path.exists():
            write_report(content(CASES[case](), HOSTILE[0] if case == "hostile" else case), path)
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        page = context.new_page()
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        if options.get("java_script_enabled", True):
            while not page.evaluate("[...document.querySelectorAll('.plot')].every(plot => plot.dataset.drawn)"):
                page.wait_for_timeout(50)  # wait_for_function evaluates text, which the page forbids
        yield page
        assert (said, asked) == ([], [path.as_uri()])
        context.close()

    return opened


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
        page.locator("table.methods thead th").nth(9).get_by_role("button").focus()
        page.keyboard.press("Tab")  # better / equal / worse, which the method compared with has not
        for key in ("Enter", "Space"):
            page.keyboard.press(key)
            assert column(page, 10)[-1] == "–"
        wins = [int(text.split(" / ")[0]) for text in column(page, 10)[:-1]]
        assert wins == sorted(wins, reverse=True)


def test_hostile_names_are_text_and_run_nothing(show: Open) -> None:
    """In tables, keys, plots, and what hovering shows; a dialog would fail the test."""
    with show("hostile") as page:
        text = page.locator("body").text_content()
        shown = labels(HOSTILE, KEY)
        for name in HOSTILE:
            assert shown[name] in text and short(name) in text
        assert page.locator("h1").inner_text() == HOSTILE[0]
        assert page.locator(".key li").all_inner_texts() == list(shown.values())
        assert page.locator("main img, main script:not([type]), header img").count() == 0
        in_plots = page.locator(".plot .annotation-text").all_text_contents()
        assert in_plots == list(shown.values())
        whole = [cell["title"] or cell["text"] for cell in first_cells(page)]
        assert whole == [printable(name) for name in HOSTILE]


def first_cells(page: Page) -> list[dict[str, str]]:
    """Names of the methods, and the whole of them where they are cut."""
    found: list[dict[str, str]] = page.evaluate(
        "[...document.querySelectorAll('table.methods tbody th')].map(cell => ({text: cell.textContent, title: cell.title}))"
    )
    return found


def test_hovering_names_the_instance(show: Open) -> None:
    """The rightmost dot of every method: its label names instance, method and ratio."""
    with show("hostile") as page:
        dots = page.evaluate(
            """[...document.querySelector('.plot').querySelectorAll('.trace')].flatMap((trace, index) => {
                const data = document.querySelector('.plot').data[index];
                if (!data.index) return [];
                const at = data.x.indexOf(Math.max(...data.x));
                const box = trace.querySelectorAll('.points path')[at].getBoundingClientRect();
                return [{left: box.x + box.width / 2, top: box.y + box.height / 2 + scrollY, x: data.x[at], row: data.index[at]}];
            })"""
        )
        names = page.evaluate(
            "[...document.querySelectorAll('.plotted')[1].tBodies[0].rows].map(row => row.cells[0].textContent)"
        )
        methods = list(labels(HOSTILE, KEY).values())
        page.evaluate("scrollTo(0, document.querySelector('.plot').getBoundingClientRect().y - 50)")
        scrolled = page.evaluate("scrollY")
        assert len(dots) >= len(HOSTILE)
        read = []
        for dot in dots:
            page.mouse.move(dot["left"] + 40, 5)
            page.mouse.move(dot["left"], dot["top"] - scrolled)
            page.wait_for_selector(".hovertext")
            read.append("".join(page.locator(".hovertext tspan.line").all_text_contents()))
        for dot, text in zip(dots, read, strict=True):
            assert str(dot["x"]) in text
            assert any(text.count(f"{method}: ") for method in methods)
            assert any(name in text for name in names)
        assert any(HOSTILE[0] in text for text in read)


PLOTS = """[...document.querySelectorAll('figure')].map(figure => ({
    title: figure.querySelector('h3').textContent, marks: figure.querySelectorAll('.trace path').length,
    data: figure.querySelector('.plot').data.map(trace => ({
        name: trace.name, x: [...trace.x], y: [...trace.y], index: trace.index, sign: trace.sign, sizes: trace.customdata,
        symbol: trace.marker && trace.marker.symbol})),
    tables: [...figure.querySelectorAll('table')].map(table => ({
        heads: [...table.tHead.rows[0].cells].map(cell => cell.textContent),
        rows: [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent))})),
}))"""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.long if case in ("six families", "hostile", "many") else ())
        for case in CASES
    ],
)
def test_every_number_of_a_plot_stands_in_its_table(show: Open, case: str) -> None:
    """What Plotly holds, and what the tables beside it say."""
    check = {"Ratios": same_dots, "Performance profile": same_steps}
    with show(case) as page:
        plots = page.evaluate(PLOTS)
        assert len(plots) == {"six families": 24, "one method": 3, "failures": 0}.get(case, 4)
        for plot in plots:
            assert plot["marks"]
            for trace in plot["data"]:
                trace["name"] = html.unescape(trace["name"] or "")
            check.get(plot["title"], same_sizes)(plot)


def same_dots(plot: dict[str, Any]) -> None:
    """Each dot is a cell of its instance's row and its method's column, with the sign; and no cell is without its dot."""
    quantiles, ratios = plot["tables"]
    dots = [trace for trace in plot["data"] if trace["index"]]
    seen = 0
    for trace in dots:
        cells = [ratios["rows"][at][ratios["heads"].index(trace["name"])] for at in trace["index"]]
        assert [trace["sign"] + json.dumps(x).removesuffix(".0") for x in trace["x"]] == cells
        assert (trace["symbol"] == "circle-open") == (trace["sign"] == "≤ ")
        seen += len(cells)
    assert seen == sum(text[-1].isdigit() and index > 1 for row in ratios["rows"] for index, text in enumerate(row))
    bars = [sorted(set(trace["x"])) for trace in plot["data"] if not trace["index"]]
    quarters = [[float(row[3]), float(row[5]), float(row[4])] for row in quantiles["rows"]]
    assert bars == [each for low, high, middle in quarters for each in (sorted({low, high}), [middle])]


def same_steps(plot: dict[str, Any]) -> None:
    """A column for each curve, a row for each factor."""
    (table,) = plot["tables"]
    taus, *shares = ([float(text) for text in cells] for cells in zip(*table["rows"], strict=True))
    assert [(trace["name"], trace["x"], trace["y"]) for trace in plot["data"]] == [
        (head, taus, of) for head, of in zip(table["heads"][1:], shares, strict=True)
    ]


def same_sizes(plot: dict[str, Any]) -> None:
    """A row for each mark: its method, size and median, and the ends of the line through it."""
    (table,) = plot["tables"]
    marks = [trace for trace in plot["data"] if trace["sizes"]]
    ranges = [trace for trace in plot["data"] if not trace["sizes"]]
    drawn = [
        [trace["name"], low, middle, high, symbol.endswith("-open")]
        for trace, line in zip(marks, ranges, strict=True)
        for middle, low, high, symbol in zip(trace["y"], line["y"][::3], line["y"][1::3], trace["symbol"], strict=True)
    ]
    assert drawn == [
        [row[0], *(float(text.removeprefix("≤ ")) for text in row[3:]), row[4].startswith("≤")] for row in table["rows"]
    ]
    for trace in marks:  # methods stand side by side
        assert trace["x"] == pytest.approx(trace["sizes"], rel=0.2)


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
    """The tables are there, those of the plots too, and a sentence stands where a plot would."""
    with show("one family", java_script_enabled=False) as page:
        assert page.locator(".nojs:visible").count() == 4
        assert "with JavaScript, which is off here" in page.locator(".nojs").first.inner_text()
        page.locator(".numbers summary").first.click()
        assert page.locator(".numbers").first.locator("tbody tr:visible").count() == 5 + 60
        assert page.locator("table.methods tbody tr:visible").count() == 5
