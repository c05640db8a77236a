"""Exploration policy: measures a job's speed on a few counts, then leaves it to the doubling heuristic."""

from dlsched.allocation.heuristics import double_greedily
from dlsched.core.errors import UsageError
from dlsched.elastic_stream.policies.gains import allocate, costs_of
from dlsched.elastic_stream.simulation.view import View


class Exploratory:
    """Doubling for schedulers that do not know speeds: the policy measures every speed before it uses it.

    1. A step of exploration that has begun goes on until its time is over.
    2. In order of arrival, every other job is given its smallest count where it fits.
    3. In order of arrival, a job that has not been measured at all counts to explore begins the next one, ascending, if
       it fits. A job stays at its smallest count until then.
    4. What is left is given by doubling to the jobs that are measured at all their counts, at these counts only.

    Parameters
    ----------
    counts
        Counts to explore, ascending. A job explores those that it allows, or its smallest if it allows none
        of them.
    step_s
        Seconds for which a job holds each of these counts, including the pause.

    Guarantee: none. Knows the nominal work, and speeds once they are measured. Cost: O(n log n) an event.

    Source: Capes et al. 2018, arXiv 1908.08082. Only the abstract was available: what the policy does when
    units are short, and that it never uses further counts, is our reconstruction.
    """

    clairvoyant = False

    def __init__(self, counts: tuple[int, ...] = (1, 2, 4, 8), step_s: float = 150.0) -> None:
        if not counts or list(counts) != sorted(set(counts)) or counts[0] < 1:
            raise UsageError(where="counts", found=counts, allowed="integers >= 1, ascending")
        if not step_s > 0:
            raise UsageError(where="step_s", found=step_s, allowed="a number > 0")
        self._counts, self._step_s = counts, step_s
        self._to_measure: dict[int, list[int]] = {}  # by job, next one last
        self._measured: dict[int, list[int]] = {}
        self._steps: dict[int, tuple[int, float]] = {}  # by job: count of the current step, and its end

    def decide(self, view: View) -> dict[int, int]:
        """Continue current steps, admit jobs, begin new steps, and double the measured jobs."""
        self._note(view)
        given = {job: count for job, (count, _) in self._steps.items()}
        left = view.units - sum(given.values())
        for job in view:
            least = view.allowed(job)[0]
            if job not in given and least <= left:
                given[job] = least
                left -= least
        for job in view:
            todo = self._to_measure[job]
            if todo and job in given and job not in self._steps and todo[-1] - given[job] <= left:
                left -= todo[-1] - given[job]
                given[job] = todo.pop()
                self._steps[job] = given[job], view.now_s + self._step_s
        learnt = [job for job in given if job not in self._steps and not self._to_measure[job]]
        units = left + sum(given[job] for job in learnt)
        costs = {job: costs_of(view, job, sorted({view.allowed(job)[0], *self._measured[job]})) for job in learnt}
        if self._steps:
            view.wake_at(min(until_s for _, until_s in self._steps.values()))
        return dict.fromkeys(view, 0) | given | allocate(costs, units, double_greedily)

    def _note(self, view: View) -> None:
        """Forget jobs that ended, plan the measurements of new jobs, and end steps whose time is over."""
        for job in view.ended:
            for memory in (self._to_measure, self._measured, self._steps):
                memory.pop(job, None)
        for job in view.arrived:
            allowed = view.allowed(job)
            self._to_measure[job] = [count for count in self._counts if count in allowed][::-1] or [allowed[0]]
            self._measured[job] = []
        for job, (count, until_s) in list(self._steps.items()):
            if until_s <= view.now_s:
                self._measured[job].append(count)
                del self._steps[job]
