"""Prices at any time: what the search claims the verifier proves, at any scale, with many counts; and by hand."""

import itertools

import numpy as np
import pytest

from dlsched.certificates import rounded_down
from dlsched.elastic_stream import Instance, bound, length, objective, plan, prices
from dlsched.elastic_stream.bounds.any_time import averaged, resampled
from dlsched.elastic_stream.certificate import verify


def drawn(seed: int, *, counts: int, scale: float = 1.0, jobs: int = 6) -> Instance:
    """Jobs whose tables fall, unevenly, on many counts; seconds times ``scale``."""
    generator = np.random.default_rng(seed)
    records = []
    for job in range(jobs):
        times = np.sort(generator.uniform(1.0, 20.0, counts))[::-1] * scale
        records.append(
            {
                "id": f"j{job}",
                "arrival_s": float(job * 2.0 * scale),
                "epochs": float(generator.integers(1, 4)),
                "epoch_time_s": {count + 1: float(time_s) for count, time_s in enumerate(times)},
                "restart_s": 0.5 * scale,
            }
        )
    return Instance(name="drawn", units=counts, jobs=records)


@pytest.mark.parametrize(("counts", "seed"), [(2, 1), (18, 1), (40, 0)])
def test_every_certificate_is_verified(counts: int, seed: int) -> None:
    """All on the way, whatever number of counts there is; and none is above a stream."""
    instance = drawn(seed, counts=counts)
    kept = []
    last = prices(instance, better=kept.append, rounds=4)
    assert kept[-1] == last
    assert [each.value for each in kept] == sorted(each.value for each in kept)
    assert all(verify(instance, each) >= each.value for each in kept)
    made = plan(instance, effort=200.0)
    assert made is not None
    assert last.value <= objective(instance, made) * (1 + 1e-9)
    assert bound(instance).value >= length(instance).value


@pytest.fixture(scope="module")
def plain() -> float:
    """What is proven of a drawn stream in seconds."""
    return prices(drawn(0, counts=4, jobs=3)).value


@pytest.mark.parametrize("power", [-250, 250])
def test_seconds_at_any_scale_prove_the_same(power: int, plain: float) -> None:
    scaled = drawn(0, counts=4, jobs=3, scale=2.0**power)
    assert prices(scaled).value == pytest.approx(plain * 2.0**power, rel=2e-3)


def test_two_jobs_on_one_unit() -> None:
    """10 s each, both at 0: 10 and 20 s in the best stream. The relaxation mixes who is first, and comes close."""
    job = {"arrival_s": 0.0, "epochs": 1.0, "epoch_time_s": {1: 10.0}}
    instance = Instance(name="two", units=1, jobs=[job | {"id": "a"}, job | {"id": "b"}])
    found = prices(instance)
    assert 13.0 <= found.value <= 15.0
    assert verify(instance, found) >= found.value


@pytest.mark.parametrize("scale", [1.0, 2.0**-9])
def test_the_value_is_what_the_verifier_proves(scale: float) -> None:
    """Of prices at which two jobs may end all but anywhere at the same cost: no less is proven than is claimed, nor more."""
    times = {"a": {1: 3.0, 2: 1.0, 3: 2.0, 4: 2.0}, "b": {1: 4.0, 2: 2.0, 4: 1.0}}
    jobs = [
        {"id": name, "arrival_s": 0.0, "epochs": 1.0, "epoch_time_s": {n: scale * each for n, each in table.items()}}
        for name, table in times.items()
    ]
    instance = Instance(name="ties", units=4, jobs=jobs)
    kept = []
    found = prices(instance, better=kept.append)
    assert found == kept[-1]
    assert all(each.value == rounded_down(verify(instance, each)) for each in kept)


def test_a_search_that_is_stopped_hands_on_what_the_verifier_proves() -> None:
    """Wherever it is stopped once it has prices: the best of them, with the value proven."""
    instance = drawn(1, counts=4)
    for after in (35, 60):
        kept, calls = [], itertools.count()

        def stop(after: int = after, calls: itertools.count = calls) -> None:
            if next(calls) == after:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            prices(instance, better=kept.append, tick=stop)
        assert kept and all(each.value == rounded_down(verify(instance, each)) for each in kept)


def test_prices_on_other_breakpoints() -> None:
    """Averages keep what units cost in all; resampled are the prices in the middle."""
    times, values = np.array([0.0, 1.0, 3.0, 4.0]), np.array([2.0, 1.0, 0.5])
    assert averaged(times, values, np.array([0.0, 3.0, 4.0])).tolist() == pytest.approx([4 / 3, 0.5])
    assert resampled(times, values, np.array([-1.0, 0.0, 2.0, 5.0])).tolist() == [0.0, 1.0, 0.5]
