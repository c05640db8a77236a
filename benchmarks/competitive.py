"""Suprema of the ratio of policies of elastic_stream to the optimum, each certificate verified.

A ratio is of total flow time, and its supremum over all arrivals and works, for exactly so many jobs whose speeds are given
(``docs/competitive.md``). Each certificate is written as text, read again and verified in rationals. Where the search reaches
its limit of programs there is an interval: the ratio of an instance, and what is proven not to be exceeded.

    python benchmarks/competitive.py                                  # all policies, laws and units that the page has
    python benchmarks/competitive.py --jobs 3 --units 2,4 --policies equal,srpt-knee

Every supremum is written to ``results/competitive.json`` when it is found, so the command goes on where it was stopped.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path

from table import machine, markdown

from dlsched.core.limits import Limits
from dlsched.worst.competitive.proven import POLICIES, Supremum, prove_policy, speeds_of
from dlsched.worst.competitive.verification import verify

RESULTS = Path(__file__).parent / "results" / "competitive.json"
GIVEN = {2: "1,9/5", 3: "1,7/4,9/4", 4: "1,9/5,5/2,31/10", 5: "1,9/5,5/2,3,17/5", 6: "1,9/5,5/2,3,17/5,37/10"}
LAWS = ("linear", "power:4/5", "amdahl:1/10", "given")
UNITS, JOBS = tuple(GIVEN), (2, 3)
MOST_UNITS = {3: 4}
"""Units up to which the page has suprema of so many jobs."""
PROGRAMS = 10_000
"""Linear programs after which a search is stopped."""

Cell = tuple[str, str, int, int]
"""Policy, law, units and jobs."""
Found = dict[str, str]
"""``supremum`` and ``attained``, or ``at_least`` and ``at_most``."""


def speeds(law: str, units: int) -> str:
    """Speeds as the command line takes them."""
    return GIVEN[units] if law == "given" else law


def prove(cell: Cell) -> Found:
    """Prove and verify one; AssertionError: the verifier confirms something else."""
    method, law, units, jobs = cell
    proven = prove_policy(method, speeds=speeds_of(speeds(law, units), units), jobs=jobs, limits=Limits(nodes=PROGRAMS))
    if proven.at_most is not None:
        confirmed = verify(json.loads(json.dumps(proven.as_data())))
        assert (confirmed.supremum, confirmed.ratio) == (proven.at_most, proven.ratio)
        assert confirmed.interval == (proven.supremum is None)
    return as_found(proven)


def as_found(proven: Supremum) -> Found:
    """The supremum, or an interval, as text."""
    if proven.supremum is not None:
        return {"supremum": str(proven.supremum), "attained": str(proven.attained)}
    return {"at_least": str(max(proven.ratio, Fraction(1))), "at_most": str(proven.at_most)}


def cells(methods: Iterable[str], laws: Iterable[str], units: Iterable[int], jobs: Iterable[int]) -> list[Cell]:
    """All that is asked for, few jobs and units first."""
    asked = [(method, law, many, n) for n in jobs for many in units for law in laws for method in methods]
    return [cell for cell in asked if cell[2] <= MOST_UNITS.get(cell[3], max(UNITS))]


def shown(found: Found | None) -> str:
    """A cell of a table; without a mark: attained."""
    if found is None:
        return ""
    if "supremum" in found:
        return found["supremum"] + ("" if found["attained"] == "True" else "\\*")
    most = found["at_most"]
    return f"[{float(Fraction(found['at_least'])):.4f}, {'' if most == 'None' else f'{float(Fraction(most)):.4f}'}]"


def page(found: dict[Cell, Found]) -> str:
    """Least suprema by law and size, then all of them."""
    asked, _, rest = (__doc__ or "").replace("``", "`").partition("\n\n")
    proven = sum("supremum" in each for each in found.values())
    best, parts = [], []
    for n in JOBS:
        for units in UNITS:
            here = {cell: each for cell, each in found.items() if cell[2:] == (units, n)}
            if not here:
                continue
            for law in LAWS:
                of_law = {cell[0]: each for cell, each in here.items() if cell[1] == law}
                if of_law.keys() != POLICIES.keys():  # the least of all is not known yet
                    continue
                of = {name: Fraction(each["supremum"]) for name, each in of_law.items() if "supremum" in each}
                least = min(of.values())
                names = [f"`{name}`" for name in POLICIES if of.get(name) == least]
                best.append([str(n), str(units), law, str(least), f"{float(least):.4f}", ", ".join(names)])
            rows = [
                [f"`{method}`", *(shown(found.get((method, law, units, n))) for law in LAWS)]
                for method in POLICIES
                if any((method, law, units, n) in found for law in LAWS)
            ]
            given = GIVEN[units].replace(",", ", ")
            parts.append(f"## {n} jobs, {units} units (given: {given})\n\n" + markdown(["policy", *LAWS], rows))
    return (
        "\n\n".join(
            part.rstrip("\n")
            for part in (
                "# Suprema of policies",
                f"*{asked}*",
                rest.partition("    python")[0].strip(),
                f"{proven:,} suprema and {len(found) - proven:,} intervals, each certificate verified. An asterisk: approached "
                f"by instances, not known to be attained. Searches stop after {PROGRAMS:,} programs.",
                "## The least",
                markdown(["jobs", "units", "speeds", "least supremum", "", "of"], best),
                *parts,
                f"`python benchmarks/competitive.py`, {machine()}.",
            )
        )
        + "\n"
    )


def main() -> None:
    """Prove what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    def several(read: Callable[[str], object]) -> Callable[[str], list[object]]:
        return lambda text: [read(part) for part in text.split(",")]

    parser.add_argument("--policies", type=several(str), default=list(POLICIES))
    parser.add_argument("--laws", type=several(str), default=list(LAWS))
    parser.add_argument("--units", type=several(int), default=list(UNITS))
    parser.add_argument("--jobs", type=several(int), default=list(JOBS))
    parser.add_argument("--raw", type=Path, default=RESULTS, help="where suprema are kept")
    options = parser.parse_args()
    raw: Path = options.raw
    kept = json.loads(raw.read_text(encoding="utf-8")) if raw.is_file() else {}
    found: dict[Cell, Found] = {
        (m, law, int(c), int(n)): each
        for (m, law, c, n), each in ((key.split("|"), each) for key, each in kept.items())
    }
    try:
        for cell in cells(options.policies, options.laws, options.units, options.jobs):
            if cell not in found:
                found[cell] = prove(cell)
                print(*cell, shown(found[cell]), file=sys.stderr, flush=True)
                data = {"|".join(map(str, each)): found[each] for each in sorted(found)}
                raw.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    finally:
        raw.with_suffix(".md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
