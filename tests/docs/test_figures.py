"""The figures of the documentation: drawn alike every time, in both variants, and true to what dlsched answers."""

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("sphinx")
DOCS = Path(__file__).parents[2] / "docs"

from figures import NAMES, THEMES, draw_figures, heavy_edge  # noqa: E402

from dlsched import srpt_mapping  # noqa: E402


def test_equal_figures_are_equal_files(tmp_path, monkeypatch):
    """Every figure has a light and a dark variant, and drawing the light ones twice gives the same bytes."""
    draw_figures(tmp_path / "first")
    monkeypatch.setattr("figures.THEMES", {"light": THEMES["light"]})
    draw_figures(tmp_path / "second")
    first = {path.name: path.read_bytes() for path in (tmp_path / "first").iterdir()}
    second = {path.name: path.read_bytes() for path in (tmp_path / "second").iterdir()}
    assert second == {f"{name}-light.svg": first[f"{name}-light.svg"] for name in NAMES}
    assert set(first) == {f"{name}-{theme}.svg" for name in NAMES for theme in ("light", "dark")}
    assert all(first[f"{name}-light.svg"] != first[f"{name}-dark.svg"] for name in NAMES)


def test_every_figure_is_a_module_and_stands_on_a_page_with_a_text_for_it():
    """Names, files and the directives of the pages are the same, and each directive describes its figure in words."""
    pages = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    files = {path.stem for path in (DOCS / "figures").glob("*.py")} - {"__init__", "theme"}
    assert set(NAMES) == files
    for name in NAMES:
        shown = pages.split(f":::{{drawing}} {name}\n")
        assert len(shown) == 2 and len(shown[1].split(":alt: ")[1].split("\n")[0]) > 60


def test_heavy_edge_ends_as_drawn():
    """The last panel is the answer of the rule for the job and the free GPUs of the page."""
    stage = {"replicas": 4, "compute_s": 1.0, "output_bytes": 0, "parameter_bytes": 0}
    instance = srpt_mapping.Instance(
        name="two-servers",
        intra_bandwidth_bytes_per_s=1.5e11,
        nic_bandwidth_bytes_per_s=1.25e10,
        servers=[{"id": "s0", "gpus": 4}, {"id": "s1", "gpus": 4}],
        jobs=[{"id": "any", "release_s": 0, "iterations": 1, "stages": [stage]}],
    )
    servers = srpt_mapping.Servers(instance)
    servers.take([(0, (1,)), (1, (1,))])
    assert srpt_mapping.heavy_edge(heavy_edge.GRAPH, servers) == heavy_edge.placed()
