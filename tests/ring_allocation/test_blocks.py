"""Bounds from blocks of jobs: those of one process to the bit, on a cluster whatever becomes of its workers."""

import contextlib
import itertools
import json
import math
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from clusters import two_workers

import dlsched
from dlsched import InputError, InstanceError, UsageError, afar, ring_allocation
from dlsched.cli.solve import run_bound
from dlsched.core.files import json_text
from dlsched.core.status import TerminationStatus
from dlsched.processes import dask_blocks
from dlsched.processes.dask_blocks import Blocks
from dlsched.ring_allocation import Instance, Job, blocks
from dlsched.ring_allocation.certificate import price_bound
from dlsched.solving import on_engine

JOBS = 5
"""Jobs of a block in these tests."""


class Here:
    """Blocks in this process, each pickled as on its way to a worker."""

    def started(self) -> Any:
        """Nothing starts."""
        return contextlib.nullcontext()

    def blocks(self, make: Callable[[int], Any], number: int, tick: Callable[[], None]) -> Any:
        """Make all of them."""
        self.all = [pickle.loads(pickle.dumps(make(index), protocol=5)) for index in range(number)]
        return contextlib.nullcontext(self)

    def ask(self, question: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Ask one after the other."""
        return [getattr(block, question.__name__)(*arguments) for block in self.all]


@pytest.fixture(autouse=True)
def few_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are small."""
    monkeypatch.setattr(blocks, "JOBS", JOBS)
    monkeypatch.setattr(afar, "SIZE", 4_000)


def running(instance: Instance) -> Instance:
    """The instance, with every third job running, restarts of 30 s and several weights."""
    jobs = [
        job.model_copy(update={"current_gpus": job.counts(instance.gpus)[0], "restart_s": 30.0, "weight": 1.0 + index})
        if index % 3 == 0
        else job
        for index, job in enumerate(instance.jobs)
    ]
    return Instance(name="running", gpus=instance.gpus, jobs=jobs)


@pytest.mark.parametrize("preset", ["mixed", "table", "concave", "adversarial"])
@pytest.mark.parametrize("jobs", [1, 5, 23])
def test_the_bound_is_that_of_one_process(preset: str, jobs: int) -> None:
    """Price and value, with and without jobs that run, scarce and plenty of GPUs."""
    for seed, gpus in ((1, jobs), (2, 3 * jobs), (3, 100 * jobs)):
        drawn = ring_allocation.generate(preset=preset, jobs=jobs, gpus=gpus, seed=seed)
        for instance in (drawn, running(drawn)):
            if instance.minimum_gpus <= instance.gpus:
                assert ring_allocation.lagrange(instance, cluster=Here()) == ring_allocation.lagrange(instance)  # type: ignore[arg-type]


def test_tables_beside_laws_and_ties() -> None:
    """A job of each kind in every block, all of them twice: minima tie, and the value is that of the exact check."""
    law = {"theta": (0.001, 0.5, 0.0, 1.0), "samples": 50_000, "model_bytes": 1e8}
    kinds: list[dict[str, Any]] = [
        {"epoch_time_s": {1: 8.0, 2: 4.0, 4: 2.0}},
        {"speed_law": law, "max_gpus": 40},
        {"epoch_time_s": {3: 7.0, 300: 1.0, 70_000: 0.5}},
    ]
    jobs = [Job(id=f"j{index}", epochs=10.0, **kinds[index % 3]) for index in range(18)]
    instance = Instance(name="kinds", gpus=600, jobs=jobs)
    for price in (0.0, 0.1, 20.0, 1e300):
        certificate = ring_allocation.lagrange(instance, price=price, cluster=Here())  # type: ignore[arg-type]
        assert certificate == ring_allocation.lagrange(instance, price=price)
        exact = price_bound(instance, price)
        assert certificate.value <= exact < math.nextafter(certificate.value, math.inf)


def test_a_value_below_all_floats() -> None:
    """Is refused in the words of one process."""
    instance = Instance(name="vast", gpus=9, jobs=[Job(id="a", epochs=1.0, epoch_time_s={1: 1.0})])
    for where in ({}, {"cluster": Here()}):
        with pytest.raises(ValueError, match="below all floats"):
            ring_allocation.lagrange(instance, price=1.7e308, **where)  # type: ignore[arg-type]


def test_an_infeasible_instance() -> None:
    """Is refused before a block is made."""
    instance = Instance(name="none", gpus=1, jobs=[Job(id="a", epochs=1.0, epoch_time_s={2: 1.0})])
    with pytest.raises(UsageError, match="infeasible"):
        ring_allocation.lagrange(instance, cluster=Here())  # type: ignore[arg-type]
    assert dlsched.bound(instance, engine="dask").status is TerminationStatus.INFEASIBLE


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"engine": "spark"}, "engine"),
        ({"engine": "dask", "workers": 0}, "workers"),
        ({"workers": 2}, "workers"),
        ({"scheduler": "tcp://127.0.0.1:1"}, "scheduler"),
    ],
)
def test_misuse(named: dict[str, Any], words: str) -> None:
    """Is refused by name of the argument, as is a method that has no blocks."""
    instance = ring_allocation.example()
    with pytest.raises(UsageError, match=words):
        dlsched.bound(instance, **named)
    with pytest.raises(UsageError, match="engine"):
        dlsched.solve(instance, engine="dask")


def test_a_worker_of_another_version() -> None:
    """Does not answer."""
    with pytest.raises(InputError, match="dlsched"):
        dask_blocks._make("0.0", b"")


def file_of(instance: Instance, folder: Path, text: str | None = None) -> str:
    """The file of an instance, or of that text."""
    path = folder / "i.json"
    path.write_text(text or json_text(instance.as_data()))
    return str(path)


@pytest.mark.parametrize("jobs", [1, 5, 23])
def test_workers_read_a_file(jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its path; bound and hash are those of one process, and what else is asked for is there."""
    monkeypatch.setattr(afar, "LARGE", 0)
    drawn = ring_allocation.generate(preset="mixed", jobs=jobs, seed=8)
    for instance in (
        drawn,
        running(drawn).model_copy(update={"name": 'ü "jobs" [', "known": {"lower": 0.0, "upper": 9e9, "proof": "ü"}}),
    ):
        path = file_of(instance, tmp_path)
        with afar.read_in_blocks(path, Here()) as there:  # type: ignore[arg-type]
            assert isinstance(there, blocks.InstanceAfar)
            alone = dlsched.bound(instance)
            method = on_engine(ring_allocation.FAMILY.method("lagrange"), "dask", 1, None)
            result = ring_allocation.FAMILY.solve(there, method=method)  # type: ignore[arg-type]
            assert "whole" not in vars(there)
            assert result.as_data() | {"runtime_s": 0, "limits": 0} == alone.as_data() | {"runtime_s": 0, "limits": 0}
            assert "whole" not in vars(there)
            assert there.jobs == instance.jobs
            assert there.known == instance.known


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"j7"', '"j3"'),
        ('"j7", "epochs"', '"j7", "weight": null, "epochs"'),
        ('"j7", "epochs"', '"j7", "id": "j7", "epochs"'),
        ('"j7", "epochs"', '"j7", "x": 1, "epochs"'),
        ('"j7", "epochs"', '"j7", "weight": -1, "epochs"'),
        ('"j7", "epochs"', '"j7", "weight": 1e308, "epochs"'),
        ('},\n  {"id": "j5"', '}x\n  {"id": "j5"'),
        ('},\n  {"id": "j5"', '}\n,  {"id": "j5"'),
        ('},\n  {"id": "j5"', '}, {"id": "j5"'),
        ('{"id": "j7",', '{"id": "j7",\n'),
        ("\n ]\n}", '\n ],\n "jobs": []\n}'),
        ("\n ]\n}", "\n ]\n}}"),
        ("\n ]\n}", '\n ],\n "others": []\n}'),
        ('"gpus": ', '"gpus": 0, "nothing": '),
        ('"gpus": ', '"known": {\n "jobs": [\n 1\n ]},\n "gpus": '),
        ("ring_allocation/1", "ring_embedding/1"),
    ],
)
def test_what_workers_refuse(old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is read as usual: the same instance, or the same words of what is wrong."""
    monkeypatch.setattr(afar, "LARGE", 0)
    text = json_text(ring_allocation.generate(jobs=11, gpus=99, seed=9).as_data())
    assert old in text
    path = file_of(ring_allocation.example(), tmp_path, text.replace(old, new, 1))
    try:
        usual = dlsched.read(path)
    except InstanceError as error:
        with pytest.raises(InstanceError) as refused, afar.read_in_blocks(path, Here()):  # type: ignore[arg-type]
            pass
        assert str(refused.value) == str(error)
    else:
        with afar.read_in_blocks(path, Here()) as there:  # type: ignore[arg-type]
            instance: Any = there
            assert (instance.name, instance.jobs) == (usual.name, usual.jobs)


def test_files_that_are_read_as_usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones, laws, and a file that changes while workers read."""
    instance = ring_allocation.generate(jobs=11, seed=9)
    path = file_of(instance, tmp_path)
    with afar.read_in_blocks(path, Here()) as small:  # type: ignore[arg-type]
        assert small == instance
    monkeypatch.setattr(afar, "LARGE", 0)
    with afar.read_in_blocks(file_of(ring_allocation.generate(preset="concave", jobs=11), tmp_path), Here()) as laws:  # type: ignore[arg-type]
        assert isinstance(laws, Instance)
    path, numbers = file_of(instance, tmp_path), itertools.count()
    monkeypatch.setattr(afar, "stamp", lambda path: (next(numbers), 0))
    with afar.read_in_blocks(path, Here()) as changed:  # type: ignore[arg-type]
        assert changed == instance
    with pytest.raises(InstanceError, match="cannot read"):
        afar.read_jobs(str(tmp_path / "none.json"), (0, 0), (0, 1), 9)


distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of two workers, which are started again when they die."""
    with two_workers() as started:
        yield started


def asking(monkeypatch: pytest.MonkeyPatch, before: Callable[[Blocks[Any], str], None]) -> None:
    """Have something happen before every question."""
    ask = Blocks.ask

    def asked(self: Blocks[Any], question: Callable[..., Any], *arguments: Any) -> list[Any]:
        before(self, question.__name__)
        return ask(self, question, *arguments)

    monkeypatch.setattr(Blocks, "ask", asked)


def test_a_cluster_gives_the_same(cluster: Any) -> None:
    """By ``bound`` and by ``solve``."""
    for preset in ("mixed", "concave"):
        instance = ring_allocation.generate(preset=preset, jobs=23, seed=4)
        alone = dlsched.bound(instance)
        where: Any = {"engine": "dask", "scheduler": cluster.scheduler_address}
        for result in (dlsched.bound(instance, **where), dlsched.solve(instance, method="lagrange", **where)):
            assert (result.status, result.bound, result.certificate) == (alone.status, alone.bound, alone.certificate)


@pytest.mark.parametrize("question", ["facts", "units", "undecided", "below"])
def test_a_worker_that_is_killed(
    cluster: Any, monkeypatch: pytest.MonkeyPatch, question: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Costs its blocks a second way, and certificate and hash are the same."""
    killed: list[int] = []

    def before(blocks_there: Blocks[Any], name: str) -> None:
        if name == question and not killed:
            killed.append(min(blocks_there._client.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)

    asking(monkeypatch, before)
    instance = ring_allocation.generate(jobs=43, gpus=200, seed=5)
    if question == "facts":
        monkeypatch.setattr(afar, "LARGE", 0)
        assert (
            run_bound(file_of(instance, tmp_path), engine="dask", scheduler=cluster.scheduler_address, as_json=True)
            == 0
        )
        result = json.loads(capsys.readouterr().out)
        assert result["instance"]["sha256"] == instance.sha256
        certificate = result["certificate"]
    else:
        result = dlsched.bound(instance, engine="dask", scheduler=cluster.scheduler_address)
        certificate = result.as_data()["certificate"]
    assert killed
    assert certificate == dlsched.bound(instance).as_data()["certificate"]


def test_a_block_that_kills_its_workers(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is given up after as many deaths as the scheduler allows, with a message."""

    def dies(*_: object, **__: object) -> None:
        os._exit(1)

    monkeypatch.setattr(dask_blocks, "_answer", dies)
    result = dlsched.bound(ring_allocation.example(), engine="dask", scheduler=cluster.scheduler_address)
    assert (result.status, result.bound) == (TerminationStatus.SOLVER_ERROR, None)
    assert result.message == "workers died 4 times with the same block of jobs"


def test_limits_and_interrupts(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """End a run between two questions, with the status that they have everywhere."""
    instance = ring_allocation.generate(jobs=23, seed=6)
    where: Any = {"engine": "dask", "scheduler": cluster.scheduler_address}
    assert dlsched.bound(instance, time_limit=0, **where).status is TerminationStatus.TIME_LIMIT

    def stop(_: Blocks[Any], name: str) -> None:
        if name == "units":
            raise KeyboardInterrupt

    asking(monkeypatch, stop)
    assert dlsched.bound(instance, **where).status is TerminationStatus.INTERRUPTED


def test_no_scheduler_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Is said with its address."""
    monkeypatch.setattr("dlsched.processes.dask_client.CONNECT_S", 0.3)
    with pytest.raises(InputError, match="scheduler"):
        dlsched.bound(ring_allocation.example(), engine="dask", scheduler="tcp://127.0.0.1:1")


def test_a_cluster_of_this_machine() -> None:
    """Is started for the run and ends with it."""
    instance = ring_allocation.generate(jobs=23, seed=7)
    assert dlsched.bound(instance, engine="dask", workers=1).certificate == dlsched.bound(instance).certificate
