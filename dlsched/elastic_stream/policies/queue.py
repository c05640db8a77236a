"""Jobs served in an order, each on a size of its own or all on equal shares: who does not fit any more waits."""

from dlsched.algorithms.overtaking import Line
from dlsched.elastic_stream.policies.orders import fitting, las, order_named, srpt
from dlsched.elastic_stream.policies.sizes import Size, largest_up_to
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
    looked at again at every event, by ``srpt`` with weights those that run wherever one may be stopped.
    """

    clairvoyant = False

    def __init__(self, order: str, size: Size) -> None:
        self._order, self._size = order_named(order), size
        self.timeless = self._order is not las
        self._falls = self._order is srpt  # keys of running jobs fall as time goes by, all alike but for weights
        self._line: Line | None = None

    def decide(self, view: View) -> dict[int, int]:
        """Admit whoever fits, the first in order first; stop those that do not fit behind it any more."""
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
    """Each of n jobs present gets its largest allowed count of at most C / n, else its smallest; in order, while they fit.

    Parameters
    ----------
    order
        Who comes first when not all fit: a name of ``ORDERS``.

    Guarantee: none. Knows the number of jobs; speeds and work only as far as the order does. Cost: O(n log n) an event,
    O(n) in order of arrival.
    """

    clairvoyant = False

    def __init__(self, order: str = "fifo") -> None:
        self._order = order_named(order)
        self.timeless = self._order is not las

    def decide(self, view: View) -> dict[int, int]:
        """Share the units out."""
        if not len(view):
            return {}
        share = max(1, view.units // len(view))
        sizes = {job: largest_up_to(view, job, share) for job in view}
        return dict.fromkeys(view, 0) | {job: sizes[job] for job in fitting(view, self._order, sizes)}
