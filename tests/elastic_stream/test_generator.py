"""Generated streams: reproducible, of the load that was asked for, and of the arrival pattern that was named."""

import pytest

from dlsched.elastic_stream import Instance, generate
from dlsched.elastic_stream.generator import PRESETS


@pytest.mark.parametrize("preset", PRESETS)
def test_ids_and_arrivals_are_in_order(preset):
    """Jobs are numbered as they arrive; the preset of slots has ticks, the others none."""
    instance = generate(preset=preset, jobs=12, seed=4)
    arrivals = [job.arrival_s for job in instance.jobs]
    assert arrivals == sorted(arrivals) and [job.id for job in instance.jobs] == [f"j{n}" for n in range(12)]
    assert isinstance(instance, Instance) and (instance.tick_s is not None) == (preset == "slots")


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("load", [0.4, 1.2])
def test_load_is_area_over_capacity(preset, load):
    """Unit-seconds at the most efficient counts over units times the span of arrivals, within what chance allows."""
    instance = generate(preset=preset, jobs=600, gpus=32, load=load, seed=1)
    area = sum(
        job.work * min(w * job.speed.epoch_time_s(w) for w in instance.counts(n)) for n, job in enumerate(instance.jobs)
    )
    assert area / (32 * instance.jobs[-1].arrival_s) == pytest.approx(load, rel=0.35)
    assert instance.source.endswith(f"--load {load:g}")


def test_searches_stop_early():
    """Groups of eight with one table; fractions 5 %, 25 % and all, in the stated shares; policies know the distribution."""
    instance = generate(preset="search", jobs=800, seed=3)
    assert len({job.epoch_time_s for job in instance.jobs[:8]}) == 1
    shares = [sum(job.stops_at == stop for job in instance.jobs) / 800 for stop in (0.05, 0.25, 1.0)]
    assert shares == pytest.approx([0.5, 0.3, 0.2], abs=0.05)
    assert [stop.probability for stop in instance.jobs[0].early_stop] == [0.5, 0.3]


def test_options_reach_the_stream():
    """Ticks, the largest count and the units."""
    instance = generate(preset="slots", jobs=3, gpus=5, max_gpus=2, tick=30.0, load=0.5)
    assert (instance.units, instance.tick_s, instance.counts(0)) == (5, 30.0, (1, 2))
    assert instance.source.endswith("--seed 0 --max-gpus 2 --load 0.5 --tick 30")
