"""Every method on every shipped instance: objective, gap and time, as one page.

Protocol: each method once, one thread, a limit of 10 s on each; exact methods that would need more memory than they allow
themselves say so in their row. Gaps are to the proven optimum. Solvers are warm: the first solve of each is thrown away.

    python benchmarks/shipped.py        # writes benchmarks/results/shipped.md
"""

import json
import subprocess
import sys
from pathlib import Path

from table import machine, markdown

from dlsched.cli.output import percent

ROOT = Path(__file__).parent.parent
FILES = sorted(ROOT.glob("instances/*/*.json"), key=lambda path: (path.parent.name, path.stat().st_size))
WARM = ROOT / "instances" / "ring_allocation" / "two-jobs.json"


def main() -> None:
    """Run `dlsched compare` on all files and write the page."""
    command = [sys.executable, "-m", "dlsched", "compare", str(WARM), *map(str, FILES), "--json", "--time-limit", "10"]
    rows = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    rows = rows[len(methods) :]
    cells = [
        [
            row["instance"],
            row["method"],
            row["status"],
            "-" if row["objective"] is None else f"{row['objective']:,.2f}",
            ("<= " if row["ratio_is_at_most"] else "") + percent(row["gap"]),
            "-" if row["runtime_s"] is None else f"{row['runtime_s']:.3f}",
        ]
        for row in rows
    ]
    columns = ["instance", "method", "status", "objective", "gap to the optimum", "seconds"]
    head = f"# Every method on every shipped instance\n\n`python benchmarks/shipped.py`, {machine()}.\n\n"
    page = head + markdown(columns, cells)
    print(page)
    Path(__file__).parent.joinpath("results", "shipped.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
