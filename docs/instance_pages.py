"""Tables of the library of instances: made of ``instances/index.csv`` into ``docs/_instances`` when the documentation is built.

``instances.md`` includes them, a file for each family, and one for what is open.
"""

import csv
from pathlib import Path

from sphinx.application import Sphinx

INDEX = Path(__file__).parents[1] / "instances" / "index.csv"
SHOWN = ("instance", "size", "load", "status", "best", "bound", "gap", "found_by", "proven_by", "split")


def read_index(index: Path = INDEX) -> list[dict[str, str]]:
    """Rows of the index."""
    with index.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def table(rows: list[dict[str, str]], columns: tuple[str, ...] = SHOWN) -> str:
    """Rows as a table of Markdown."""
    lines = [columns, ["---"] * len(columns)]
    lines += [[_cell(name, row[name]) for name in columns] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(name: str, value: str) -> str:
    if name == "instance":
        return f"`{value.partition('/')[2].removesuffix('.json')}`"
    if name in ("best", "bound") and value:
        return f"{float(value):,.10g}"
    return value.replace("|", "\\|").replace(";", ", ").replace("_", "\\_")


def pages(rows: list[dict[str, str]]) -> dict[str, str]:
    """Texts by file name: the counts of each family, its instances, and the open ones of all."""
    families = dict.fromkeys(row["family"] for row in rows)
    texts = {f"{name}.md": table([row for row in rows if row["family"] == name]) for name in families}
    statuses = ("easy", "hard", "open")
    counts = [
        {"family": name, "instances": str(len(own)), **{status: str(own.count(status)) for status in statuses}}
        for name in families
        if (own := [row["status"] for row in rows if row["family"] == name])
    ]
    texts["counts.md"] = table(counts, ("family", "instances", *statuses))
    unproven = [row | {"instance": f"/{row['instance']}"} for row in rows if row["status"] == "open"]
    columns = ("instance", "size", "best", "bound", "gap", "found_by", "proven_by", "split")
    texts["open.md"] = table(unproven, columns)
    return texts


def write_pages(folder: Path) -> None:
    """Write all tables into the folder; an unchanged one stays, so that its page is not built again."""
    folder.mkdir(exist_ok=True)
    for name, text in pages(read_index()).items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write before the pages are looked for."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / "_instances"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
