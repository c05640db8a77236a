"""Equal shares: every job present the same number of units, as far as its allowed counts go."""

from dlsched.elastic_stream.policies.orders import las, order_named
from dlsched.elastic_stream.policies.sizes import largest_up_to
from dlsched.elastic_stream.simulation.view import View


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
        left = view.units
        answer = {}
        for job in sorted(sizes, key=lambda job: (self._order(view, job, sizes[job]), job)):
            answer[job] = sizes[job] if sizes[job] <= left else 0
            left -= answer[job]
        return answer
