"""The API reference is complete: every public name has an entry, and so has whatever the pages import."""

import re
from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
DOCS = Path(__file__).parents[2] / "docs"

import public_names  # noqa: E402

import dlsched  # noqa: E402


def entries(page):
    """Paths that a page of the reference documents."""
    text = public_names.text_of(page)
    return set(re.findall(r"^\.\. (?:auto\w+|py:data):: ([\w.]+)", text, re.MULTILINE))


@pytest.fixture(scope="module")
def documented():
    return {path for page in public_names.PAGES for path in entries(page)}


@pytest.mark.parametrize(
    "module",
    [
        "dlsched",
        *(f"dlsched.{name}" for name in (*dlsched.FAMILIES, *public_names.ROOMS, "statistics", "traces", "plots")),
    ],
)
def test_every_public_name_has_an_entry(module, documented):
    """Names in ``__all__`` are documented under the path from which users import them; modules have pages or sections."""
    paths = {f"{module}.{name}" for name in import_module(module).__all__}
    assert paths <= documented | {*public_names.PAGES, "dlsched.elastic_stream.policies"}


def test_what_the_pages_import_has_an_entry(documented):
    """Every ``from dlsched.x import y`` of a page for users is of a public name; what extends dlsched is made of inner ones."""
    missing = []
    for path in set(DOCS.glob("*.md")) - {DOCS / name for name in ("adding_a_family.md", "extending.md")}:
        for module, names in re.findall(
            r"^(?:>>> )?from (dlsched[\w.]*) import (.*)$", path.read_text("utf-8"), re.MULTILINE
        ):
            imported = {f"{module}.{name.split(' as ')[0].strip()}" for name in names.split(",")}
            missing += imported - documented - set(public_names.PAGES)
    assert not missing


@pytest.mark.parametrize("page", public_names.PAGES)
def test_every_name_is_described(page):
    """Each has a first sentence, so that the table at the top of its page says what it is."""
    assert [name.path for name in public_names.names_on(page) if not name.summary] == []


def test_every_page_is_listed():
    """api.md leads to each page, in the same order."""
    listed = re.findall(r"^_api/([\w.]+)$", (DOCS / "api.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(public_names.PAGES)


def test_records_are_found_wherever_they_are_defined(documented):
    """Family, method, guarantee and the kinds of certificates stand on the page of dlsched."""
    names = {path.rsplit(".", 1)[1] for path in entries("dlsched")}
    assert {"Family", "Method", "Guarantee", "PriceCertificate", "DualsCertificate"} <= names
    assert "dlsched.ring_allocation.solve" in documented


def test_results_are_listed():
    """benchmarks.md leads to every page of results."""
    listed = re.findall(r"^_results/(\w+)$", (DOCS / "benchmarks.md").read_text("utf-8"), re.MULTILINE)
    pages = (DOCS.parent / "benchmarks" / "results").glob("*.md")
    assert sorted(listed) == sorted(path.stem for path in pages)


def test_an_example_after_the_sections_is_an_example():
    """Of no section before it: it would stand there as if it were one more error."""
    lines = ["What it is.", "", "Raises", "------", "ValueError", "    When it is wrong.", "", ">>> 1 + 1", "2"]
    public_names.tell_of_the_module(None, "class", "", dlsched.Limits, None, lines)
    assert lines[6:] == ["", "Examples", "--------", "", ">>> 1 + 1", "2"]
    alone = ["What it is.", "", ">>> 1 + 1", "2"]
    public_names.tell_of_the_module(None, "class", "", dlsched.Limits, None, alone)
    assert "Examples" not in alone
