"""How a time grows with a size: slopes of the logarithms, and their picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from dlsched.statistics.inference import Estimate, growth


@dataclass(frozen=True)
class Point:
    """Seconds at a size; ``whole``: they are of a run that ended as it should."""

    size: int
    seconds: float
    whole: bool = True


Curves = Mapping[str, Sequence[Point]]


def slope(points: Sequence[Point], last: int) -> Estimate | None:
    """Exponent of the power law through the last so many points that are whole; None of fewer than two."""
    fitted = [point for point in points if point.whole][-last:]
    return growth([point.size for point in fitted], [point.seconds for point in fitted]) if len(fitted) > 1 else None


def shown(found: Estimate | None) -> str:
    """A slope with its 95 % interval."""
    if found is None:
        return "-"
    between = "" if found.low is None else f" ({found.low:.2f} .. {found.high:.2f})"
    return f"{found.value:.2f}{between}".replace("-0.00", "0.00")


def draw(panels: Mapping[str, Curves], picture: Path, *, what: str, last: int, limit_s: float | None = None) -> None:
    """Draw curves on logarithmic axes, a panel for each kind of size; what was cut short is hollow."""
    from dlsched.plots.figure import HUES, canvas

    with canvas(picture, 3.8 * len(panels) + 1.2, 4.0) as figure:
        every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (label, curves) in zip(every, panels.items(), strict=True):
            for (name, points), colour, marker in zip(
                curves.items(), cycle((*HUES, "black")), cycle("os^Dv"), strict=False
            ):
                line = [(point.size, point.seconds) for point in points]
                axes.loglog(
                    *zip(*line, strict=True), color=colour, marker=marker, label=f"{name}, {shown(slope(points, last))}"
                )
                cut = [(point.size, point.seconds) for point in points if not point.whole]
                if cut:
                    axes.loglog(*zip(*cut, strict=True), color=colour, marker=marker, mfc="white", ls="")
            sizes = sorted({point.size for points in curves.values() for point in points})
            least = min(points[0].seconds for points in curves.values())
            axes.loglog(sizes, [0.6 * least * size / sizes[0] for size in sizes], color="0.5", ls="--", label="linear")
            if limit_s is not None:
                axes.axhline(limit_s, color="0.5", ls=":")
            axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
            axes.minorticks_off()
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.set_xlabel(label)
            axes.grid()
            axes.legend(loc="upper left", title=f"slope of the last {last}", alignment="left")
        every[0].set_ylim(top=every[0].get_ylim()[1] * 60)
        every[0].set_ylabel(what)
