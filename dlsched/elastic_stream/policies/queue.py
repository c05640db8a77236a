"""Policies that serve jobs in an order, on individual sizes or equal shares; jobs that do not fit wait."""

import numpy as np

from dlsched.algorithms.overtaking import Line
from dlsched.elastic_stream.policies.orders import MANY, fifo, fitting, fitting_rows, las, order_named, srpt
from dlsched.elastic_stream.policies.sizes import Fastest, Fixed, Knee, Size, largest_up_to
from dlsched.elastic_stream.simulation.queue_stream import Rule
from dlsched.elastic_stream.simulation.queued_job import ATTAINED, FALLING, STATIC
from dlsched.elastic_stream.simulation.view import View


class Queue:
    """Serves jobs in an order, each on a size independent of the other jobs: fixed, fastest or knee.

    A job may overtake one that does not fit, and may be stopped again to make room for it.

    Parameters
    ----------
    order
        A name of ``ORDERS``.
    size
        A rule of ``sizes``.

    Guarantee: none. Knows speeds and the nominal work. Cost: that of ``algorithms.overtaking``; ``las``
    looks at all jobs again at every event, and ``srpt`` with weights at the running jobs whenever one of
    them may be stopped.
    """

    clairvoyant = False

    def __init__(self, order: str, size: Size) -> None:
        self._order, self._size = order_named(order), size
        self.timeless = self._order is not las
        self._falls = self._order is srpt  # keys of running jobs fall with time, equally if unweighted
        self._line: Line | None = None

    @property
    def rule(self) -> Rule | None:
        """What the simulator needs to serve without asking; None once asked, or with other classes."""
        if self._line is not None or type(self) is not Queue or type(self._size) not in (Fixed, Fastest, Knee):
            return None
        order = ATTAINED if self._order is las else FALLING if self._falls else STATIC
        return Rule(order, self._size, self._order)

    def decide(self, view: View) -> dict[int, int]:
        """Admit the jobs that fit, in order; stop running jobs that no longer fit behind them."""
        if self._line is None:
            self._line = Line(view.units)
        line = self._line
        line.begin(view.passed_s if self._falls and not view.weighted else 0.0)
        gain = line.end(view.ended)
        if self._order is las:
            line.sort_again(lambda job, size: las(view, job, size))
            gain = view.units
        elif self._falls and view.weighted:
            line.falling = lambda job, size: srpt(view, job, size)
        line.fill(gain)
        for job in view.arrived:
            size = self._size(view, job)
            line.arrive((self._order(view, job, size), job, size))
        for _, job, size in line.stopped:
            left_s = view.time_left_stopped_s(job, size)
            line.wait((left_s / view.weight(job) if self._falls else self._order(view, job, size), job, size))
        return line.changes


class EqualShare:
    """Gives each of n present jobs its largest count up to C / n, else its smallest; in order as they fit.

    Parameters
    ----------
    order
        Order in which jobs are served if not all fit, a name of ``ORDERS``.

    Guarantee: none. Knows the number of jobs; speeds and work only if the order uses them. Cost: O(n log n)
    an event, O(n) in order of arrival.
    """

    clairvoyant = False

    def __init__(self, order: str = "fifo") -> None:
        self._order = order_named(order)
        self.timeless = self._order is not las

    def decide(self, view: View) -> dict[int, int]:
        """Divide the units into equal shares."""
        if not len(view):
            return {}
        share = max(1, view.units // len(view))
        if self._order is fifo and len(view) >= MANY:
            return self._share_arrays(view, share)
        sizes = {job: largest_up_to(view, job, share) for job in view}
        return dict.fromkeys(view, 0) | {job: sizes[job] for job in fitting(view, self._order, sizes)}

    def _share_arrays(self, view: View, share: int) -> dict[int, int]:
        """Divide the units in order of arrival, on arrays."""
        arrays = view.arrays
        least, most = arrays.least, arrays.most
        sizes = np.where(most <= share, most, least)
        between = (least < share) & (share < most)
        whole = arrays.choices == most - least + 1
        sizes[between & whole] = share
        if len(rows := np.flatnonzero(between & ~whole)):
            starts, counts, _ = arrays.pairs(rows, View.allowed, limit=None)
            sizes[rows] = counts[starts[:-1] + np.add.reduceat(counts <= share, starts[:-1], dtype=np.int64) - 1]
        units, rows = np.zeros_like(sizes), fitting_rows(sizes, view.units)
        units[rows] = sizes[rows]
        return arrays.changes(units)
