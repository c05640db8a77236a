"""Methods compared over instances: the gap to the optimum, and the performance profile of Dolan and More.

======= ======================================================================
symbol  here
======= ======================================================================
tau     `performance_profile(...)[0]`, a factor of the best known objective
rho     `performance_profile(...)[1]`, the fraction of instances within tau
======= ======================================================================

Dolan and More, "Benchmarking optimization software with performance profiles", Mathematical Programming 91 (2002).
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

Kind = Literal["exact", "heuristic", "foreign"]
MARKERS: dict[Kind, str] = {"exact": "o", "heuristic": "s", "foreign": "D"}
# Okabe and Ito's palette for every kind of colour vision, without its yellow, which is lost on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":", "-.")  # the next one each time the colours are used up
# For each file format the metadata that would make two equal figures differ.
UNDATED: dict[str, dict[str, None]] = {
    ".png": {"Software": None},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
ROUNDING = 1e-6  # a ratio this far under 1 is a solver's rounding; further under it is an error


@dataclass(frozen=True)
class Point:
    """What one method achieved on one instance.

    `ratio` is objective / optimum, at least 1, or None without an answer. When `ratio_is_upper_bound` the objective
    was divided by a lower bound because the optimum is unknown, so the true ratio is at most this.
    """

    instance: str
    method: str
    kind: Kind
    ratio: float | None
    ratio_is_upper_bound: bool
    runtime_s: float | None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind: found {self.kind!r}, allowed: {', '.join(get_args(Kind))}")
        if self.ratio is not None and not 1 - ROUNDING <= self.ratio < math.inf:
            raise ValueError(f"ratio: found {self.ratio} for {self.method} on {self.instance}, allowed: finite, >= 1")


Rows = Mapping[str, Mapping[str, Point]]  # method -> instance -> point


def performance_profile(ratios: Sequence[float | None]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the steps of one method's profile: factors tau, and the fraction of instances within each.

    `ratios` has one entry an instance, None where the method has no answer. The first tau is always 1.

    >>> performance_profile([1.0, 1.5, None, 1.5])
    ((1.0, 1.5), (0.25, 0.75))
    """
    if not ratios:
        raise ValueError("ratios: found none, allowed: one entry an instance, at least one")
    answered = sorted(max(ratio, 1.0) for ratio in ratios if ratio is not None)
    taus = tuple(sorted({1.0, *answered}))
    return taus, tuple(bisect_right(answered, tau) / len(ratios) for tau in taus)


def require_format(path: Path | str) -> None:
    """Refuse a file name whose suffix is no format of figures (ValueError)."""
    if Path(path).suffix.lower() not in UNDATED:
        raise ValueError(f"plot file: found {Path(path).name!r}, allowed suffixes: {', '.join(UNDATED)}")


def draw_comparison(points: Sequence[Point], path: Path | str, *, title: str | None = None) -> Path:
    """Draw the gaps (left) and the performance profiles (right) of all methods to `path`, and return it.

    The suffix of `path` chooses the format: .png, .svg or .pdf. Equal points give equal bytes. Methods keep the order
    in which they first appear. A method without a point for an instance has no answer there.

    Raises
    ------
    ValueError
        Another suffix, no points, or two points for one method and instance.
    ImportError
        Matplotlib is not installed.
    """
    path = Path(path)
    require_format(path)
    rows: dict[str, dict[str, Point]] = {}
    for point in points:
        if point.instance in rows.setdefault(point.method, {}):
            raise ValueError(
                f"points: found two for method {point.method!r} on instance {point.instance!r}, allowed: one"
            )
        rows[point.method][point.instance] = point
    if not rows:
        raise ValueError("points: found none, allowed: at least one")
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need Matplotlib: pip install 'dlsched[plots]'") from None

    instances = tuple(dict.fromkeys(point.instance for point in points))
    # The context gives equal files equal element names, and is undone on leaving.
    with matplotlib.rc_context({"svg.hashsalt": "dlsched", "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(12, 2.4 + 0.34 * max(len(rows), 5)), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.15, 1))
        _draw_gaps(left, rows, instances)
        _draw_profiles(right, rows, instances)
        figure.legend(handles=_key(points), loc="outside lower left", ncols=5, frameon=False, fontsize="small")
        figure.legend(*right.get_legend_handles_labels(), loc="outside right center", frameon=False, title="method")
        if title is not None:
            figure.suptitle(title, parse_math=False)
        suffix = path.suffix.lower()
        figure.savefig(path, format=suffix[1:], dpi=150, metadata=UNDATED[suffix])
    return path


def _draw_gaps(axes: "Axes", rows: Rows, instances: Sequence[str]) -> None:
    """One row a method, one mark an instance, at its gap in per cent; linear near 0 and logarithmic beyond."""
    gaps = {method: {name: _gap_percent(row.get(name)) for name in instances} for method, row in rows.items()}
    positive = [gap for row in gaps.values() for gap in row.values() if gap]
    # The linear part ends under the smallest gap, but never so low that rounding noise fills the axis.
    linear = 10.0 ** min(max(math.floor(math.log10(min(positive, default=1.0))), -3), 0)
    end = 1.4 * max([linear, *positive])
    axes.set_xscale("symlog", linthresh=linear, linscale=0.5)
    ticks = [0.0, *_ticks(linear, end)]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlim(-0.25 * linear, end)  # after the ticks, which would widen it

    for y, (method, row) in enumerate(rows.items()):
        colour = COLOURS[y % len(COLOURS)]
        for i, name in enumerate(instances):
            gap, point = gaps[method][name], row.get(name)
            if gap is None or point is None:
                continue
            # Multiples of the golden ratio spread any number of instances evenly over the height of the row.
            spread = 0.6 * ((0.5 + i * 0.618034) % 1 - 0.5)
            face = "none" if point.ratio_is_upper_bound else colour
            axes.plot(gap, y + spread, MARKERS[point.kind], ms=4.5, mfc=face, mec=colour, mew=0.9, alpha=0.75)
        answered = [gap for gap in gaps[method].values() if gap is not None]
        if answered:
            axes.plot(
                [median(answered)] * 2, [y - 0.4, y + 0.4], color="black", lw=1.6, solid_capstyle="butt", zorder=4
            )
        missing = len(instances) - len(answered)
        text = f"{missing} of {len(instances)}" if missing else "0"
        axes.text(1.02, y, text, transform=axes.get_yaxis_transform(), va="center", color="black" if missing else "0.6")
    axes.text(1.02, 1.0, "no answer", transform=axes.transAxes, va="bottom", fontsize="small")
    axes.set_yticks(range(len(rows)), [*rows])
    axes.set_ylim(max(len(rows), 4) - 0.4, -0.6)  # the first method on top, rows never taller than a quarter
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("gap to the optimum (%)")
    axes.set_title(f"Gap, {len(instances)} instance{'s' * (len(instances) > 1)}", loc="left", fontsize="medium")


def _draw_profiles(axes: "Axes", rows: Rows, instances: Sequence[str]) -> None:
    """One step curve a method; equal curves lie on one another as bands, the first method's being the widest."""
    best = {name: _best_known_ratio([row[name] for row in rows.values() if name in row]) for name in instances}
    profiles = []
    for row in rows.values():
        ratios = [row[name].ratio if name in row else None for name in instances]
        over_best = (None if r is None else r / best[name] for name, r in zip(instances, ratios, strict=True))
        profiles.append(performance_profile([*over_best]))
    largest = max(taus[-1] for taus, _ in profiles)
    end = max(1 + 1.05 * (largest - 1), 1.05)
    equal = Counter(profiles)
    still_to_come = equal.copy()
    for i, (method, profile) in enumerate(zip(rows, profiles, strict=True)):
        still_to_come[profile] -= 1
        (taus, fractions), band = profile, min(2.2, 8 / equal[profile])
        width = 1.8 + band * still_to_come[profile]
        style = DASHES[i // len(COLOURS) % len(DASHES)]
        x, y = [*taus, end], [*fractions, fractions[-1]]
        (line,) = axes.step(x, y, style, where="post", color=COLOURS[i % len(COLOURS)], lw=width, label=method)
        line.set(clip_on=False, solid_capstyle="butt")
    if end > 4:
        axes.set_xscale("log")
        ticks = _ticks(1, end)
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
    axes.set_xlim(1, end)
    axes.set_ylim(0, 1.03)
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
    axes.set_xlabel("factor τ of the best known objective (no unit)")
    axes.set_ylabel("fraction of instances within factor τ")
    axes.set_title("Performance profile", loc="left", fontsize="medium")


def _ticks(lowest: float, largest: float) -> list[float]:
    """Round factors of the powers of ten within the limits; over many decades the powers alone, at most 8 of them."""
    decades = range(round(math.log10(lowest)), math.floor(math.log10(largest)) + 1)
    factors: tuple[float, ...] = (1, 1.5, 2, 3, 5, 7) if len(decades) == 1 else (1, 2, 5) if len(decades) == 2 else (1,)
    every = math.ceil(len(decades) / 8)
    return [f * 10.0**d for d in decades[::every] for f in factors if f * 10.0**d <= largest]


def _gap_percent(point: Point | None) -> float | None:
    """|objective - optimum| over the larger of the two, which is 1 - 1 / ratio."""
    return None if point is None or point.ratio is None else 100 * max(1 - 1 / point.ratio, 0.0)


def _best_known_ratio(points: Sequence[Point]) -> float:
    """1 where the optimum is known, even if no method reached it; else the smallest ratio to the bound."""
    answered = [point for point in points if point.ratio is not None]
    if not all(point.ratio_is_upper_bound for point in answered):
        return 1.0
    return min((point.ratio for point in answered if point.ratio is not None), default=1.0)


def _key(points: Sequence[Point]) -> "list[Line2D]":
    """Explain the marks of the gap panel that occur in it."""
    from matplotlib.lines import Line2D

    kinds = {point.kind for point in points}
    marks = [(MARKERS[kind], "0.4", str(kind)) for kind in MARKERS if kind in kinds]
    if any(point.ratio_is_upper_bound for point in points):
        marks.append(("o", "none", "hollow: at most (optimum unknown, compared with a bound)"))
    key = [Line2D([], [], marker=m, mfc=face, mec="0.4", ms=5, ls="none", label=label) for m, face, label in marks]
    key.append(Line2D([], [], marker="|", ls="none", color="black", ms=10, mew=2, label="median of the answers"))
    return key
