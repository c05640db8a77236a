"""What Python lets through, refused in words: booleans for numbers, endless seeds, data within themselves, changed instances."""

import io
import sys
from collections.abc import Callable

import pandas
import pytest
from conftest import Ended

import dlsched
from dlsched import InstanceError, Limits, PolicyError, UsageError, ring_allocation
from dlsched.core.part import Part
from dlsched.families import FAMILIES

LONG = 10**5000
INSTANCE = ring_allocation.generate(jobs=3, gpus=8, seed=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda seed: dlsched.solve(INSTANCE, method="equal", seed=seed),
        lambda seed: dlsched.compare([INSTANCE], methods=["equal"], seed=seed),
        lambda seed: ring_allocation.generate(jobs=3, gpus=8, seed=seed),
        lambda seed: dlsched.generate("srpt_mapping", jobs=3, gpus=8, seed=seed),
        lambda seed: dlsched.find_worst("ring_allocation", "doubling", jobs=2, gpus=4, budget=5, seed=seed),
    ],
)
@pytest.mark.parametrize(
    ("seed", "said"),
    [
        (True, "found True, allowed: an integer >= 0"),
        (-1, "found -1, allowed: an integer >= 0"),
        (LONG, "found an integer of thousands of digits, allowed: an integer of at most 4,000 digits"),
    ],
    ids=["true", "negative", "long"],
)
def test_seeds_are_integers_that_can_be_written(call: Callable[[int], object], seed: int, said: str) -> None:
    with pytest.raises(UsageError, match=f"seed: {said}"):
        call(seed)


def test_a_seed_of_4000_digits_draws(cli: Callable[..., Ended]) -> None:
    """The largest that is allowed; on the command line a longer one is refused, too."""
    name = ring_allocation.generate(jobs=3, gpus=8, seed=10**4000 - 1).name
    assert name.endswith("9" * 4000)
    ended = cli("generate", "ring_allocation", "--seed", "9" * 5000)
    assert ended.code == 2 and "--seed" in ended.err


def test_a_limit_is_no_boolean() -> None:
    for make in (lambda: Limits(time_s=True), lambda: dlsched.solve(INSTANCE, method="equal", time_limit=True)):
        with pytest.raises(UsageError, match="time limit: found True, allowed: a number of seconds >= 0"):
            make()


def test_data_within_themselves_are_refused() -> None:
    """In a frame, a job and an instance."""
    times: dict[str, object] = {}
    times["1"] = times
    job = {"id": "a", "epochs": 1.0, "epoch_time_s": times}
    frame = pandas.DataFrame({name: [value] for name, value in job.items()})
    for make in (
        lambda: ring_allocation.Instance.from_frame(frame, gpus=2),
        lambda: ring_allocation.Job(**job),
        lambda: ring_allocation.Instance(name="x", gpus=2, jobs=[job]),
    ):
        with pytest.raises(InstanceError, match="found lists or objects nested too deeply, or within themselves"):
            make()


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "none"])
def test_verbose_where_nobody_can_read(
    closed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The answer is that of a silent call, and nothing is printed elsewhere."""
    stream = io.StringIO()
    stream.close()
    monkeypatch.setattr(sys, "stderr", stream if closed else None)
    found = dlsched.solve(INSTANCE, method="exact", verbose=True)
    monkeypatch.undo()
    assert found.solution == dlsched.solve(INSTANCE, method="exact").solution
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("method", "code", "said"),
    [
        ("builtins:print", 5, ""),
        ("sys:exit", 2, "dlsched: sys:exit: SystemExit: "),
        ("sys:nothing", 2, "dlsched: --method: found 'sys:nothing', allowed: a function or class that stands in sys"),
        ("builtins:dict", 7, "dlsched: builtins:dict: its answer: "),
    ],
)
def test_modules_without_a_file(method: str, code: int, said: str, cli: Callable[..., Ended], tmp_path: object) -> None:
    """Built into Python; what they answer is judged like any other answer."""
    path = f"{tmp_path}/one.json"
    dlsched.write(INSTANCE, path)
    ended = cli("solve", path, "--method", method)
    assert ended.code == code and said in ended.err and "Traceback" not in ended.err


def parts(value: object) -> list[Part]:
    """All parts within a value, itself too."""
    within: object = ()
    if isinstance(value, dict):
        within = value.values()
    elif isinstance(value, list | tuple):
        within = value
    elif isinstance(value, Part):
        within = value.__dict__.values()
    own = [value] if isinstance(value, Part) else []
    return [*own, *(each for below in within for each in parts(below))]  # type: ignore[attr-defined]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_copy_shares_no_part(family: str) -> None:
    instance = FAMILIES[family].example()
    copy = instance.apart()
    assert copy == instance and copy.sha256 == instance.sha256
    assert not {*map(id, parts(copy))} & {*map(id, parts(instance))}


def test_a_method_that_changes_the_instance_is_judged_by_the_original() -> None:
    """It makes the cluster larger and its jobs shorter, then uses what it made; the caller's instance stays."""
    before = INSTANCE.as_data()

    def changes(instance: ring_allocation.Instance, *, gpus: int = 2) -> object:
        object.__setattr__(instance, "gpus", 1000)
        for job in instance.jobs:
            object.__setattr__(job, "epochs", 1e-3)
        return {"gpus": {job.id: gpus for job in instance.jobs}}

    found = dlsched.solve(INSTANCE, method=changes)
    honest = dlsched.solve(INSTANCE, method=lambda instance: {"gpus": {job.id: 2 for job in instance.jobs}})
    assert found.objective == honest.objective and INSTANCE.as_data() == before
    with pytest.raises(PolicyError, match="192 GPUs are given, the cluster has 8"):
        dlsched.solve(INSTANCE, method=lambda instance: changes(instance, gpus=64))
    assert INSTANCE.as_data() == before
