"""Policy that applies the rule of the fast simulation in the real simulator, which makes the stream."""

from bisect import bisect_left, insort
from collections.abc import Sequence

from dlsched.elastic_stream.planning.sharing import Offer, offers_of, share, worth_it
from dlsched.elastic_stream.planning.speeds import FRESH, STOPPED, Speeds
from dlsched.elastic_stream.simulation.view import View


class Weighed:
    """Gives units by weight x gain in speed per unit; a restart counts at its gain after the pause.

    Guarantee: none. Clairvoyant. Cost: O(n) an event for n steps of present jobs.
    """

    clairvoyant = True
    timeless = True

    def __init__(self, speeds: Speeds, weights: Sequence[float]) -> None:
        self._speeds, self._weights = speeds, weights
        self._offers: list[Offer] = []
        self._states: dict[int, int] = {}

    def decide(self, view: View) -> dict[int, int]:
        """Divide the units anew; a running job gets more only if it ends earlier so."""
        for job in view.ended:
            self._withdraw(job)
        for job in view.arrived:
            self._offer(job, FRESH)
        shares = share(self._offers, view.units, self._speeds.speed)
        answer = {}
        for job, held in list(self._states.items()):
            units = shares.get(job, 0)
            if units == max(held, 0) or (units > held > 0 and not self._worth_it(view, job, held, units)):
                continue
            answer[job] = units
            self._withdraw(job)
            self._offer(job, units or STOPPED)
        return answer

    def _worth_it(self, view: View, job: int, held: int, units: int) -> bool:
        """Whether a job that holds units ends earlier with more."""
        pause = view.restart_s(job)
        times_s = view.epoch_time_s(job, units), view.epoch_time_s(job, held)
        return not pause or worth_it(
            pause, view.true_left(job), 1 / times_s[0], 1 / times_s[1], view.pause_s(job, held)
        )

    def _offer(self, job: int, state: int) -> None:
        self._states[job] = state
        for offer in offers_of(job, self._weights[job], self._speeds.steps(job, state)):
            insort(self._offers, offer)

    def _withdraw(self, job: int) -> None:
        for offer in offers_of(job, self._weights[job], self._speeds.steps(job, self._states.pop(job))):
            del self._offers[bisect_left(self._offers, offer)]
