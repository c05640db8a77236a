"""The jobs present as arrays: what the view says of each, the same bits, at every event; policies that use them."""

import numpy as np
import pytest

from dlsched.core.errors import UsageError
from dlsched.elastic_stream import Instance, View, simulate
from dlsched.elastic_stream.policies import Doubling, EqualShare, Marginal, Myopic, gains, orders
from dlsched.elastic_stream.policies.orders import fitting_rows

from .drawn import drawn

LAW = {"theta": [1e-2, 0.0, 0.1, 1.0], "samples": 500.0, "model_bytes": 1.0}


class Compares:
    """Follows another policy, and holds arrays to the view; asked for first when ``since`` jobs are present."""

    clairvoyant = False

    def __init__(self, policy, since):
        self.policy, self.since, self.compared = policy, since, 0

    def decide(self, view):
        if len(view) >= self.since or view.cached is not None:
            self.compare(view)
        return self.policy.decide(view)

    def compare(self, view):
        arrays, jobs = view.arrays, list(view)
        self.compared += len(jobs)
        assert arrays.jobs.tolist() == jobs and len(arrays) == len(jobs)
        for name in ("held", "left", "attained", "arrival_s", "weight", "restart_s"):
            assert getattr(arrays, name).tolist() == [getattr(view, name)(job) for job in jobs], name
        assert arrays.pause_s.tolist() == [view.pause_s(job, view.held(job)) for job in jobs]
        allowed = [view.allowed(job) for job in jobs]
        assert arrays.least.tolist() == [counts[0] for counts in allowed]
        assert arrays.most.tolist() == [counts[-1] for counts in allowed]
        assert arrays.choices.tolist() == [len(counts) for counts in allowed]
        rows = np.arange(0, len(jobs), 2)
        for chosen in (rows, None) if jobs else ():
            starts, counts, times_s = arrays.pairs(chosen)
            for index, job in enumerate(jobs[::2] if chosen is rows else jobs):
                useful, here = view.useful(job), slice(starts[index], starts[index + 1])
                assert counts[here].tolist() == list(useful)
                assert times_s[here].tolist() == [view.epoch_time_s(job, count) for count in useful]


@pytest.mark.parametrize("since", [0, 6])
@pytest.mark.parametrize("tick_s", [None, 2.5])
def test_arrays_are_what_the_view_says(since, tick_s, monkeypatch):
    """From the first event, or from one in the middle of the stream on; pairs of those that went are cleared away."""
    monkeypatch.setattr("dlsched.elastic_stream.simulation.present_jobs._FEW", 8)
    for seed in range(8):
        instance = drawn(seed, jobs=90).model_copy(update={"tick_s": tick_s})
        policy = Compares(Marginal("srpt"), since)
        simulate(instance, policy)
        assert policy.compared > 100


@pytest.mark.parametrize("make", [Doubling, Marginal, Myopic, EqualShare])
def test_policies_answer_the_same_with_arrays(make, monkeypatch):
    """Always, or never: the same streams."""
    streams = [drawn(seed) for seed in range(10)]
    streams.append(streams[1].model_copy(update={"tick_s": 5.0}))
    law = [
        {"id": f"law{n}", "arrival_s": float(n), "epochs": 2.0, "speed_law": LAW, "restart_s": 1.0} for n in range(9)
    ]
    streams.append(Instance(name="laws", units=40, jobs=[*law, *drawn(3, jobs=9).jobs]))
    made = []
    for many in (1, 10**9):
        for module in (gains, orders):
            monkeypatch.setattr(module, "MANY", many)
        made.append([simulate(instance, make()).periods for instance in streams])
    assert made[0] == made[1]


def test_rows_that_fit_are_those_of_one_pass():
    """One by one: who fits is taken; sizes up to 2^53, of which a thousand and more overflow a sum."""
    generator = np.random.default_rng(0)
    for most in (1, 2, 9, 2**53):
        for _ in range(30):
            sizes = generator.integers(1, most + 1, size=int(generator.integers(0, 2000)))
            units = left = int(generator.integers(1, 3 * most + 400))
            expected = []
            for row, size in enumerate(sizes.tolist()):
                if size <= left:
                    expected.append(row)
                    left -= size
            assert fitting_rows(sizes, units).tolist() == expected


def test_vast_laws_are_refused_by_who_weighs_them_and_shared_by_who_does_not(monkeypatch):
    """2^53 counts each: marginal gain would weigh them all, equal shares take one."""
    for module in (gains, orders):
        monkeypatch.setattr(module, "MANY", 1)
    law = {"theta": [1e-3, 0.0, 0.0, 1.0], "samples": 50_000.0, "model_bytes": 0.0}
    jobs = [{"id": name, "arrival_s": 0.0, "epochs": 10.0, "speed_law": law} for name in "ab"]
    instance = Instance(name="vast", units=2**53, jobs=jobs)
    with pytest.raises(UsageError, match=r"pairs of job and count at 0.0 s, allowed: 262144"):
        simulate(instance, Marginal())
    assert simulate(instance, EqualShare()).periods["a"][0].units == 2**52


class ShortestFirst:
    """The example of the documentation: least left first, each on its smallest count."""

    clairvoyant = False

    def decide(self, view):
        arrays = view.arrays
        first = np.lexsort((arrays.jobs, arrays.left))
        first = first[np.cumsum(arrays.least[first]) <= view.units]
        units = np.zeros_like(arrays.held)
        units[first] = arrays.least[first]
        return arrays.changes(units)


class OneByOne:
    """The same without arrays."""

    clairvoyant = False

    def decide(self, view):
        free, answer = view.units, dict.fromkeys(view, 0)
        for job in sorted(view, key=lambda job: (view.left(job), job)):
            free -= view.allowed(job)[0]
            if free >= 0:
                answer[job] = view.allowed(job)[0]
        return answer


def test_a_policy_of_the_users_own_may_use_either_way():
    """The same stream."""
    for seed in range(10):
        assert simulate(drawn(seed), ShortestFirst()) == simulate(drawn(seed), OneByOne())


def test_other_counts_may_be_asked_for():
    """Allowed ones instead of useful ones, of a law that gets worse: the pairs are looked up again."""

    class Looks:
        clairvoyant = False

        def decide(self, view):
            if len(view):
                for counts in (View.useful, View.allowed):
                    _, found, _ = view.arrays.pairs(counts=counts)
                    assert found.tolist() == list(counts(view, 0))
            return dict.fromkeys(view, 1)

    simulate(
        Instance(name="law", units=400, jobs=[{"id": "a", "arrival_s": 0, "epochs": 1, "speed_law": LAW}]), Looks()
    )
