"""What restarts of fixed length make of suprema, in the simulator: no bound where a running job may be stopped, else nothing."""

import random

import pytest

import dlsched
from dlsched import elastic_stream
from dlsched.elastic_stream.instance import Instance, Job
from dlsched.worst.competitive.proven import POLICIES

NEVER = [f"{order}-{sizing}" for order in ("fifo", "efficiency") for sizing in ("fixed", "fastest", "knee")] + ["fixed"]
"""Policies that stop no running job, if jobs have equal tables and stand in the file as they arrive."""


def stream(works: tuple[float, float], late: float, restart: float = 1.0) -> Instance:
    """Two jobs on two units with speeds 1 and 9/5."""
    jobs = [
        Job(
            id=f"j{k}",
            arrival_s=k * late,
            epochs=work,
            epoch_time_s={1: 1.0, 2: 1 / 1.8},
            restart_s=restart,
        )
        for k, work in enumerate(works)
    ]
    return Instance(name="two", units=2, jobs=jobs)


@pytest.mark.parametrize("method", [name for name in POLICIES if name not in NEVER])
def test_short_jobs_that_pause_are_worse_without_bound(method: str) -> None:
    """A job is stopped for one of a tenth of its work just after it has come: the shorter both are, the larger the ratio."""
    for scale in (1e-2, 1e-4, 1e-6):
        instance = stream((scale, scale / 10), scale / 100)
        found = dlsched.solve(instance, method=method).objective
        one_by_one = dlsched.solve(instance, method="fifo-fastest").objective
        assert found is not None
        assert one_by_one is not None
        assert found >= 0.3 / scale * one_by_one


@pytest.mark.parametrize("method", NEVER)
def test_what_stops_no_job_never_pauses(method: str) -> None:
    """The stream is that without restarts."""
    generator = random.Random(method)
    for _ in range(20):
        works = (generator.uniform(0.01, 4), generator.uniform(0.01, 4))
        late = generator.uniform(0, 2)
        found, plain = (dlsched.solve(stream(works, late, restart), method=method) for restart in (1.0, 0.0))
        assert found.objective == plain.objective
        assert found.solution is not None
        assert elastic_stream.figures(stream(works, late), found.solution)["restarts"] == 0


def test_the_optimum_of_long_jobs_hardly_feels_restarts() -> None:
    """A stream without restarts, with a pause put in at each change, is later by the pauses alone: none for 2 of 10^6 seconds."""
    instance, plain = stream((1e6, 1e5), 1e5), stream((1e6, 1e5), 1e5, 0.0)
    best, free = dlsched.solve(instance).objective, dlsched.solve(plain).objective
    assert best is not None
    assert free is not None
    assert free <= best <= free + 3
