"""The page in a real browser: nothing in its console, nothing fetched, names as text, no scrolling sideways, in the dark too."""

from pathlib import Path
from typing import Any

import pytest
from study.reports.synthetic import HOSTILE

from dlsched.core.messages import printable
from dlsched.evaluation.clusters import HAPPENED
from dlsched.evaluation.page import write_page
from tests.browser import opened, running

from .by_hand import cluster
from .test_page import FAST, SLOW, told

pytest.importorskip("matplotlib", reason="Matplotlib is not installed: there is no page")
running_browser = pytest.fixture(scope="module", name="browser")(running)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_the_page_opens_anywhere(browser: Any, tmp_path: Path, scheme: str, width: int) -> None:
    """Two clusters, hostile names of policies, users and the trace."""
    names = tuple(HOSTILE[:6])
    one = cluster({HAPPENED: SLOW, **dict.fromkeys(names, FAST)}, users=HOSTILE[:6], least_flow_s=14400.0)
    path, title = tmp_path / "page.html", HOSTILE[0].replace("/", "|")
    write_page(told(one, cluster(dict.fromkeys(names, SLOW), gpus=4), names=names, title=title), path)
    with opened(browser, path, width=width, color_scheme=scheme) as page:
        assert page.locator(".plot svg").count() >= 3
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("h1").inner_text() == printable(title)
        assert page.locator("main img, main script:not([type])").count() == 0
        ink, paper = (page.evaluate(f"getComputedStyle(document.body).{key}") for key in ("color", "backgroundColor"))
        assert (sum(map(int, ink[4:-1].split(","))) > sum(map(int, paper[4:-1].split(",")))) == (scheme == "dark")
