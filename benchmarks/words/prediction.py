"""What the study ``prediction`` found: flow times by the error of predictions and by predictor, with a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from cases import Cases, cases, interval, shown

from dlsched.core.messages import listed
from dlsched.srpt_mapping import errors
from dlsched.study import Study
from dlsched.study.reports.export import markdown_table
from dlsched.study.rows import Row


def _by_sigma(rows: Sequence[Row]) -> tuple[Cases, Cases]:
    """Ratios by sigma, and those by predictor."""
    ratios = cases([row for row in rows if row.method != "bound"], lambda row: row.ratio)
    sigmas = {float(case.split()[1]): each for case, each in ratios.items() if case.startswith("sigma")}
    return sigmas, {case: each for case, each in ratios.items() if not case.startswith("sigma")}


def words(rows: Sequence[Row], study: Study) -> Mapping[str, object]:
    """What the page asks for."""
    sigmas, ways = _by_sigma(rows)
    policies = list(next(iter(sigmas.values())))
    held = [row for row in rows if row.method == "bound" and row.preset in ways]
    off = cases(held, lambda row: errors(study.instance(row.key)).mean_absolute_log)
    truth, *_, wrong = sigmas.values()
    growth = {name: wrong[name].mean() / truth[name].mean() for name in policies if (wrong[name] != truth[name]).any()}
    cases_of = {f"sigma {sigma:g}": each for sigma, each in sigmas.items()} | ways
    best = [f"{case}: {min(policies, key=lambda name, of=each: of[name].mean())}" for case, each in cases_of.items()]
    return {
        "errors": markdown_table(
            ["sigma", *policies], [[f"{sigma:g}", *map(shown, each.values())] for sigma, each in sigmas.items()]
        ),
        "growth": listed([f"{name} {factor:.2f} times" for name, factor in growth.items()]),
        "predictors": markdown_table(
            ["predictor", "mean abs ln error", *policies],
            [[way, f"{off[way]['bound'].mean():.2f}", *map(shown, each.values())] for way, each in ways.items()],
        ),
        "best": "; ".join(best),
    }


def picture(rows: Sequence[Row], path: Path) -> None:
    """Draw the means over sigma with their intervals."""
    from matplotlib.figure import Figure

    sigmas, _ = _by_sigma(rows)
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for name in next(iter(sigmas.values())):
        means, halves = np.transpose([interval(each[name]) for each in sigmas.values()])
        style = "--" if name.startswith("a-srpt") else "-"
        axes.errorbar(
            list(sigmas), means, yerr=halves, label=name, capsize=3, linestyle=style, marker="o", markersize=4
        )
    axes.set(
        xlabel="σ of ln(predicted / true iterations)", ylabel="mean flow time / that of the lower bound", yscale="log"
    )
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.set_title("Wrong predictions: means with 95 % intervals", fontsize=10)
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3, which="both")
    figure.savefig(path, dpi=120)
