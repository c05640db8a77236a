"""Policies whose events touch only what changes make the streams of a pass over all jobs at every event, bit for bit."""

import pytest

from dlsched.elastic_stream import generate, simulate
from dlsched.elastic_stream.policies import ORDERS, EqualShare, gains, orders

from .streams import drawn


class EqualPass:
    """Equal shares by the rule: at every event all jobs present are sorted, and served while they fit."""

    clairvoyant = False

    def __init__(self, order):
        self.order, self.timeless = ORDERS[order], order != "las"

    def decide(self, view):
        share, free, answer = max(1, view.units // max(1, len(view))), view.units, dict.fromkeys(view, 0)
        sizes = {}
        for job in view:
            allowed = view.allowed(job)
            sizes[job] = max((count for count in allowed if count <= share), default=allowed[0])
        for job in sorted(view, key=lambda job: (self.order(view, job, sizes[job]), job)):
            if sizes[job] <= free:
                answer[job] = sizes[job]
                free -= sizes[job]
        return answer


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("many", [1, 32])
def test_equal_shares_are_those_of_a_pass(order, many, monkeypatch):
    """With ties, weights, restarts, ticks and times of its own; where all fit, and where most wait."""
    for module in (gains, orders):
        monkeypatch.setattr(module, "MANY", many)
    streams = [(drawn(seed), {}) for seed in range(8)]
    streams += [(drawn(seed, jobs=120, arrival_s=0.0), {}) for seed in range(2)]
    streams += [(drawn(seed).model_copy(update={"tick_s": 5.0}), {}) for seed in range(3)]
    streams += [(drawn(seed), {"every_s": 4.0}) for seed in range(3)]
    streams += [(generate(preset=each, jobs=150, gpus=48, seed=1, load=1.5), {}) for each in ("poisson", "search")]
    for instance, further in streams:
        expected = simulate(instance, EqualPass(order), **further)
        assert simulate(instance, EqualShare(order), **further).periods == expected.periods
