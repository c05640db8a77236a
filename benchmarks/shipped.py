"""Every method on every shipped instance: objective, gap and time, as one page a family.

Protocol: each method once, one thread, a limit of 10 s on each; exact methods that would need more memory than they allow
themselves say so in their row. Gaps are to the proven optimum. Solvers are warm: the first solve of each is thrown away.

    python benchmarks/shipped.py [FAMILY]        # writes benchmarks/results/shipped_<family>.md
"""

import json
import subprocess
import sys
from pathlib import Path

from table import machine, markdown

from dlsched import FAMILIES
from dlsched.cli.output import percent

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Run `dlsched compare` on all files of the families named, of all by default, and write their pages."""
    for family in sys.argv[1:] or FAMILIES:
        write_page(family)


def write_page(family: str) -> None:
    """Compare all methods on the files of one family; the example comes first, to warm the solvers, and is dropped."""
    folder = ROOT / "instances" / family
    files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_size)
    warm = folder / f"{FAMILIES[family].example().name}.json"
    command = [sys.executable, "-m", "dlsched", "compare", str(warm), *map(str, files), "--json", "--time-limit", "10"]
    rows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    cells = [
        [
            row["instance"],
            row["method"],
            row["status"],
            "-" if row["objective"] is None else f"{row['objective']:,.2f}",
            ("<= " if row["ratio_is_at_most"] else "") + percent(row["gap"]),
            "-" if row["runtime_s"] is None else f"{row['runtime_s']:.3f}",
        ]
        for row in rows[len(methods) :]
    ]
    columns = ["instance", "method", "status", "objective", "gap to the optimum", "seconds"]
    head = f"# Every method on every shipped instance of {family}\n\n`python benchmarks/shipped.py {family}`, {machine()}.\n\n"
    page = head + markdown(columns, cells)
    print(page)
    Path(__file__).parent.joinpath("results", f"shipped_{family}.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
