"""Plans in hindsight: never worse than their start, always feasible, the same by the same seed."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.core.errors import UsageError
from dlsched.elastic_stream import Instance, bound, example
from dlsched.elastic_stream.checker import check, infeasible, objective
from dlsched.elastic_stream.fast_simulation import Course, Speeds
from dlsched.elastic_stream.planning import improve, plan_stream
from tests.elastic_stream.nasty import nasty
from tests.elastic_stream.planning.test_fast_simulation import drawn
from tests.elastic_stream.streams import stream


class Enough(Exception):  # noqa: N818  a signal
    """Stops a plan."""


def planned(instance, tries=30, seed=0, weights=None, **further):
    """A plan, and the objectives of the streams handed over on the way."""
    met = []
    made = plan_stream(
        instance,
        [1.0] * len(instance.jobs) if weights is None else weights,
        generator=np.random.default_rng(seed),
        effort=tries * len(instance.jobs),
        better=lambda found: met.append(objective(instance, found)),
        **further,
    )
    assert check(instance, made) == []
    assert met[-1] == objective(instance, made)
    return made, met


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_nasty_streams(seed):
    instance = nasty(np.random.default_rng(seed), most_jobs=6)
    if infeasible(instance) is not None:
        with pytest.raises(UsageError, match="no stream"):
            planned(instance)
        return
    made, met = planned(instance)
    assert met == sorted(met, reverse=True)
    assert objective(instance, made) >= bound(instance).value * (1 - 1e-9)


@pytest.mark.parametrize("tick_s", [None, 7.0])
@pytest.mark.parametrize("seed", range(6))
def test_a_search_gains(seed, tick_s):
    instance = drawn(seed, tick_s)
    made, met = planned(instance, 400)
    assert met == sorted(set(met), reverse=True)
    assert len(met) > 1
    assert planned(instance, 400)[0] == made


@pytest.mark.parametrize("tick_s", [None, 5.0])
def test_laws(tick_s):
    """Seconds of an epoch on w units: 8 / w + .5, plus nothing that rises with w."""
    law = {"theta": (8.0, 0.5, 0.0, 0.0), "samples": 1.0, "model_bytes": 0.0}
    jobs = [
        {"id": f"j{k}", "arrival_s": 2.0 * k, "epochs": 5 + k, "speed_law": law, "restart_s": 1.0} for k in range(5)
    ]
    instance = Instance(name="laws", units=12, tick_s=tick_s, jobs=jobs)
    _, met = planned(instance, 100)
    assert met[-1] >= bound(instance).value


def test_jobs_without_work():
    made, met = planned(stream((0, 0, {1: 9.0}), (2, 0.0, {2: 9.0}), units=4))
    assert not made.periods
    assert met == [0.0]


def test_finds_what_is_best_by_hand():
    """The short job first, though the long one weighs more: 8 + 32, not 24 + 32 s."""
    instance = stream((0, 1, {1: 24.0}), (0, 1, {1: 8.0}), units=1)
    assert planned(instance, 100, weights=[900.0, 1.0])[1][-1] == pytest.approx(20.0)
    # the optimum of the example, proven in the documentation
    assert planned(example(), 100)[1][-1] == pytest.approx(19.6)


def test_weights_count_at_least_the_fastest_run():
    """A multiplier of 0 says nothing: both count 8 and 24 s, equal gains per unit, and the first in the file goes first."""
    instance = stream((0, 1, {1: 24.0}), (0, 1, {1: 8.0}), units=1)
    _, met = planned(instance, 0, weights=[0.0, 0.0])
    assert met == [pytest.approx(20.0)]  # the better of that, 28, and least work first


def test_a_limit_keeps_what_was_found():
    instance, kept, ticks = drawn(1), [], iter(range(300))

    def limited():
        if next(ticks, None) is None:
            raise Enough

    with pytest.raises(Enough):
        plan_stream(
            instance,
            [1.0] * len(instance.jobs),
            generator=np.random.default_rng(0),
            effort=400 * len(instance.jobs),
            better=kept.append,
            tick=limited,
        )
    met = [objective(instance, made) for made in kept]
    assert check(instance, kept[-1]) == []
    assert len(met) > 1
    assert met == planned(instance, 400)[1][: len(met)]


def test_improve_hands_over_its_best():
    instance = drawn(4)
    speeds = Speeds(instance)
    course = Course(speeds, [1.0] * len(instance.jobs))
    start_s, handed = course.total_s, []
    improve(course, 300, np.random.default_rng(1), better=handed.append)
    totals = [Course(speeds, weights).total_s for weights in handed]
    assert totals == sorted(totals, reverse=True)
    assert totals[-1] < start_s
    assert totals[-1] <= course.total_s * (1 + 1e-9)
