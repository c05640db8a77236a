"""What the study ``objectives`` found: utility against energy by price, total progress against the least by alpha."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from cases import cases, shown

from dlsched.core.arrays import FloatArray
from dlsched.study import Study
from dlsched.study.reports.export import markdown_table
from dlsched.study.rows import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METHOD = "plan"
PRICE, ALPHA, LEAST = "price", "alpha", "max_min"
Of = Mapping[str, FloatArray]


def _of(rows: Sequence[Row], figure: str, *kinds: str, method: str = METHOD) -> dict[str, FloatArray]:
    """A figure of a method, one number a seed, by the cases whose name begins so; utility without a price is the objective."""

    def value(row: Row) -> float | None:
        return row.figures.get(figure, row.objective if figure == "utility" else None)

    found = cases(rows, value)
    return {str(case): each[method] for case, each in found.items() if str(case).startswith(kinds)}


def _kept(figure: Of) -> dict[str, FloatArray]:
    """In parts of the first case's, seed by seed."""
    first = next(iter(figure.values()))
    return {case: each / first for case, each in figure.items()}


def _fairness(rows: Sequence[Row], servers: str) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """Total progress in parts of that of alpha = 0, and the least in parts of that of max_min, by the goal."""
    total, least = (
        {case.split(",")[0]: each for case, each in _of(rows, figure, ALPHA, LEAST).items() if case.endswith(servers)}
        for figure in ("progress", "least_progress")
    )
    return _kept(total), {case: each / least[LEAST] for case, each in least.items()}


def _servers(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(case.split(", ")[1] for case in _of(rows, "progress", ALPHA)))


def words(rows: Sequence[Row], study: Study) -> Mapping[str, object]:
    """What the page asks for."""
    del study
    utility, energy = (_kept(_of(rows, figure, PRICE)) for figure in ("utility", "energy_kwh"))
    gaps = {str(case): each[METHOD] for case, each in cases(rows, lambda row: row.gap).items()}
    worst = {case: float(np.nanmax(each)) for case, each in gaps.items()}
    return {
        "prices": markdown_table(
            ["price", "utility kept", "energy used", "largest gap"],
            [
                [case.split()[1], shown(utility[case], digits=3), shown(energy[case], digits=3), _percent(worst[case])]
                for case in utility
            ],
        ),
        "alphas": "\n".join(_table(rows, servers, worst) for servers in _servers(rows)),
        "worst": _percent(max(worst.values())),
    }


def _table(rows: Sequence[Row], servers: str, worst: Mapping[str, float]) -> str:
    total, least = _fairness(rows, servers)
    body = [
        [case, shown(total[case], digits=3), shown(least[case], digits=3), _percent(worst[f"{case}, {servers}"])]
        for case in total
    ]
    case = next(iter(total))
    of_all = {figure: _of(rows, figure, f"{case}, {servers}") for figure in ("progress", "least_progress")}
    best = _of(rows, "least_progress", f"{LEAST}, {servers}")[f"{LEAST}, {servers}"]
    for rule in dict.fromkeys(row.method for row in rows if row.method != METHOD):
        mine = {figure: _of(rows, figure, f"{case}, {servers}", method=rule) for figure in of_all}
        (most,), (all_of_it,), (least_of_it,) = of_all["progress"].values(), *(each.values() for each in mine.values())
        body.append([f"`{rule}`", shown(all_of_it / most, digits=3), shown(least_of_it / best, digits=3), ""])
    return f"{servers}:\n\n" + markdown_table(["", "total progress kept", "least progress", "largest gap"], body)


def _percent(part: float) -> str:
    return "0 %" if part < 5e-7 else "under 0.01 %" if part < 5e-5 else f"{100 * part:.2f} %"


def picture(rows: Sequence[Row], path: Path) -> None:
    """Draw utility over energy, and total progress over the least."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    utility, energy = (_kept(_of(rows, name, PRICE)) for name in ("utility", "energy_kwh"))
    _front(left, {case.split()[1]: (energy[case], utility[case]) for case in energy}, "")
    left.set(
        xlabel="energy used", ylabel="utility kept", title="By the price of a kWh: parts of what a price of 0 gives"
    )
    for servers in _servers(rows):
        total, least = _fairness(rows, servers)
        _front(right, {case.replace("alpha ", "α "): (least[case], total[case]) for case in total}, servers)
    right.set(xlabel="least progress of a job / that of max_min", ylabel="total progress / that of α = 0")
    right.set_title("By the fairness asked for")
    right.legend(fontsize=8)
    figure.savefig(path, dpi=120)


def _front(axes: "Axes", points: Mapping[str, tuple[FloatArray, FloatArray]], label: str) -> None:
    at = {name: (float(x.mean()), float(y.mean())) for name, (x, y) in points.items()}
    axes.plot([x for x, _ in at.values()], [y for _, y in at.values()], marker="o", label=label)
    for name, place in at.items():
        axes.annotate(name, place, textcoords="offset points", xytext=(6, 4), fontsize=8)
    axes.margins(x=0.12)
    axes.grid(alpha=0.3)
