"""Streams of plans are what they say they are, and so is GADGET as published."""

import math

import numpy as np
import pytest

from dlsched import ring_embedding
from dlsched.core.errors import UsageError
from dlsched.study.reproduce.published import gadget
from dlsched.study.reproduce.streams import ARRIVALS, MIXES, async_jobs, pattern


@pytest.mark.parametrize("mix", ["resnet110", "published", *MIXES])
@pytest.mark.parametrize("arrivals", ARRIVALS)
def test_patterns_have_their_jobs_and_order(mix: str, arrivals: str) -> None:
    """100 jobs on 16 units, in order of arrival, the same for the same seed."""
    instance = pattern(mix=mix, arrivals=arrivals, units=16, load=0.5, seed=3)
    times = [job.arrival_s for job in instance.jobs]
    assert (instance.units, len(times)) == (16, 100) and times == sorted(times)
    assert instance.name == f"{mix}/{arrivals}/16/0.5/seed3"
    assert instance == pattern(mix=mix, arrivals=arrivals, units=16, load=0.5, seed=3)
    assert instance != pattern(mix=mix, arrivals=arrivals, units=16, load=0.5, seed=4)


def test_a_law_of_speed_and_the_load_are_kept() -> None:
    """Jobs of n^0.5 are as fast as the root of their units; the span of arrivals is the work at one unit over the load."""
    instance = pattern(mix="short-long-sub-linear", arrivals="poisson", units=64, load=0.5, seed=0)
    speed = instance.jobs[0].speed
    assert [speed.epoch_time_s(units) for units in (1, 4, 16)] == pytest.approx([1.0, 0.5, 0.25])
    seconds = sorted({job.epochs for job in instance.jobs})
    assert seconds == [600.0, 36000.0]  # 10 minutes, and 60 times as long
    span_s = math.fsum(job.epochs for job in instance.jobs) / (0.5 * 64)
    assert max(job.arrival_s for job in instance.jobs) == pytest.approx(span_s, rel=0.3)  # a sum of 200 exponentials


def test_early_ends_leave_the_jobs_alone() -> None:
    """The same jobs with early ends and without; half of them end at 5 %."""
    whole, early = (async_jobs(load=0.8, ends=ends, seed=1) for ends in ("none", "early"))
    assert [job.epochs for job in whole.jobs] == [job.epochs for job in early.jobs]
    assert all(job.stops_at == 1.0 for job in whole.jobs)
    stops = [job.stops_at for job in early.jobs]
    assert set(stops) == {0.05, 0.25, 1.0} and stops.count(0.05) == pytest.approx(100, abs=25)
    assert (early.name, early.units) == ("0.8/early/seed1", 16)


def test_arguments_are_refused_in_words() -> None:
    """Each with what is allowed."""
    with pytest.raises(UsageError, match="mix: found 'linear', allowed: resnet110, published, sub-linear"):
        pattern(mix="linear", arrivals="poisson", units=16, load=0.5, seed=0)
    with pytest.raises(UsageError, match="units: found 8, allowed: 16, 64"):
        pattern(mix="published", arrivals="poisson", units=8, load=0.5, seed=0)
    with pytest.raises(UsageError, match="ends: found 'late', allowed: none, early"):
        async_jobs(load=0.5, ends="late", seed=0)


def test_gadget_as_published_is_not_repaired() -> None:
    """It is GADGET without repair with the same draws; on scarce bandwidth the checker finds what it overuses."""
    instance = ring_embedding.generate(preset="slot", jobs=10, seed=0)
    answer = gadget(instance, seed=1)
    assert answer == ring_embedding.gadget(instance, np.random.default_rng(1), repair=False)
    assert ring_embedding.check(instance, answer)
