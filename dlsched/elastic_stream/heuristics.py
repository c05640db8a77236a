"""The policies of elastic_stream as plain functions, from an instance to the stream they make of it.

None means that a job needs more units than there are, which proves infeasibility. Each knows the present only. With
``tick_s`` they decide at ticks alone. Ties go to the job that stands first in the file.
"""

from collections.abc import Callable

from dlsched.core.errors import UsageError
from dlsched.elastic_stream.checker import infeasible
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.policies import (
    ORDERS,
    Doubling,
    EqualShare,
    Exploratory,
    Fastest,
    Fixed,
    Knee,
    Marginal,
    Myopic,
    Queue,
)
from dlsched.elastic_stream.simulator import simulate
from dlsched.elastic_stream.solution import Stream
from dlsched.elastic_stream.view import Policy

Step = Callable[[str], None]

SIZINGS: dict[str, Callable[[str], Policy]] = {
    "fixed": lambda order: Queue(order, Fixed()),
    "fastest": lambda order: Queue(order, Fastest()),
    "knee": lambda order: Queue(order, Knee()),
    "equal": EqualShare,
    "marginal": Marginal,
}
"""Sizing to a policy of any order: 8 units, all useful units, efficiency of at least one half, C / n each, marginal gain."""


def doubling(instance: Instance, *, step: Step | None = None) -> Stream | None:
    """Redistribute all units by the doubling heuristic at every event; see ``policies.Doubling``.

    Guarantee: none. Cost: O(A log A) an event for A <= C admitted jobs.

    Source: Capes et al. 2018, arXiv 1908.08082. Only the abstract was available; the steps are our reconstruction.
    """
    return play(instance, Doubling(), step)


def marginal(instance: Instance, *, order: str = "fifo", step: Step | None = None) -> Stream | None:
    """Redistribute all units by marginal gain at every event; see ``policies.Marginal``.

    Guarantee: none over time. Source: Peng et al., Optimus, EuroSys 2018, section 4.1.
    """
    return play(instance, Marginal(_known(order)), step)


def fixed(
    instance: Instance, *, units_per_job: int = 8, order: str = "fifo", step: Step | None = None
) -> Stream | None:
    """Give every job that runs its largest allowed count of at most ``units_per_job``, else its smallest.

    First come, first served, unless another order is named. Guarantee: none. Cost: see ``policies.Queue``.

    Raises
    ------
    UsageError
        ``units_per_job`` < 1.
    """
    return play(instance, Queue(_known(order), Fixed(units_per_job)), step)


def equal(instance: Instance, *, order: str = "fifo", step: Step | None = None) -> Stream | None:
    """Give every job present its largest allowed count of at most C / n; see ``policies.EqualShare``. Guarantee: none."""
    return play(instance, EqualShare(_known(order)), step)


def exploratory(
    instance: Instance,
    *,
    counts: tuple[int, ...] = (1, 2, 4, 8),
    step_s: float = 150.0,
    step: Step | None = None,
) -> Stream | None:
    """Measure every job on a few counts for 2.5 minutes each, then double; see ``policies.Exploratory``.

    Guarantee: none. Source: Capes et al. 2018, arXiv 1908.08082, abstract only; the steps are our reconstruction.
    """
    return play(instance, Exploratory(counts, step_s), step)


def myopic(instance: Instance, *, step: Step | None = None) -> Stream | None:
    """Take the optimal allocation of the moment at every event; see ``policies.Myopic``. Guarantee: none over time."""
    return play(instance, Myopic(), step)


def ordered(instance: Instance, order: str, sizing: str, *, step: Step | None = None) -> Stream | None:
    """Serve jobs in an order, each at the units that a sizing gives it: the grid of Lin et al.

    Parameters
    ----------
    instance
        The stream.
    order
        ``fifo``, ``srpt``, ``sjf``, ``las`` or ``efficiency``: see ``policies.orders``.
    sizing
        A key of ``SIZINGS``: ``fixed``, ``fastest``, ``knee``, ``equal`` or ``marginal``.
    step
        Called now and then with how far the simulation has come.

    Guarantee: none.

    Raises
    ------
    UsageError
        An unknown order or sizing.
    """
    if sizing not in SIZINGS:
        raise UsageError(f"sizing: found {sizing!r}, allowed: {', '.join(SIZINGS)}")
    return play(instance, SIZINGS[sizing](_known(order)), step)


def play(instance: Instance, policy: Policy, step: Step | None = None) -> Stream | None:
    """Simulate a policy; None when the instance is infeasible."""
    return None if infeasible(instance) is not None else simulate(instance, policy, step=step)


def _known(order: str) -> str:
    if order not in ORDERS:
        raise UsageError(f"order: found {order!r}, allowed: {', '.join(ORDERS)}")
    return order
