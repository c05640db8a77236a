"""The space of elastic_stream: ticks, classes, restarts; that its quick proof is one; and worst instances known by hand."""

import numpy as np
import pytest

from dlsched import elastic_stream
from dlsched.elastic_stream.slots import TooLarge
from dlsched.families import FAMILIES, instance_from
from dlsched.solving import solve
from dlsched.testing.elastic_stream import brute_force_stream
from dlsched.worst.search import find_worst
from dlsched.worst.spaces import elastic_stream as space
from dlsched.worst.spaces import table_of
from tests.worst.conftest import holds, walk


@pytest.mark.parametrize("preset", [None, "poisson", "slots"])
@pytest.mark.parametrize("tables", ["any", "sublinear"])
def test_a_walk_stays_in_the_space(preset: str | None, tables: str) -> None:
    """Arrivals on ticks, the first at 0; tables of the class; no restarts; the walk comes about."""
    met = walk(space.space_of(jobs=3, gpus=4, preset=preset, tables=tables), 80)
    for data, instance in met:
        assert isinstance(instance, elastic_stream.Instance)
        assert (instance.units, instance.tick_s) == (4, 100.0)
        arrivals_s = [job.arrival_s for job in instance.jobs]
        assert min(arrivals_s) == 0
        assert all(arrival_s in (0, 100, 200, 300) for arrival_s in arrivals_s)
        for job in data["jobs"]:
            assert holds(tables, table_of(job))
            assert all(100 <= time <= 600 for time in table_of(job).values())
            assert "restart_s" not in job
    assert len({repr(data) for data, _ in met}) > 15


def test_restarts_where_they_are_asked_for() -> None:
    """Up to that many seconds, and a number that is searched."""
    made = space.space_of(restart=20.0)
    assert [number.path for number in made.numbers][2:] == ["jobs[].restart_s"]
    generator = np.random.default_rng(0)
    pauses_s = [job["restart_s"] for _ in range(20) for job in made.draw(generator)["jobs"]]
    assert 0 <= min(pauses_s) < 10 < max(pauses_s) <= 20


@pytest.mark.parametrize("options", [{"gpus": 2}, {"gpus": 3, "restart": 90.0}, {"gpus": 4, "tables": "any"}])
def test_the_quick_proof_is_one(options: dict[str, float]) -> None:
    """Two jobs: the search over slots alone finds what trying all streams in rational arithmetic finds."""
    made = space.space_of(jobs=2, **options)  # type: ignore[arg-type]
    generator = np.random.default_rng(0)
    for _ in range(6):
        instance = instance_from(made.draw(generator), "drawn")
        result = FAMILIES["elastic_stream"].solve(instance, method=space.SLOTS_ALONE)
        best = brute_force_stream(instance)  # type: ignore[arg-type]
        assert best is not None
        assert result.status.value == "optimal"
        assert result.objective == pytest.approx(best[0], rel=1e-9)


def test_what_is_too_large_is_left_to_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the search gives up, prices and a search with them prove the same optimum."""
    instance = instance_from(space.space_of(jobs=2).draw(np.random.default_rng(0)), "drawn")
    alone = FAMILIES["elastic_stream"].solve(instance, method=space.SLOTS_ALONE)

    def give_up(*given: object, **named: object) -> None:
        raise TooLarge("too many states")

    monkeypatch.setattr(space, "slots_alone", give_up)
    left = FAMILIES["elastic_stream"].solve(instance, method=space.SLOTS_ALONE)
    assert alone.status.value == left.status.value == "optimal"
    assert left.objective == pytest.approx(alone.objective, rel=1e-12)


def test_a_plateau_stalls_doubling() -> None:
    """As slow on two units as on one, and perfect from there on: 600 s, on all eight units 150 s. Nothing is worse than 4."""
    data = space.space_of().repair(
        {"jobs": [{"arrival_s": 0.0, "epoch_time_s": {"1": 600.0, "2": 600.0, "4": 300.0, "8": 150.0}}]}
    )
    assert data is not None
    instance = instance_from(data, "stall")
    assert [solve(instance, method=method).objective for method in ("doubling", "marginal", "exact")] == [600, 600, 150]
    worst = find_worst("elastic_stream", "doubling", jobs=1, budget=150, seed=0)
    assert worst.ratio == pytest.approx(4, rel=0.01)
    assert not worst.failures
