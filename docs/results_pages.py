"""The pages of benchmark results: copied from ``benchmarks/results`` into ``docs/_results`` when the documentation is built.

So they are kept once, where ``make bench`` writes them, and read in the documentation too.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"


def unbroken(text: str) -> str:
    """Return a page whose numbers are not torn from their intervals and units at the end of a line."""
    return re.sub(r"(\d) (?=\\?\[[-+\d])", "\\1\u00a0", text).replace(" % |", "\u00a0% |")


def copy_results(folder: Path) -> None:
    """Copy all pages and figures of results into the folder, and remove from it what is not a result."""
    folder.mkdir(exist_ok=True)
    results = {path.name: path.read_bytes() for path in RESULTS.iterdir()}
    pages = [name for name in results if name.endswith(".md")]
    results |= {name: unbroken(results[name].decode()).encode() for name in pages}
    for path in folder.iterdir():
        if path.name not in results:
            path.unlink()
    for name, content in results.items():
        copy = folder / name
        if not copy.exists() or copy.read_bytes() != content:  # an unchanged page is not built again
            copy.write_bytes(content)


def setup(app: Sphinx) -> dict[str, bool]:
    """Copy before the pages are looked for."""
    app.connect("builder-inited", lambda app: copy_results(Path(app.srcdir) / "_results"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
