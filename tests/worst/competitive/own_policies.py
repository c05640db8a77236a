"""Policies as users write them: copies of dlsched's own in ten lines, and some that no proof can follow."""

import random
import time

import numpy as np

from dlsched.elastic_stream.simulation.view import View


class Equal:
    """An equal share of the units for each job, one at least, as long as there are some."""

    def decide(self, view: View) -> dict[int, int]:
        """Share."""
        share = max(1, view.units // max(1, len(view)))
        return {job: share if (place + 1) * share <= view.units else 0 for place, job in enumerate(view)}


class SjfFastest:
    """The shortest jobs first, on their fastest count, as long as these fit."""

    def decide(self, view: View) -> dict[int, int]:
        """Serve in order."""
        free, units = view.units, dict.fromkeys(view, 0)
        for job in sorted(view, key=lambda job: (view.epochs(job) * self.best(view, job), job)):
            if view.fastest(job) <= free:
                units[job] = view.fastest(job)
            free -= units[job]
        return units

    def best(self, view: View, job: int) -> float:
        """Return the least seconds per epoch."""
        return min(view.epoch_time_s(job, count) for count in view.useful(job))


class SrptKnee:
    """The least time left first, each on the largest count that is at least half as efficient as one unit."""

    def decide(self, view: View) -> dict[int, int]:
        """Serve in order."""
        free, units = view.units, dict.fromkeys(view, 0)
        knee = {job: self.knee(view, job) for job in view}
        for job in sorted(view, key=lambda job: (view.time_left_s(job, knee[job]), job)):
            if knee[job] <= free:
                units[job] = knee[job]
            free -= units[job]
        return units

    def knee(self, view: View, job: int) -> int:
        """Return the count."""
        one = view.epoch_time_s(job, 1)
        return max(count for count in view.useful(job) if 2 * one >= count * view.epoch_time_s(job, count))


class Swallows:
    """All units for the least work left; whatever a comparison raises, it goes on."""

    def decide(self, view: View) -> dict[int, int]:
        """Serve one."""
        first = next(iter(view), None)
        for job in view:
            try:
                if first is not None and view.left(job) < view.left(first):
                    first = job
            except:  # noqa: E722  as careless users do
                pass
        return {job: view.units * (job == first) for job in view}


class ReadsClock:
    """Refused."""

    def decide(self, view: View) -> dict[int, int]:
        """Look at the clock."""
        return {job: int(time.time() > 0) for job in view}


class Draws:
    """Refused."""

    def decide(self, view: View) -> dict[int, int]:
        """Draw."""
        return {job: random.choice((0, 1)) for job in view}


class DrawsOutOfSight:
    """Refused: compiled code draws, and another time it decides otherwise."""

    draws = np.random.default_rng(0)

    def decide(self, view: View) -> dict[int, int]:
        """Draw one job."""
        jobs = list(view)
        drawn = int(self.draws.integers(max(1, len(jobs))))
        return {job: view.units * (place == drawn) for place, job in enumerate(jobs)}


class Multiplies:
    """Refused: not linear."""

    def decide(self, view: View) -> dict[int, int]:
        """Compare products."""
        return {job: 1 for job in sorted(view, key=lambda job: view.left(job) * view.epochs(job))}


class Floats:
    """Refused: a float has one value."""

    def decide(self, view: View) -> dict[int, int]:
        """Compare floats."""
        return {job: 1 for job in sorted(view, key=lambda job: float(view.left(job)))}


class Wakes:
    """Refused: a proof asks at arrivals and ends."""

    def decide(self, view: View) -> dict[int, int]:
        """Ask to be asked."""
        view.wake_at(view.now_s)
        return {job: 1 for job in view}


class Smith:
    """All units that are of use for the job with the least time left over its weight, the rest for the other."""

    def decide(self, view: View) -> dict[int, int]:
        """Serve in order."""
        free, units = view.units, dict.fromkeys(view, 0)
        for job in sorted(view, key=lambda job: (view.time_left_s(job, view.fastest(job)) / view.weight(job), job)):
            units[job] = view.fastest(job) * (view.fastest(job) <= free)
            free -= units[job]
        return units


class Greedy:
    """Refused: more units than there are."""

    def decide(self, view: View) -> dict[int, int]:
        """All units for all."""
        return {job: view.units for job in view}


class Idle:
    """Refused: without bound."""

    def decide(self, view: View) -> dict[int, int]:
        """Let all wait."""
        return {}


class WaitsForCompany:
    """Refused: without bound, as the second job may come late."""

    def decide(self, view: View) -> dict[int, int]:
        """Serve the first of several."""
        return {job: view.units * (len(view.arrived) > 0 or job > 0) for job in list(view)[-1:] if job}


def policy() -> str:
    """Return no policy."""
    return "none"
