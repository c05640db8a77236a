"""Jobs of a size of their own, served in an order: whoever fits behind those before it runs, the others wait."""

from dlsched.algorithms.overtaking import Line
from dlsched.elastic_stream.policies.orders import las, order_named, srpt
from dlsched.elastic_stream.policies.sizes import Size
from dlsched.elastic_stream.simulation.view import View


class Queue:
    """Order x size, where the size of a job does not depend on the others: fixed, fastest or knee.

    A job may overtake one that does not fit, and may be stopped again for it.

    Parameters
    ----------
    order
        A name of ``ORDERS``.
    size
        From ``sizes``.

    Guarantee: none. Knows speeds and the nominal work. Cost: that of ``algorithms.overtaking``; by ``las`` all jobs are
    looked at again at every event.
    """

    clairvoyant = False

    def __init__(self, order: str, size: Size) -> None:
        self._order, self._size = order_named(order), size
        self.timeless = self._order is not las
        self._falls = self._order is srpt  # keys of running jobs fall as time goes by
        self._line: Line | None = None

    def decide(self, view: View) -> dict[int, int]:
        """Admit whoever fits, the first in order first; stop those that do not fit behind it any more."""
        if self._line is None:
            self._line = Line(view.units)
        line = self._line
        line.begin(view.passed_s if self._falls else 0.0)
        gain = line.end(view.ended)
        if self._order is las:
            line.sort_again(lambda job, size: las(view, job, size))
            gain = view.units
        line.fill(gain)
        for job in view.arrived:
            size = self._size(view, job)
            line.arrive((self._order(view, job, size), job, size))
        for _, job, size in line.stopped:
            key = view.time_left_stopped_s(job, size) if self._falls else self._order(view, job, size)
            line.wait((key, job, size))
        return line.changes
