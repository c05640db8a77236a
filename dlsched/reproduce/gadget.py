"""Figures 4 and 7 of GADGET (Yu et al., INFOCOM 2022, arXiv 2202.01158), with the numbers that the paper's plots show."""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean

from dlsched.core.messages import listed
from dlsched.core.quantities import mean
from dlsched.reproduce.findings import Beside, Findings, Panel, Series, marks_of, mean_of, stated
from dlsched.study.rows import Row

TOTAL_UTILITY = {
    40: {"gadget-published": 2831.0, "drf": 1974.0, "las": 1654.0, "fifo": 1169.0},
    100: {"gadget-published": 5519.0, "drf": 2651.0, "las": 2240.0, "fifo": 1435.0},
}
"""The paper's numbers by jobs and method, read off its Fig. 4."""
OVER_OPTIMUM = {10: 0.61, 50: 0.78}  # the paper's numbers of G-VNE by jobs, read off its Fig. 7
NAMES = {
    "gadget-published": "GADGET, as published",
    "gadget": "GADGET, repaired",
    "drf": "DRF",
    "las": "Tiresias (las)",
    "fifo": "FIFO",
    "exact": "optimum",
}
BASELINES = ("drf", "las", "fifo")
HEIGHTS = (1.0, 100.0)  # values of the paper's sigmoids; drawn uniformly here
THE_SERVERS = 50


def shape_of(row: Row) -> tuple[int, int, int]:
    """Return jobs, servers and slots with which the instance of a row was drawn; ValueError if it was not drawn."""
    sizes = [row.arguments.get(name) for name in ("jobs", "servers", "slots")]
    jobs, servers, slots = (size if isinstance(size, int) else None for size in sizes)
    if jobs is None or servers is None or slots is None:
        raise ValueError(f"{row.instance}: no instance of ring_embedding that was drawn by jobs, servers and slots")
    return jobs, servers, slots


def _values(rows: Iterable[Row], method: str) -> list[float]:
    return [row.objective for row in rows if row.method == method and row.objective is not None]


def fig4(rows: Sequence[Row]) -> Findings:
    """Compare total utility by the number of jobs, and the baselines over GADGET as room shrinks."""
    sized: dict[tuple[int, int, int], list[Row]] = {}
    for row in rows:
        sized.setdefault(shape_of(row), []).append(row)
    theirs = {shape[0]: of for shape, of in sized.items() if shape[1] == THE_SERVERS}
    utility = [
        Series(name, marks_of((jobs, _values(of, method)) for jobs, of in sorted(theirs.items())), kin=method)
        for method, name in NAMES.items()
    ]
    utility += [
        stated(f"{NAMES[m]}: the paper", [(jobs, of[m]) for jobs, of in TOTAL_UTILITY.items()], "paper", m)
        for m in TOTAL_UTILITY[40]
    ]
    ratios = {
        _setting(shape): {method: _over_gadget(of, method) for method in BASELINES}
        for shape, of in sorted(sized.items(), key=lambda item: (-item[0][1], -item[0][2], item[0][0]))
        if shape[1] != THE_SERVERS or shape[0] in TOTAL_UTILITY
    }
    over = [
        Series(NAMES[method], marks_of((at, of[method]) for at, of in ratios.items()), kin=method)
        for method in BASELINES
    ]
    over += [
        stated(
            f"{NAMES[method]}: the paper",
            [
                (_setting((jobs, THE_SERVERS, 200)), numbers[method] / numbers["gadget-published"])
                for jobs, numbers in TOTAL_UTILITY.items()
            ],
            "paper",
            method,
        )
        for method in BASELINES
    ]
    beside = [
        Beside(f"{NAMES[method]}, {jobs} jobs", mean_of(_values(theirs.get(jobs, []), method)), number)
        for jobs, numbers in TOTAL_UTILITY.items()
        for method, number in numbers.items()
    ]
    return Findings(
        [
            Panel(
                "Total utility",
                "Mean of the seeds with its 95 % interval; the paper's numbers are read off its Fig. 4.",
                "jobs",
                "total utility",
                utility,
            ),
            Panel(
                "Baselines over GADGET",
                "Total utility over that of GADGET, repaired (the paper's over its GADGET); below 1, GADGET is better. "
                "From the paper's ranges, where GPUs are plentiful, down to few servers and slots.",
                "setting",
                "total utility over GADGET's",
                over,
            ),
        ],
        beside,
        "paper",
        "total utility",
        _conclusions_of_fig4(theirs, sized),
    )


def _setting(shape: tuple[int, int, int]) -> str:
    jobs, servers, slots = shape
    return f"{jobs} jobs, {servers} servers, {slots} slots"


def _over_gadget(rows: Sequence[Row], method: str) -> list[float]:
    """Return utility over that of GADGET on the same instance, 1 if both are 0."""
    utilities = {row.instance: row.objective for row in rows if row.method == "gadget" and row.objective is not None}
    pairs = [
        (row.objective, utilities[row.instance]) for row in rows if row.method == method and row.instance in utilities
    ]
    return [
        1.0 if mine == other else mine / other for mine, other in pairs if mine is not None and (other or mine == other)
    ]


def _conclusions_of_fig4(theirs: dict[int, list[Row]], sized: dict[tuple[int, int, int], list[Row]]) -> list[str]:
    lines, expected, deviation = [], sum(HEIGHTS) / 2, (HEIGHTS[1] - HEIGHTS[0]) / 12**0.5
    # Is the order of the methods that of the paper?
    for jobs, numbers in TOTAL_UTILITY.items():
        means = {method: mean_of(_values(theirs.get(jobs, []), method)) for method in numbers}
        known = {method: each.value for method, each in means.items() if each is not None}
        if len(known) < len(numbers):
            continue
        mine = sorted(known, key=lambda method: -known[method])
        stated = sorted(numbers, key=lambda method: -numbers[method])
        same = "the same order" if mine == stated else "another order"
        lines.append(
            f"{jobs} jobs: from the best, ours are {listed([f'{NAMES[m]} {known[m]:,.0f}' for m in mine])}; the paper's are "
            f"{listed([f'{NAMES[m]} {numbers[m]:,.0f}' for m in stated])}: {same}."
        )
    away = []
    for jobs, numbers in TOTAL_UTILITY.items():
        reached = numbers["gadget-published"]
        sigmas = (reached - expected * jobs) / (deviation * math.sqrt(jobs))
        away.append(f"{reached / jobs:.1f} a job of {jobs} ({sigmas:+.1f} standard deviations from that)")
    lines.append(
        f"Heights drawn uniformly from {HEIGHTS[0]:g} to {HEIGHTS[1]:g} give a job that is served whole {expected} in the mean; "
        f"the paper's GADGET earns {listed(away)}."
    )
    shares = []
    for shape, of in sorted(sized.items(), key=lambda item: (-item[0][1], -item[0][2], item[0][0])):
        reached_share = mean_of(1 / row.ratio for row in of if row.method == "gadget" and row.ratio)
        broken = [row for row in of if row.method == "gadget-published"]
        rejected = sum(row.status == "rejected" for row in broken)
        if reached_share is not None:
            shares.append(
                f"{_setting(shape)}: {reached_share.value:.3f}"
                + (f" (as published {rejected} of {len(broken)} break a capacity or a bandwidth)" if rejected else "")
            )
    if shares:
        lines.append(f"GADGET, repaired, over the optimum or the best bound: {'; '.join(shares)}.")
    return lines


KINDS = {"published": "as published", "repaired": "repaired"}
KIND_OF = {f"{kind}-{draw}": kind for kind in KINDS for draw in (1, 2, 3)}
"""Methods of figure 7, by their label in its plan, with three draws each."""


def fig7(rows: Sequence[Row]) -> Findings:
    """G-VNE over the optimum of a slot."""
    presets = list(dict.fromkeys(row.preset for row in rows))
    where = {"paper": "the paper's ranges", "slot": "scarce bandwidth"}
    drawn = _drawn(rows)
    tried = {
        (preset, kind): [r for r in rows if r.preset == preset and KIND_OF.get(r.method) == kind]
        for preset in presets
        for kind in KINDS
    }
    broken = {key: sum(row.status == "rejected" for row in of) for key, of in tried.items()}
    whole = [key for key in drawn if broken[key] == 0]
    series = [
        Series(f"{KINDS[kind]}, {where[preset]}", marks_of(sorted(drawn[preset, kind].items())), kin=f"{preset} {kind}")
        for preset, kind in sorted(whole)
    ]
    series.append(stated("the paper", OVER_OPTIMUM.items(), "paper", "paper published"))
    mine = drawn.get(("paper", "published" if ("paper", "published") in whole else "repaired"), {})
    lines = []
    # Where a draw breaks a capacity, a mean of the others would flatter.
    for preset, kind in sorted(tried):
        of, share = (
            tried[preset, kind],
            mean_of(value for values in drawn.get((preset, kind), {}).values() for value in values),
        )
        if not of:
            continue
        said_broken = f"{broken[preset, kind]} of {len(of)} draws overuse a server or a link"
        if broken[preset, kind]:
            lines.append(
                f"{KINDS[kind].capitalize()}, {where[preset]}: {said_broken}, so that no mean of the others is shown."
            )
        elif share is not None:
            lines.append(f"{KINDS[kind].capitalize()}, {where[preset]}: {mean(share)} of the optimum; {said_broken}.")
    if mine:
        least = min(value for values in mine.values() for value in values)
        above = least > max(OVER_OPTIMUM.values())
        lines.append(
            f"The least of ours at the paper's ranges has {least:.3f} of the optimum, the paper's mean is from "
            f"{min(OVER_OPTIMUM.values())} to {max(OVER_OPTIMUM.values())}: "
            + ("ours lose less than the paper's throughout." if above else "the two overlap.")
        )
    return Findings(
        [
            Panel(
                "G-VNE over the slot optimum",
                "Utility over the optimum of the slot, mean of three draws and of the seeds with its 95 % interval; the paper's "
                "numbers are read off its Fig. 7. Where draws overuse servers or links, as published has no mean.",
                "jobs",
                "utility over the optimum",
                series,
            )
        ],
        [Beside(f"{jobs} jobs", mean_of(mine.get(jobs, [])), share) for jobs, share in OVER_OPTIMUM.items()],
        "paper",
        "utility over the optimum of the slot",
        lines,
    )


def _drawn(rows: Sequence[Row]) -> dict[tuple[str, str], dict[int, list[float]]]:
    """Utility over the optimum by preset and kind, by jobs: a mean of the draws for each instance."""
    of_instances: dict[tuple[str, str, int, str], list[float]] = {}
    for row in rows:
        kind = KIND_OF.get(row.method)
        if kind is not None and row.ratio:
            of_instances.setdefault((row.preset, kind, shape_of(row)[0], row.instance), []).append(1 / row.ratio)
    shares: dict[tuple[str, str], dict[int, list[float]]] = {}
    for (preset, kind, jobs, _), values in of_instances.items():
        shares.setdefault((preset, kind), {}).setdefault(jobs, []).append(fmean(values))
    return shares
