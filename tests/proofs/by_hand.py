"""An instance of ring_allocation whose optimum is proven by hand in one line."""

from collections.abc import Sequence
from typing import Any

from dlsched.families import family_of, instance_from
from dlsched.solvers.linear import from_pulp
from proofs.writing import proof_text

# Two jobs on 3 GPUs: a takes 4 s on one and 2 s on two, b 5 s and 2 s. Best: one for a, two for b, 6 s.
JOBS = [{"id": "a", "epoch_time_s": {"1": 4, "2": 2}}, {"id": "b", "epoch_time_s": {"1": 5, "2": 2}}]
DATA: dict[str, Any] = {
    "format": "dlsched/ring_allocation/1",
    "name": "by hand",
    "gpus": 3,
    "jobs": [{"epochs": 1, **job} for job in JOBS],
}
INSTANCE = instance_from(DATA, "by hand")
MODEL = from_pulp(family_of(INSTANCE).formulations["milp"](INSTANCE).model)
BEST = "best 2 0 1 3 1"
WORSE = "worse 2 1 1 2 1"
# 6 choice_a + 6 choice_b - 2 capacity + (x_b_1 >= 0) is the objective, and 6 + 6 - 2 * 3 its bound.
BOUND = "bound G 6 OBJ { lin 4 9 6 10 6 8 -2 4 1 } -1"
HEAD = f"% instance: by hand\n% sha256: {INSTANCE.sha256}\n% formulation: milp\n"


def written(
    range_: str = "range 6 6",
    solutions: Sequence[str] = (BEST,),
    derivation: Sequence[str] = (BOUND,),
    head: str = HEAD,
) -> str:
    """Write a proof for the instance."""
    return head + proof_text(MODEL, range_, solutions, derivation)
