"""Costs of one job against its GPUs, their lower hull, and the price line whose distances are regrets."""

from matplotlib.figure import Figure

from dlsched.cluster import Link, halving_doubling
from figures.theme import HUES, Theme

COUNTS = range(1, 17)
EPOCHS, STEPS, COMPUTE_S, GRADIENT_BYTES = 90, 400, 1.6, 1e8  # of job `vision` on the page of ring_allocation
LINK = Link(latency_s=5e-5, transfer_s_per_byte=8e-10, reduction_s_per_byte=4e-11)
PRICE = 1615.5  # of a GPU, the certificate on that page


def hull(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the lower convex hull of points in order of x."""
    kept: list[tuple[float, float]] = []
    for x, y in points:
        while len(kept) > 1:
            (x0, y0), (x1, y1) = kept[-2:]
            if (y1 - y0) * (x - x1) < (y - y1) * (x1 - x0):
                break
            kept.pop()
        kept.append((x, y))
    return kept


def draw(theme: Theme) -> Figure:
    """Draw counts as points; the line of slope -price touches the hull along the step from 4 to 8."""
    costs = {
        w: EPOCHS * round(STEPS * (COMPUTE_S / w + halving_doubling(w, GRADIENT_BYTES, LINK)), 1) / 1e3 for w in COUNTS
    }
    least = min(cost + PRICE / 1e3 * w for w, cost in costs.items())
    figure = Figure(figsize=(6.4, 3.3), layout="constrained")
    axes = figure.subplots()
    axes.plot(COUNTS, [least - PRICE / 1e3 * w for w in COUNTS], "--", color=theme.ink, lw=1, label="price line")
    axes.vlines(6, least - PRICE / 1e3 * 6, costs[6], color=HUES[4], lw=1.4)
    axes.text(6, costs[6] + 5, "regret of 6", color=HUES[4], ha="center")
    corners = hull([(w, cost) for w, cost in costs.items() if cost <= min(costs[v] for v in COUNTS if v <= w)])
    axes.plot(*zip(*corners, strict=True), color=HUES[1], label="lower hull")
    axes.plot(COUNTS, costs.values(), "o", color=HUES[0], ms=4.5, label="an allowed count")
    axes.set_xticks([1, 2, 4, 6, 8, 9, 12, 16])
    axes.set_ylim(0, 62)
    axes.set_xlabel("GPUs of the job")
    axes.set_ylabel("time left, 1000 s")
    axes.legend(loc="upper right")
    return figure
