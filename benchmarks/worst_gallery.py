"""The gallery of worst instances: what is shipped for a heuristic stays, unless something worse is found.

``python benchmarks/worst_gallery.py FAMILY METHOD...`` searches for each method, holds what it finds against all instances that
the gallery has of the family, as they are answered now, and writes the worst: the file, its row in the README of the folder, and
its figure on the family's page. A file of which the ratio has changed says the new one.
"""

import argparse
import math
import re
from dataclasses import replace
from pathlib import Path

from dlsched import FAMILIES, read
from dlsched.families import write
from dlsched.worst.judge import Judge, Judged, Worst, finite, said_of
from dlsched.worst.search import BUDGET, find_worst
from dlsched.worst.spaces import space_of

GALLERY = Path(__file__).parent.parent / "instances"
CARRIED = 1e-3
"""By how much worse another instance has to be, relative, to take the place of one."""


def judge_of(family: str, method: str) -> Judge:
    """A judge by the reference of the family's space."""
    record, space = FAMILIES[family], space_of(family)
    named = space.reference
    reference = record.method(named) if isinstance(named, str) else named
    return Judge(record, record.method(method), reference, space.solver)


def value_of(worst: Worst) -> float:
    """The ratio after shrinking, infinite where it is without bound."""
    return math.inf if worst.ratio is None else worst.ratio


def ratio(value: float) -> str:
    """A ratio for a table."""
    return "without bound" if math.isinf(value) else f"{value:.4g}"


def carried(worst: Worst, judged: Judged, command: str, reference: str) -> Worst:
    """What another search found, as the worst instance of this method."""
    other = replace(
        worst,
        ratio=finite(judged.ratio),
        objective=judged.objective,
        reference=judged.reference.value,
        reference_kind=judged.reference.kind,
        command=command,
    )
    instance = judged.instance.model_copy(update={"name": worst.instance.name})
    return replace(other, instance=said_of(other, instance, reference))


def keep(worst: Worst, gallery: Path) -> Worst:
    """Write the worst of what was found and of what the gallery has of the family; return it.

    Where none is worse by ``CARRIED``, the file of the method itself stays, then what was found comes before other files.
    """
    folder, name = gallery / worst.family, f"worst-{worst.method}.json"
    judge, best, own = judge_of(worst.family, worst.method), worst, folder / name
    if own.exists():
        shipped = _shipped(worst, judge, own)
        if shipped is not None and value_of(worst) <= value_of(shipped) * (1 + CARRIED):
            best = shipped
    for path in sorted(folder.glob("worst-*.json")):
        other = _shipped(worst, judge, path)
        if other is not None and value_of(other) > value_of(best) * (1 + CARRIED):
            best = other
    folder.mkdir(parents=True, exist_ok=True)
    write(best.instance, own)
    return best


def _shipped(worst: Worst, judge: Judge, path: Path) -> Worst | None:
    """An instance of the gallery as the method answers it now; None where no ratio is defined."""
    instance = read(path)
    judged = judge.judge(instance.as_data())
    command = (instance.source or "").partition(f": {path.stem.removeprefix('worst-')} ")[0]
    return None if judged is None else carried(worst, judged, command, judge.reference.name)


def say(worst: Worst, gallery: Path) -> None:
    """Put the figures of an instance into the README of its folder and onto the family's page, in ``docs`` beside the gallery."""
    readme, page = gallery / worst.family / "README.md", gallery.parent / "docs" / f"{worst.family}.md"
    jobs = len(worst.instance.as_data()["jobs"])
    row = f"| `worst-{worst.method}.json` | {jobs} | {worst.reference:,.6g} | {ratio(value_of(worst))} |"
    text, rows = re.subn(rf"\| `worst-{worst.method}\.json` \|.*", lambda _: row, readme.read_text(encoding="utf-8"))
    before, heading, rest = page.read_text(encoding="utf-8").partition("## The worst known")
    section, further, after = rest.partition("\n## ")
    said, figures = re.subn(
        rf"`{worst.method}` (without bound|[\d.]+(e[+-]\d+)?)",
        f"`{worst.method}` {ratio(value_of(worst))}",
        section,
    )
    if (rows, figures) != (1, 1):
        raise ValueError(f"{worst.family}, {worst.method}: found {rows} rows, {figures} figures, allowed: one of each")
    readme.write_text(text, encoding="utf-8")
    page.write_text("".join((before, heading, said, further, after)), encoding="utf-8")


def main() -> None:
    """Search for some methods of a family."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=list(FAMILIES))
    parser.add_argument("methods", nargs="+")
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gallery", type=Path, default=GALLERY)
    options = parser.parse_args()
    for method in options.methods:
        found = find_worst(options.family, method, budget=options.budget, seed=options.seed)
        best = keep(found, options.gallery)
        say(best, options.gallery)
        print(f"{options.family} {method}: found {found.ratio_text}, in the gallery {best.ratio_text}", flush=True)


if __name__ == "__main__":
    main()
