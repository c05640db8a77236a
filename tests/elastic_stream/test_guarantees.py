"""Promises of the policies: on drawn streams against what they follow from, the jobs' shortest times; and where none is made."""

import random

import pytest

import dlsched
from dlsched.elastic_stream.instance import Instance, Job
from dlsched.elastic_stream.methods import METHODS
from dlsched.elastic_stream.policies.prices import MOST_COUNTS

PROMISED = sorted(name for name, method in METHODS.items() if method.guarantee is not None)


def drawn(generator: random.Random, units: int, *, tame: bool) -> Instance:
    """Up to twelve jobs, many at one time or near an end; tables are any, or fall without super-linear speed (``tame``)."""
    jobs, now = list[Job](), generator.choice([0.0, 0.0, 1e6])
    for k in range(generator.randint(1, 12)):
        speeds, gain = [1.0], 1.0
        for _ in range(1, units):
            gain = generator.uniform(0.01, gain) if tame else generator.choice([0.0, 0.1, 1.0, 5.0, -0.3])
            speeds.append(max(0.1, speeds[-1] + gain))
        counts = (
            range(1, units + 1) if tame else sorted(generator.sample(range(1, units + 1), generator.randint(1, units)))
        )
        work = generator.choice([1.0, 2.0, 1e-3, 1e3, generator.uniform(0.1, 10)])
        times = {m: 1 / speeds[m - 1] for m in counts}
        jobs.append(Job(id=f"j{k}", arrival_s=now, epochs=work, epoch_time_s=times))
        now += generator.choice([0.0, 0.0, work * min(times.values()), 0.999 * work, generator.uniform(0, 5)])
    return Instance(name="drawn", units=units, jobs=jobs)


@pytest.mark.parametrize("method", PROMISED)
def test_promises_follow_from_the_shortest_times_alone(method: str) -> None:
    """The proofs need of the optimum that no job ends sooner than alone: with that mean in its place the promise holds, too."""
    generator, made = random.Random(f"promise {method}"), 0
    promise = METHODS[method].guarantee
    assert promise is not None
    for draw in range(150):
        instance = drawn(generator, generator.choice([1, 2, 3, 4, 5, 7, 8]), tame=draw % 3 > 0)
        alone = sum(map(instance.fastest_s, range(len(instance.jobs)))) / len(instance.jobs)
        found = dlsched.solve(instance, method=method).objective
        assert found is not None
        optimal = method == "srpt-fastest" and promise.worst(instance, 1.0) < 1.1  # as on one unit
        if promise.holds_for(instance) and not optimal:
            made += 1
            assert found <= promise.worst(instance, alone)
    assert made >= 80


def test_shortest_remaining_time_is_promised_to_be_optimal_on_linear_speeds() -> None:
    """Times 12, 6, 4, 3 on four units; with 3.5 for 4 three units do more than three quarters of what four do."""
    promise = METHODS["srpt-fastest"].guarantee
    assert promise is not None
    for third, factor in ((4.0, 1.0), (3.5, 1.5)):
        jobs = [{"id": n, "arrival_s": 0, "epochs": 1, "epoch_time_s": {1: 12, 2: 6, 3: third, 4: 3}} for n in "ab"]
        instance = Instance(name="two", units=4, jobs=jobs)
        assert promise.worst(instance, 1.0) == pytest.approx(factor, rel=1e-8)


def test_nothing_is_promised_with_ticks_restarts_or_weights() -> None:
    """Nor, where it matters, of early ends, laws of speed, units of no use, super-linear speed or too many units."""
    plain = {"id": "a", "arrival_s": 0.0, "epochs": 2.0, "epoch_time_s": {1: 2.0, 2: 1.5}}

    def promised(method: str, units: int = 2, tick_s: float | None = None, **changes: object) -> bool:
        jobs = [plain | changes, plain | {"id": "b"}]
        guarantee = METHODS[method].guarantee
        assert guarantee is not None
        return guarantee.holds_for(Instance(name="two", units=units, tick_s=tick_s, jobs=jobs))

    for method in PROMISED:
        assert promised(method)
        assert not promised(method, tick_s=1.0)
        assert not promised(method, restart_s=1.0)
        assert not promised(method, weight=2.0)
        divides = not method.endswith("fastest")
        assert promised(method, epoch_time_s={1: 2.0, 2: 2.0}) != divides
        assert promised(method, epoch_time_s={1: 2.0, 2: 0.5}) != divides
        assert promised(method, epoch_time_s={2: 1.5}) != divides
        assert promised(method, stops_at=0.5) != (method in ("srpt-fastest", "sjf-fastest"))
        assert (
            promised(method, 8, epoch_time_s={m: 8 / m for m in range(1, 9)}) != divides
        )  # the other job has two counts
        law = {"theta": (8.0, 0.0, 0.0, 1.0), "samples": 1.0, "model_bytes": 0.0}
        assert promised(method, epoch_time_s=None, speed_law=law) != divides
    many = MOST_COUNTS + 1
    jobs = [plain | {"epoch_time_s": {m: 1 / m for m in range(1, many + 1)}}]
    instance = Instance(name="one", units=many, jobs=jobs)
    of_many = {name for name in PROMISED if (each := METHODS[name].guarantee) and each.holds_for(instance)}
    assert "weighted" not in of_many
    assert "fixed" not in of_many
    assert "equal" in of_many
