"""Throughput of a job of asynchronous SGD against its workers, between its bounds."""

from matplotlib.figure import Figure

from dlsched import async_sgd
from figures.theme import HUES, Theme

WORKERS = range(1, 33)


def draw(theme: Theme) -> Figure:
    """Draw the mean value analysis of job `a` of the family's example, and both pairs of bounds."""
    job = async_sgd.example().jobs[0]
    network = async_sgd.network_of(job)
    figure = Figure(figsize=(6.4, 3.1), layout="constrained")
    axes = figure.subplots()
    pairs = {"asymptotic bounds": (async_sgd.asymptotic, ":"), "balanced-job bounds": (async_sgd.balanced_job, "--")}
    for name, (bounds, dashes) in pairs.items():
        found = [bounds(network, workers) for workers in WORKERS]
        axes.plot(WORKERS, [bound.upper for bound in found], dashes, color=theme.faint, lw=1.2, label=name)
        axes.plot(WORKERS, [bound.lower for bound in found], dashes, color=theme.faint, lw=1.2)
    analysis = [async_sgd.batches_per_s(job, workers) for workers in WORKERS]
    axes.plot(WORKERS, analysis, "o-", color=HUES[0], ms=3, label="mean value analysis")
    axes.set_xlim(0, 33)
    axes.set_ylim(0, 1.12 / network.largest_s)
    axes.set_xlabel("workers")
    axes.set_ylabel("mini-batches per second")
    axes.legend(loc="lower right")
    return figure
