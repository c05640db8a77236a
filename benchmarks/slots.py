"""How fast one slot's best rings are proven, against solvers.

Instances of one slot, in which all jobs are there. Gaps are of the total utility to the bound proven.

- Proof: preset ``slot``, 20 jobs on 20 servers, seeds 0 to 9, limit 30 s; on the first four HiGHS and SCIP on the span model
  (``milp``) and CP-SAT on circuits stop after 30 s too. Equal optima are asserted. Seconds on the wall as ``solve`` runs a
  method, checks included; solvers are warm; three turns, of each method as many as start within its first 10 s.
- Larger: 32 jobs on 32 servers, seeds 0 to 5, limit 60 s, the same way; the bar is a proof within the limit.
"""

from against import WORDS, add_proofs, proven, summary, warm
from measure import Page, present

from dlsched import ring_embedding
from dlsched.ring_embedding import Instance

OTHERS = (("milp", "highs"), ("milp", "scip"), ("circuit", "cpsat"))
PROOF_LIMIT_S = 30.0
PROOF_BAR_S = 10.0
LARGER_LIMIT_S = 60.0


def drawn(size: int, seed: int) -> Instance:
    """One slot."""
    return ring_embedding.generate(preset="slot", jobs=size, servers=size, slots=1, seed=seed)


def add_proof(page: Page, size: int, seeds: int, compared: int, limit_s: float) -> str:
    """Append the table of one size, the first few instances with the solvers beside it, and return the answer."""
    generated = f"`dlsched generate ring_embedding --preset slot --jobs {size} --servers {size} --slots 1 --seed ...`."
    page.add(f"## {size} jobs on {size} servers", f"{generated} {WORDS if compared else ''}".strip())
    instances = {str(seed): drawn(size, seed) for seed in range(seeds)}
    others = OTHERS if compared else ()
    ours = add_proofs(page, ring_embedding, "seed", instances, limit_s=limit_s, others=others, compared=compared)
    answer = f"- {size} jobs on {size} servers, {limit_s:g} s: {summary(ours)}"
    bar_s = PROOF_BAR_S if compared else LARGER_LIMIT_S
    within = sum(proven(each.answers[-1]) and each.median <= bar_s for each in ours)
    return f"{answer}; within the bar of {bar_s:g} s {within} of {seeds} ({'yes' if within == seeds else 'NO'})."


def fill(page: Page) -> None:
    """Measure everything; the answers first."""
    warm(ring_embedding, [("exact", None), *OTHERS])
    if page.quick:
        cases = [(6, 1, 1, PROOF_LIMIT_S), (10, 1, 0, LARGER_LIMIT_S)]
    else:
        cases = [(20, 10, 4, PROOF_LIMIT_S), (32, 6, 0, LARGER_LIMIT_S)]
    page.text.insert(0, "\n".join(["## Proof\n", *[add_proof(page, *case) for case in cases]]))


if __name__ == "__main__":
    present("One slot of ring_embedding", __doc__, fill)
