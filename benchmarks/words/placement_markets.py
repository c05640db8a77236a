"""What the study ``placement_markets`` found: the sampled market beside all categories, by their number."""

from collections.abc import Sequence

import numpy as np
from cases import cases
from words.placement_heuristics import gap_of, mean_and_largest

from dlsched.core.quantities import per_cent
from dlsched.matching_placement.arrays import arrays
from dlsched.matching_placement.markets import DRAWS, MOST_CATEGORIES, category_table
from dlsched.study import Study
from dlsched.study.reports.export import markdown_table
from dlsched.study.rows import Row

COLUMNS = (
    "categories; instances; sampled: mean (largest) gap; all: mean (largest) gap; as good as all; largest over all; "
    "sampled / exact, time; all / exact, time; all / sampled, time"
)


def words(rows: Sequence[Row], study: Study) -> str:
    """A row for the instances of which the sampled market takes all categories, and one for the others."""
    count = {
        row.instance: category_table(arrays(study.instance(row.key)))[0][-1] for row in rows if row.method == "market"
    }
    few, many = f"up to {DRAWS}", f"{DRAWS + 1} to {MOST_CATEGORIES:,}"
    gaps, times_s = (
        cases(rows, figure, lambda row: few if count[row.instance] <= DRAWS else many)
        for figure in (gap_of, lambda row: row.time_s)
    )
    table = []
    for name, gap in sorted(gaps.items(), reverse=True):
        sampled, every, taken_s = gap["sampled-market"], gap["market"], times_s[name]
        over = (1 + sampled) / (1 + every) - 1
        pairs = (("sampled-market", "exact"), ("market", "exact"), ("market", "sampled-market"))
        table.append(
            [
                *(name, str(len(over)), mean_and_largest(sampled), mean_and_largest(every)),
                *(f"{np.mean(over <= 1e-9):.0%}", f"{per_cent(over.max())} %"),
                *(f"{np.median(taken_s[one] / taken_s[other]):.3g}" for one, other in pairs),
            ]
        )
    return (
        f"Where there are at most {DRAWS} categories the sampled market takes them all. Gaps are to the proven optimum, times "
        f"medians of ratios.\n\n{markdown_table(COLUMNS.split('; '), table)}"
    )
