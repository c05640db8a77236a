"""The gallery: of every heuristic and policy the worst instance known, in ``instances``, and what the pages say of it.

That the optima are what the files say is proven again by ``tests/test_instances.py``.
"""

import math
import re
import shutil
from pathlib import Path

import pytest
import worst_gallery
from shipped import ROOT

import dlsched
from dlsched import FAMILIES, find_worst
from dlsched.core.status import Sense
from dlsched.families import instance_from, write

DOCS = ROOT.parent / "docs"
HEADING = "## The worst known"
SOURCE = re.compile(
    r"dlsched worst (?P<family>\S+) --method (?P<searched>\S+).* --seed \d+(?: --prove)?: (?P<method>\S+) (?P<ratio>.+)"
)
METHODS = [
    pytest.param(name, method, id=f"{name}-{method}")
    for name, family in FAMILIES.items()
    for method in family.methods
    if family.methods[method].kind == "heuristic"
]


def file_of(family: str, method: str) -> Path:
    """Where the worst instance of a method lies."""
    return ROOT / family / f"worst-{method}.json"


@pytest.mark.parametrize(("family", "method"), METHODS)
def test_files_and_pages_say_how_bad_a_method_is(family: str, method: str) -> None:
    """The file's ratio is that of the method to the known optimum; README and page have it; no guarantee is broken."""
    page, readme = (path.read_text(encoding="utf-8") for path in (DOCS / f"{family}.md", ROOT / family / "README.md"))
    section = page[page.index(HEADING) :].split("\n## ")[0]
    assert file_of(family, method).exists() and f"`{method}` " in section and f"`worst-{method}.json`" in readme, (
        f"{method} has no worst instance in the gallery. Put `{method}` 1 into the table under {HEADING!r} of docs/{family}.md "
        f"and a row | `worst-{method}.json` | | | | into instances/{family}/README.md; then "
        f"`python benchmarks/worst_gallery.py {family} {method}` searches, writes the file and fills in the figures"
    )
    instance, record = dlsched.read(file_of(family, method)), FAMILIES[family]
    said = SOURCE.fullmatch(instance.source)
    assert said is not None and (said["family"], said["method"]) == (family, method)
    objective, optimum = dlsched.solve(instance, method=method).objective, instance.known.optimum
    constant, sense = record.constant(instance), record.sense_for(instance)
    ratio = math.inf  # where there is no answer, or one that is worth nothing
    if objective is not None and sense is Sense.MINIMIZE:
        ratio = (objective - constant) / (optimum - constant)
    elif objective is not None and objective > constant:
        ratio = (optimum - constant) / (objective - constant)
    without = math.isinf(ratio)
    assert said["ratio"] == "without bound" if without else float(said["ratio"]) == pytest.approx(ratio, rel=1e-5)
    figure = f"`{method}` {'without bound' if without else f'{ratio:.4g}'}"
    assert figure in section, f"docs/{family}.md lacks {figure}: python benchmarks/worst_gallery.py {family} {method}"
    promise = record.methods[method].guarantee
    if promise is not None and objective is not None and promise.holds_for(instance):
        allowed = promise.worst(instance, optimum)
        assert not sense.better(allowed, objective) or allowed == pytest.approx(objective, rel=1e-9)


@pytest.fixture
def gallery(tmp_path: Path) -> Path:
    """A copy of what is shipped of ring_allocation, the page beside it."""
    (tmp_path / "docs").mkdir()
    shutil.copy(DOCS / "ring_allocation.md", tmp_path / "docs")
    shutil.copytree(ROOT / "ring_allocation", tmp_path / "instances" / "ring_allocation")
    return tmp_path / "instances"


def test_what_is_shipped_stays_where_nothing_worse_is_found(gallery: Path) -> None:
    """A search of three evaluations: file, README and page are what they were, to the byte."""
    before = {path: path.read_bytes() for path in gallery.parent.rglob("*.*")}
    found = find_worst("ring_allocation", "equal", budget=3)
    kept = worst_gallery.keep(found, gallery)
    worst_gallery.say(kept, gallery)
    assert kept.ratio is not None and found.ratio is not None and kept.ratio > found.ratio
    assert {path: path.read_bytes() for path in gallery.parent.rglob("*.*")} == before


def test_what_is_worse_takes_its_place(gallery: Path) -> None:
    """A file of ratio 1 is replaced, and README and page say the new figure."""
    own = gallery / "ring_allocation" / "worst-equal.json"
    for path in gallery.rglob("worst-*.json"):
        path.unlink()
    one = {"id": "a", "epochs": 1.0, "epoch_time_s": {"1": 2.0, "2": 1.0}}
    data = {"format": "dlsched/ring_allocation/1", "name": "worst-equal", "gpus": 2, "jobs": [one]}
    write(instance_from(data, "by hand"), own)
    found = find_worst("ring_allocation", "equal", budget=60)
    kept = worst_gallery.keep(found, gallery)
    worst_gallery.say(kept, gallery)
    assert kept.ratio == found.ratio and kept.ratio is not None and 1 < kept.ratio < 1.99
    assert dlsched.read(own) == kept.instance
    assert f"`equal` {kept.ratio:.4g} |" in (gallery.parent / "docs" / "ring_allocation.md").read_text(encoding="utf-8")
    row = (
        f"| `worst-equal.json` | {len(kept.instance.as_data()['jobs'])} | {kept.reference:,.6g} | {kept.ratio:.4g} |\n"
    )
    assert row in (gallery / "ring_allocation" / "README.md").read_text(encoding="utf-8")


def test_the_gallery_has_nothing_else() -> None:
    """No file of a method that is gone."""
    held = {file_of(each.values[0], each.values[1]) for each in METHODS}
    assert set(ROOT.glob("*/worst-*.json")) == held
