"""What the abstract of Liu et al. (IEEE TPDS 2024) reports of sampling: "within 2.04% of the optimal JCT"."""

from collections.abc import Sequence

from dlsched.core import quantities
from dlsched.reproduce.entry import Entry
from dlsched.reproduce.findings import Beside, Findings, Mark, Panel, Series
from dlsched.statistics.estimate import Estimate
from dlsched.statistics.intervals import bootstrap_mean
from dlsched.study.rows import Row

REPORTED = 2.04
"""Per cent above the optimum."""
FLOOR = 0.01
"""Per cent: what is less is drawn there."""
SAMPLED = "sampled-market"
NAMES = {
    SAMPLED: "sampled market (the paper's)",
    "beam": "beam (ours)",
    "local-search": "local search",
    "marginal": "marginal gain",
    "equal": "equal shares",
    "fastest-first": "fastest first",
}


def sampling(rows: Sequence[Row]) -> Findings:
    """Gaps to the proven optimum, a dot an instance."""
    gaps: dict[str, list[tuple[str, str, float]]] = {method: [] for method in NAMES}
    for row in rows:
        if row.method in NAMES and row.ratio is not None and row.reference_kind == "optimum":
            gaps[row.method].append((row.instance, row.preset, 100 * max(0.0, row.ratio - 1)))
    unproven = {row.instance for row in rows if row.reference_kind != "optimum"}
    means = {method: bootstrap_mean([gap for _, _, gap in of]) for method, of in gaps.items()}
    series = [
        Series(
            "instance",
            [Mark(NAMES[method], Estimate(gap), name) for method, of in gaps.items() for name, _, gap in of],
            kin="instance",
            cloud=True,
        ),
        Series("mean", [Mark(NAMES[method], mean) for method, mean in means.items() if mean is not None], kin="mean"),
    ]
    presets = list(dict.fromkeys(preset for _, preset, _ in gaps[SAMPLED]))
    by_preset = {preset: [gap for _, of, gap in gaps[SAMPLED] if of == preset] for preset in presets}
    beside = [Beside("sampled market, all instances", means[SAMPLED], REPORTED)]
    beside += [Beside(f"sampled market, {preset}", bootstrap_mean(of), REPORTED) for preset, of in by_preset.items()]
    lines = []
    for method, of in gaps.items():
        asked = sum(row.method == method for row in rows)
        if not of:
            continue
        name, _, worst = max(of, key=lambda each: each[2])
        on_average = quantities.mean(means[method])
        line = f"{NAMES[method].capitalize()}: {on_average} % above the optimum on average, {worst:.2f} % at worst"
        line += f" ({name})" if worst > 0 else ""
        lines.append(line + (f", no answer or no proof to {asked - len(of)} of {asked}." if asked > len(of) else "."))
    mean = means[SAMPLED]
    if mean is not None:
        kept = "within" if _within(mean.value) else "beyond"
        above = [preset for preset, values in by_preset.items() if not _within(sum(values) / len(values))]
        lines.append(
            f"On average the sampled market is {kept} {REPORTED} % of the optimum here"
            + (f", though not on {', '.join(above)}." if above and kept == "within" else ".")
        )
    if unproven:
        lines.append(f"Instances left out, as no optimum was proven: {len(unproven)}.")
    return Findings(
        [
            Panel(
                "Gap to the optimum",
                "Mean completion time above the proven optimum; small: an instance, large: the mean with its 95 % interval. "
                f"What is below {FLOOR} % is drawn there.",
                "method",
                "gap to the optimum, %",
                series,
                (f"the abstract: {REPORTED} %", REPORTED),
                FLOOR,
            )
        ],
        beside,
        "the abstract",
        "gap to the optimum, %",
        lines,
    )


def _within(gap: float) -> bool:
    """Whether a gap is at most the reported one, to the digits that the abstract states."""
    return round(gap, 2) <= REPORTED


SAMPLING = Entry(
    "liu-sampling",
    "Liu et al., IEEE TPDS 2024; the abstract alone was available",
    "the sampled market against the optimum",
    'the abstract\'s "within 2.04% of the optimal JCT"; its workloads are not known',
    (
        "The abstract states one number, on workloads that we do not have. Ours are drawn: three to eight jobs on 8 to 24 "
        "workers, of which the optimum is proven.",
        "The market's values, re-linearising, the laws of the draws and their number are our reconstruction.",
    ),
    sampling,
    ({"jobs": [3, 6], "gpus": [8, 16], "seeds": "0:2"},),
    120,
    12,
)
