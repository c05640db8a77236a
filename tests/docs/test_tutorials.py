"""The notebooks of docs/tutorials run without a screen, show their progress, and print little."""

from pathlib import Path

import pytest

nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LONG = ("own_heuristic", "policy_over_a_trace")
"""Those that take longest: the documentation runs them whenever it is built, the campaigns hold them to what is asked here."""
LONGEST = 60
"""Lines that an output may have."""


def texts(cell):
    """What a cell printed and showed, as text; a picture is one line."""
    for output in cell.outputs:
        yield output.text if output.output_type == "stream" else output.data.get("text/plain", "")


def test_there_are_five_and_the_page_lists_them():
    """In the order in which one reads them."""
    listed = (FOLDER / "index.md").read_text(encoding="utf-8").split("```{toctree}")[1].split("```")[0].split()[3:]
    assert sorted(listed) == [path.stem for path in NOTEBOOKS] and len(listed) == 5


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path):
    """So that a change of it is a change of what somebody wrote."""
    cells = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    assert cells and not any(cell.outputs or cell.execution_count for cell in cells)


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.stem, marks=[pytest.mark.long] * (path.stem in LONG)) for path in NOTEBOOKS]
)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    """From top to bottom in an empty folder; no error, no output that one has to scroll through."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(path, 4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [text for cell in notebook.cells if cell.cell_type == "code" for text in texts(cell)]
    assert shown and max(len(text.splitlines()) for text in shown) <= LONGEST
