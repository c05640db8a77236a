"""What wrong predictions cost the policies of srpt_mapping.

Protocol: streams of 2,000 jobs on 64 GPUs at an offered load of .9 (preset ``mixed``), seeds 0 to 9. Predictions are true
iterations times exp(sigma Z), Z standard normal of the stream's seed, the same for all policies; they stay at least 1.
Figures are mean flow times over the flow that the bound allows (its value less the releases, by the number of jobs): the
mean of the ten streams with its 95 % interval (Student's t). FIFO does not look at predictions. Below, the predictors on
streams of recurring jobs (preset ``recurring``), which know of a job's past only what may have ended by its release.

    python benchmarks/prediction.py            # writes benchmarks/results/prediction.md and .png
    python benchmarks/prediction.py --quick    # small, no file
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import stats
from table import machine, markdown

from dlsched import srpt_mapping
from dlsched.srpt_mapping import Instance, errors, predict, with_error
from dlsched.srpt_mapping.heuristics import POLICIES

RESULTS = Path(__file__).parent / "results"
SIGMAS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0)
SHOWN = ("a-srpt", "a-srpt-strict", "a-srpt-backfill", "shortest-backfill", "work-backfill", "fifo-backfill", "fifo")
WAYS = ("perfect", "mean", "last", "forest")


def ratios(instance: Instance, bound_s: float) -> list[float]:
    """Mean flow over the bound's, of every policy shown."""
    released_s = sum(job.release_s for job in instance.jobs)
    found = []
    for name in SHOWN:
        schedule = POLICIES[name](instance)
        assert schedule is not None
        assert not srpt_mapping.check(instance, schedule)
        found.append((srpt_mapping.objective(instance, schedule) - released_s) / (bound_s - released_s))
    return found


def measured(streams: list[Instance], change: Callable[[Instance, int], Instance]) -> np.ndarray:
    """Ratios by stream and policy."""
    return np.array(
        [ratios(change(instance, seed), srpt_mapping.bound(instance).value) for seed, instance in enumerate(streams)]
    )


def cell(values: np.ndarray) -> str:
    """Mean and half of its 95 % interval."""
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.2f} ± {half:.2f}"


def drawn(by_sigma: list[np.ndarray], path: Path) -> None:
    """Draw the means over sigma with their intervals."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for index, name in enumerate(SHOWN):
        columns = [values[:, index] for values in by_sigma]
        means = [column.mean() for column in columns]
        halves = [stats.t.ppf(0.975, len(c) - 1) * c.std(ddof=1) / np.sqrt(len(c)) for c in columns]
        style = "--" if name.startswith("a-srpt") else "-"
        axes.errorbar(SIGMAS, means, yerr=halves, label=name, capsize=3, linestyle=style, marker="o", markersize=4)
    axes.set_xlabel("σ of ln(predicted / true iterations)")
    axes.set_ylabel("mean flow time / that of the lower bound")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.set_title("Wrong predictions: 2,000 jobs on 64 GPUs, load .9; mean of 10 streams, 95 % intervals", fontsize=10)
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3, which="both")
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    jobs, count = (100, 2) if quick else (2000, 10)
    streams = [srpt_mapping.generate(preset="mixed", jobs=jobs, gpus=64, load=0.9, seed=s) for s in range(count)]
    by_sigma = [measured(streams, lambda i, seed, s=sigma: with_error(i, sigma=s, seed=seed)) for sigma in SIGMAS]
    rows = [
        [f"{sigma:g}", *(cell(values[:, index]) for index in range(len(SHOWN)))]
        for sigma, values in zip(SIGMAS, by_sigma, strict=True)
    ]
    recurring = [srpt_mapping.generate(preset="recurring", jobs=jobs, gpus=64, load=0.9, seed=s) for s in range(count)]
    ways = []
    for way in WAYS:
        values = measured(recurring, lambda i, seed, by=way: predict(i, by=by, seed=seed))
        off = [errors(predict(i, by=way, seed=seed)).mean_absolute_log for seed, i in enumerate(recurring)]
        ways.append([way, f"{np.mean(off):.2f}", *(cell(values[:, index]) for index in range(len(SHOWN)))])
    text = (
        "# What wrong predictions cost\n\nMean flow time over that of the lower bound; the protocol stands in "
        "`benchmarks/prediction.py`.\n\n"
        + markdown(("sigma", *SHOWN), rows)
        + "\n![mean flow over sigma](prediction.png)\n\n## Predictors on recurring jobs\n\n"
        + markdown(("predictor", "mean abs ln error", *SHOWN), ways)
        + f"\nCommand: `python benchmarks/prediction.py`. Machine: {machine()}.\n"
    )
    print(text)
    if not quick:
        (RESULTS / "prediction.md").write_text(text, encoding="utf-8")
        drawn(by_sigma, RESULTS / "prediction.png")


if __name__ == "__main__":
    main()
