"""Finish-time fairness and Jain's index, from each job's time relative to its time on a fair share."""

import math
from collections.abc import Sequence


def fairness(ratios: Sequence[float]) -> dict[str, float]:
    """Finish-time fairness: jobs' times over those on a fair share, rho = T_shared / T_independent > 0.

    ``max_rho``, ``mean_rho``: the largest, and the mean; ``jain_index``: Jain's index of rho, from 1 / J (one job has it all) to
    1 (all fare alike). All are 1 without jobs; the result is empty if some ratio is beyond all floats.

    Source: Mahajan et al., Themis, NSDI 2020; Jain, Chiu, Hawe, DEC-TR-301, 1984.

    >>> fairness([1.0, 4.0])
    {'max_rho': 4.0, 'mean_rho': 2.5, 'jain_index': 0.7352941176470589}
    """
    if not ratios:
        return {"max_rho": 1.0, "mean_rho": 1.0, "jain_index": 1.0}
    largest = max(ratios)
    if math.isinf(largest):
        return {}
    parts = [ratio / largest for ratio in ratios]  # whose squares neither overflow nor vanish
    total, squares = math.fsum(parts), math.fsum(part * part for part in parts)
    return {
        "max_rho": largest,
        "mean_rho": total / len(parts) * largest,
        "jain_index": min(1.0, total * total / (len(parts) * squares)),
    }
