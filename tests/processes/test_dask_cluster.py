"""How often a worker's process is started that dies, on a cluster which is started for a run."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("distributed")

import distributed
from distributed.core import Status
from study.cells_at_hand import cell, function, functions, named, run

from dlsched.processes.dask_cluster import STARTS, CarefulClient, PatientNanny, _Ended, cluster_here, given_up
from dlsched.study.engines import dask_engine


class Bare(PatientNanny):
    """A nanny without processes: what comes of their starts is written down, and whether they end a task."""

    def __init__(self, status: Status) -> None:
        self._status, self.process, self.closed = status, None, 0

    async def close(self, timeout: float = 5, reason: str = "") -> str:
        """Be closed."""
        self.closed, self._status = self.closed + 1, Status.closed
        return "OK"


@pytest.fixture
def starting(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Status]]:
    """Have processes come up, or not; return the list to which starts are added."""

    def come_up(statuses: list[Status]) -> list[Status]:
        seen: list[Status] = []

        async def instantiate(nanny: distributed.Nanny) -> Status:
            seen.append(statuses[len(seen) % len(statuses)])
            return seen[-1]

        monkeypatch.setattr(distributed.Nanny, "instantiate", instantiate)
        return seen

    return come_up


@pytest.mark.parametrize(
    "statuses",
    [
        [Status.stopped],
        [Status.running],
        [Status.running, Status.stopped],
        [Status.stopped, Status.stopped, Status.running],
    ],
    ids=["never up", "always up", "every second up", "every third up"],
)
def test_seven_starts_in_a_row(statuses: list[Status], starting: Callable[..., list[Status]]) -> None:
    """And no more, whether the process comes up or not; a task that is ended begins the row anew."""
    nanny, seen = Bare(Status.running), starting(statuses)

    def start(times: int) -> None:
        for _ in range(times):
            assert asyncio.run(nanny.instantiate()) == seen[-1] and not nanny.closed

    start(6)
    nanny.starts = 0
    start(7)
    assert asyncio.run(nanny.instantiate()) == Status.failed
    assert (len(seen), nanny.closed, STARTS) == (13, 1, 7)
    assert given_up(SimpleNamespace(workers={0: nanny})) and not given_up(
        SimpleNamespace(workers={0: nanny, 1: Bare(Status.running)})
    )


def test_the_first_starts(starting: Callable[..., list[Status]]) -> None:
    """While the nanny itself starts it starts the process again, up to the first that comes up."""
    up = starting([Status.stopped, Status.stopped, Status.running])
    nanny = Bare(Status.init)
    assert asyncio.run(nanny.instantiate()) == Status.running and (len(up), nanny.closed) == (3, 0)
    never = starting([Status.stopped])
    nanny = Bare(Status.init)
    assert asyncio.run(nanny.instantiate()) == Status.failed and (len(never), nanny.closed) == (7, 1)


def test_a_process_that_dies_before_its_nanny_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has come up, and is started again all the same."""
    nanny = Bare(Status.init)
    process = SimpleNamespace(status=Status.stopped)
    started = []

    async def start(nanny: Bare) -> Bare:
        nanny.process = process
        return nanny

    async def instantiate(nanny: Bare) -> Status:
        started.append(1)
        process.status = Status.running
        return Status.running

    monkeypatch.setattr(distributed.Nanny, "start_unsafe", start)
    monkeypatch.setattr(distributed.Nanny, "instantiate", instantiate)
    assert asyncio.run(nanny.start_unsafe()) is nanny and started == [1]


def test_a_task_that_is_ended_begins_the_row_anew() -> None:
    """Of its worker."""
    with cluster_here(1) as cluster, CarefulClient(cluster.scheduler_address) as client:
        client.wait_for_workers(1)
        (worker,) = cluster.scheduler.workers.values()
        (nanny,) = (each for each in PatientNanny.every if each.address_safe == worker.nanny)
        assert nanny.starts == 1
        assert client.submit(abs, -2).result() == 2 and nanny.starts == 0


def test_a_task_that_was_ended_by_a_worker_that_is_not_known_any_more() -> None:
    """It died at once; other workers' rows go on."""
    ended = _Ended(SimpleNamespace(workers={}))
    ended.transition("a task", "processing", "memory", worker="tcp://127.0.0.1:1")


@pytest.mark.long
def test_a_cell_that_kills_its_workers_is_found_out(tmp_path: Path) -> None:
    """On one worker, before that is given up; the others end well."""
    own = functions(tmp_path)
    cells = [cell(function(own, "kills_its_worker")), *(cell(named("exact"), seed) for seed in range(3))]
    killed, *others = run(cells, 1, tmp_path, dask_engine.run)
    assert (killed.status, killed.message) == ("killed", "its worker died 3 times, with nothing else on it")
    assert [each.status for each in others] == ["optimal"] * 3
