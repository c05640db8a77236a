"""Policies that solve ring_allocation's problem at every event, for the work that is left: by heuristic, or exactly.

The cost of w units to a job is the seconds it would still take if it kept them: its epochs left times tau(w), and the
pause that a change costs. Jobs are admitted in order while their smallest counts fit; the rest wait.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.greedy import double_greedily, increase_greedily
from dlsched.allocation.knapsack import solve_knapsack
from dlsched.core.arrays import IntArray
from dlsched.core.budget import Tick
from dlsched.core.errors import UsageError
from dlsched.elastic_stream.policies.orders import Order, fifo, order_named
from dlsched.elastic_stream.simulation.view import View

LARGEST_PAIRS = 2**18
"""Pairs of an admitted job and a count that a policy is willing to weigh at one event."""

Algorithm = Callable[[CostTable, int], IntArray | None]


class Doubling:
    """At every event: all admitted jobs at their smallest count, then double whoever saves most time per added unit.

    1. In order of arrival, admit every job whose smallest count fits beside those of the jobs admitted before.
    2. Among the admitted, double the job with the largest (cost_j(w) - cost_j(2w)) / w for which 2w is allowed and fits.
    3. Repeat 2 while that saving is positive.

    Guarantee: none. Knows speeds and the nominal work. Cost: O(A log A) an event for A <= C admitted jobs.

    Source: Capes et al. 2018, arXiv 1908.08082: jobs are stopped, resized and restarted. Only the abstract was
    available; the steps are our reconstruction.
    """

    clairvoyant = False

    def decide(self, view: View) -> dict[int, int]:
        """Stop, resize and restart."""
        return _resize(view, fifo, doubling_counts, double_greedily)


class Marginal:
    """At every event: all admitted jobs at their smallest count, then the next larger count to whoever gains most per unit.

    Parameters
    ----------
    order
        Who is admitted first: a name of ``ORDERS``; a job's key is taken at its smallest count.

    Guarantee: none over time; at each event optimal for the time left if it is convex (Fox 1966). Knows speeds and the
    nominal work. Cost: O(P + S log A) an event for P pairs of admitted jobs and counts, S <= C steps.

    Source: Peng et al., Optimus, EuroSys 2018, section 4.1.
    """

    clairvoyant = False

    def __init__(self, order: str = "fifo") -> None:
        self._order = order_named(order)

    def decide(self, view: View) -> dict[int, int]:
        """Resize by marginal gain."""
        return _resize(view, self._order, View.useful, increase_greedily)


class Myopic:
    """At every event: the allocation of least total time left (ring_allocation's optimum) of the admitted jobs.

    Exact for the moment, and blind to what will end and arrive. Guarantee: none over time. Knows speeds and the nominal
    work. Cost: that of ``algorithms.knapsack`` an event.
    """

    clairvoyant = False

    def decide(self, view: View) -> dict[int, int]:
        """Resize to the optimum of the moment."""
        return _resize(view, fifo, View.useful, partial(_exactly, step=view.tick))


def doubling_counts(view: View, job: int) -> Sequence[int]:
    """Counts that doubling may visit: all of a table, of a law the powers of two up to twice its fastest count."""
    useful = view.useful(job)
    if not isinstance(useful, range):
        return useful
    most = min(view.allowed(job)[-1], 2 * useful[-1])
    return [2**power for power in range(most.bit_length())]


def admitted(view: View, order: Order, units: int) -> list[int]:
    """Jobs whose smallest counts fit together, in order; one that does not fit is passed over."""
    least = {job: view.allowed(job)[0] for job in view}
    jobs = []
    for job in sorted(least, key=lambda job: (order(view, job, least[job]), job)):
        if least[job] <= units:
            units -= least[job]
            jobs.append(job)
            if not units:
                break
    return jobs


def costs_of(view: View, job: int, counts: Iterable[int]) -> dict[int, float]:
    """Seconds that the job would still take on each count."""
    left = view.left(job)
    pause_s, restart_s, held = view.pause_s(job, view.held(job)), view.restart_s(job), view.held(job)
    return {count: left * view.epoch_time_s(job, count) + (pause_s if count == held else restart_s) for count in counts}


def allocate(costs: Mapping[int, Mapping[int, float]], units: int, algorithm: Algorithm) -> dict[int, int]:
    """Units by job from costs by job and count (ascending), whose smallest counts fit together."""
    if not costs:
        return {}
    counts = np.array([count for row in costs.values() for count in row], dtype=np.int64)
    flat = np.array([cost for row in costs.values() for cost in row.values()])
    starts = np.cumsum([0, *map(len, costs.values())], dtype=np.int64)
    chosen = algorithm(CostTable(starts, counts, flat), units)
    assert chosen is not None
    return dict(zip(costs, counts[chosen].tolist(), strict=True))


def _resize(
    view: View, order: Order, counts: Callable[[View, int], Sequence[int]], algorithm: Algorithm
) -> dict[int, int]:
    jobs = admitted(view, order, view.units)
    allowed = {job: counts(view, job) for job in jobs}
    pairs = sum(map(len, allowed.values()))
    if pairs > LARGEST_PAIRS:
        raise UsageError(
            f"found {pairs} pairs of job and count at {view.now_s!r} s, allowed: {LARGEST_PAIRS} (limit max_gpus)"
        )
    given = allocate({job: costs_of(view, job, row) for job, row in allowed.items()}, view.units, algorithm)
    return dict.fromkeys(view, 0) | given


def _exactly(table: CostTable, units: int, step: Tick) -> IntArray | None:
    choice = solve_knapsack(table, units, step=step)
    return None if choice is None else choice.pairs
