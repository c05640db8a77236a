"""Wrong uses of what users call: each ends in an error of dlsched that says what was found, and what is allowed."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dlsched
from dlsched import FAMILIES, Limits, async_sgd, elastic_stream, ring_allocation, srpt_mapping, study

NAN = float("nan")
EXAMPLE = ring_allocation.example()
STREAM = elastic_stream.Stream({})
JOB = {"id": "a", "epochs": 9, "epoch_time_s": {1: 9.0}}
GRID = {"family": "ring_allocation", "jobs": [4], "gpus": 8, "seeds": "0:2"}
"""Anything goes in what follows: it is what type checkers refuse."""
DL: Any = dlsched
RINGS: Any = ring_allocation
STUDY: Any = study


class Blind:
    """No policy: it cannot be asked."""


def whatif(**given: object) -> object:
    return DL.whatif("nowhere.txt", "slurm", **given)


def worst(**given: object) -> object:
    return DL.find_worst("ring_allocation", "doubling", budget=5, **given)


def plan(**given: object) -> object:
    return STUDY.make_plan(**({"instances": GRID, "methods": ["doubling"]} | given))


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: DL.solve([EXAMPLE]), "instance: found list"),
    (lambda: DL.solve(EXAMPLE, method=None), "method: found NoneType"),
    (lambda: DL.solve(EXAMPLE, method="exat"), "method: found 'exat'"),
    (lambda: DL.solve(EXAMPLE, method=Blind()), "method: found Blind"),
    (
        lambda: DL.solve(EXAMPLE, method=FAMILIES["async_sgd"].methods["marginal"]),
        "method: found 'marginal' of async_sgd",
    ),
    (lambda: DL.solve(EXAMPLE, method=lambda instance: (each for each in ())), "its answer: found generator"),
    (lambda: DL.solve(EXAMPLE, method=lambda instance: {"gpus": {"a": NAN, "b": 1}}), "gpus.a: found nan"),
    (lambda: DL.solve(EXAMPLE, time_limit=-1), "time limit: found -1"),
    (lambda: DL.solve(EXAMPLE, time_limit=NAN), "time limit: found nan"),
    (lambda: DL.solve(EXAMPLE, time_limit="5"), "time limit: found '5'"),
    (lambda: DL.solve(EXAMPLE, limits=5), "limits: found 5"),
    (lambda: DL.solve(EXAMPLE, limits=Limits(time_s=3), time_limit=3), "found time_limit and limits with time_s"),
    (lambda: DL.Limits(time_s="5"), "time limit: found '5'"),
    (lambda: DL.solve(EXAMPLE, seed=1.5), "seed: found 1.5"),
    (lambda: DL.solve(EXAMPLE, start={"gpus": {"a": 1}}), "start: found dict"),
    (lambda: DL.solve(EXAMPLE, start=STREAM), "start: found Stream, allowed: a solution of ring_allocation"),
    (lambda: DL.solve(EXAMPLE, method="milp", progress="yes"), "progress: found 'yes'"),
    (lambda: DL.bound(4), "instance: found int"),
    (lambda: DL.compare([]), "instances: found none"),
    (lambda: DL.compare(None), "instance: found NoneType"),
    (lambda: DL.compare(EXAMPLE, []), "methods: found none"),
    (lambda: DL.compare(EXAMPLE, iter(["exact"])), "method: found list_iterator"),
    (lambda: DL.compare(EXAMPLE, ["exact"], seed="a"), "seed: found 'a'"),
    (lambda: DL.compare(EXAMPLE, ["exact"], solutions=[None]), "solutions: found NoneType"),
    (lambda: DL.compare(EXAMPLE, ["exact"], 5), "limits: found 5"),
    (lambda: DL.compare(EXAMPLE, "doubling").plot(width="7"), "plot width: found '7'"),
    (lambda: DL.compare(EXAMPLE, "doubling").plot(3), "path: found int"),
    (lambda: DL.compare(EXAMPLE, "doubling").plot("x.xyz"), "found 'x.xyz'"),
    (lambda: DL.generate(["rings"]), "family: found ['rings']"),
    (lambda: DL.generate("ring_allocation", jobs=NAN), "jobs: found nan"),
    (lambda: DL.generate("ring_allocation", jobs=10**15), "jobs: found 1000000000000000"),
    (lambda: DL.generate("ring_allocation", lod=3), "lod: found 3"),
    (lambda: whatif(gpus="four"), "gpus: found 'four'"),
    (lambda: whatif(gpus=4.0), "gpus: found 4.0"),
    (lambda: whatif(policies=[Blind]), "policies: found Blind"),
    (lambda: whatif(time_limit=None), "time limit: found None"),
    (lambda: whatif(time_limit="3"), "time limit: found '3'"),
    (lambda: whatif(family=["rings"]), "family: found ['rings']"),
    (lambda: whatif(frm="2025-03-01"), "frm: found '2025-03-01', allowed: no such option"),
    (lambda: worst(jobs="2"), "jobs: found 2"),
    (lambda: worst(share="2"), "share: found '2'"),
    (lambda: worst(share=NAN), "share: found nan"),
    (lambda: worst(against=3), "method: found int"),
    (lambda: worst(space="x"), "space: found str"),
    (lambda: DL.prove(EXAMPLE, gap="0.1"), "gap: found '0.1'"),
    (lambda: DL.prove(EXAMPLE, 3), "path: found int"),
    (lambda: DL.prove(EXAMPLE, limits=4), "limits: found 4"),
    (lambda: DL.prove(EXAMPLE, start="x"), "start: found str"),
    (lambda: DL.prove(EXAMPLE, start=STREAM), "start: found Stream"),
    (lambda: DL.check(EXAMPLE, STREAM), "solution: found Stream, allowed: a solution of ring_allocation"),
    (lambda: DL.check(EXAMPLE, EXAMPLE), "solution: found Instance"),
    (lambda: DL.check(EXAMPLE, {"gpus": {"a": NAN}}), "solution.gpus.a: found nan"),
    (lambda: DL.check(EXAMPLE, {3: 4}), "solution[3]: found an unknown field"),
    (lambda: DL.verify(EXAMPLE, {"gpus": {}}), "result: found dict"),
    (lambda: DL.read(None), "path: found NoneType"),
    (lambda: DL.read_result(3), "path: found int"),
    (lambda: DL.write(3, "x.json"), "item: found int"),
    (lambda: DL.write(EXAMPLE, None), "path: found NoneType"),
    (lambda: DL.formulate(EXAMPLE, ["milp"]), "formulation: found ['milp']"),
    (lambda: DL.formulate(srpt_mapping.example(), complete=True, horizon_s="3"), "horizon_s: found '3'"),
    (lambda: DL.formulate(elastic_stream.example(), complete=True, horizon_s=1e300), "horizon_s: found 1e+300"),
    (lambda: DL.formulate(EXAMPLE, complete=True).solve(solver=3), "found 3, allowed: highs"),
    (lambda: DL.formulate(EXAMPLE, complete=True).variables.gpus["z", 1], "variables.gpus: found ('z', 1)"),
    (lambda: RINGS.Job(id="a", epoch=3), "epoch: found an unknown field"),
    (lambda: RINGS.Job(id="a", epochs=3, epoch_time_s={1: NAN}), "epoch_time_s.1: found nan"),
    (lambda: RINGS.Instance(name="x", gpus=3, jobs=[]), "jobs: found an empty list"),
    (lambda: RINGS.Instance(name="x", gpus=3, jobs=[async_sgd.example().jobs[0]]), "jobs[0]: found Job"),
    (lambda: RINGS.Instance(name="x", gpus=10**400, jobs=[JOB]), "gpus: found 1000"),
    (lambda: RINGS.Instance.from_frame([JOB], gpus=3), "frame: found a list"),
    (lambda: plan(instances=3), "instances: found 3"),
    (lambda: plan(methods="exact"), "methods: found 'exact'"),
    (lambda: plan(instances=[]), "instances: found an empty list"),
    (lambda: plan(folder=3), "folder: found int"),
    (lambda: plan(limits={"time_s": -3}), "limits.time_s: found -3"),
    (lambda: STUDY.run(3), "plan: found int"),
    (lambda: STUDY.run(plan(), 3), "store: found int"),
    (lambda: STUDY.run(plan(), "x.sqlite", workers="2"), "workers: found '2'"),
    (lambda: STUDY.run(plan(), "x.sqlite", progress="x"), "progress: found 'x'"),
    (lambda: STUDY.run(plan(), "x.sqlite", largest_solution="x"), "largest solution: found 'x'"),
    (lambda: STUDY.open(3), "store: found int"),
    (lambda: STUDY.report(3, "x.html"), "store: found int"),
]


@pytest.mark.parametrize("number", range(len(WRONG)), ids=lambda number: f"{number}-{WRONG[number][1][:24]}")
def test_wrong_uses_are_refused_in_words(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never a traceback of what dlsched is made of; and no file is left behind."""
    monkeypatch.chdir(tmp_path)
    call, said = WRONG[number]
    with pytest.raises(dlsched.DlschedError, match=re.escape(said)):
        call()
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[study.Study]:
    """A study of four cells."""
    made = study.make_plan(instances=GRID, methods=["exact", "doubling"])
    with study.run(made, tmp_path_factory.mktemp("study") / "x.study.sqlite", workers=1) as found:
        yield found


STUDIED: list[tuple[Callable[[Any], object], str]] = [
    (lambda ran: ran.plot(["ratios"]), "what: found ['ratios']"),
    (lambda ran: ran.plot("pie"), "what: found 'pie'"),
    (lambda ran: ran.plot(width="3"), "plot width: found '3'"),
    (lambda ran: ran.plot(group=3), "group: found 3"),
    (lambda ran: ran.export("latex", "x", columns=3), "columns: found 3"),
    (lambda ran: ran.export("latex", "x", columns=[]), "columns: found none"),
    (lambda ran: ran.export("csv", None), "path: found NoneType"),
    (lambda ran: ran.export(["csv"], "x"), "format: found ['csv']"),
    (lambda ran: ran.report(3, "markdown"), "path: found int"),
]


@pytest.mark.parametrize(("call", "said"), STUDIED, ids=lambda each: each[:24] if isinstance(each, str) else "")
def test_wrong_uses_of_a_study_are_refused_in_words(
    ran: study.Study, call: Callable[[Any], object], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is drawn or written."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(dlsched.DlschedError, match=re.escape(said)):
        call(ran)
    assert list(tmp_path.iterdir()) == []


def test_a_closed_study_says_so(ran: study.Study) -> None:
    """Whatever is asked of it; it can be printed, and closed again."""
    with study.open(ran._opened.path) as closed:
        pass
    closed.close()
    assert "closed" in repr(closed) and "closed" in closed._repr_html_()
    asked: list[Callable[[], object]] = [closed.rows, closed.summary, lambda: closed.failed, lambda: closed.about]
    for ask in asked:
        with pytest.raises(dlsched.UsageError, match="study: found a closed one"):
            ask()


def test_a_forgotten_study_is_closed(ran: study.Study) -> None:
    """When its last name is gone: no warning of an open file."""
    assert study.open(ran._opened.path).about.ended == 4


def test_numbers_of_numpy_pass() -> None:
    """As sizes and seeds, in the answers of functions, and in plain data that are checked."""
    sizes: Any = np.arange(3, 5)
    drawn = dlsched.generate("ring_allocation", jobs=sizes[0], gpus=np.int32(8), seed=sizes[1])
    assert drawn == dlsched.generate("ring_allocation", jobs=3, gpus=8, seed=4)
    data = {"gpus": {"a": np.int64(2), "b": np.int32(1)}}
    assert dlsched.check(EXAMPLE, data) == []
    found = dlsched.solve(EXAMPLE, method=lambda instance: data)
    assert found.solution == ring_allocation.Allocation({"a": 2, "b": 1})
    assert type(found.solution.gpus["a"]) is int


def test_a_policy_that_says_nothing_is_not_clairvoyant() -> None:
    """It needs ``decide`` alone; what is still to come it may not ask."""

    class One:
        def decide(self, view: elastic_stream.View) -> dict[int, int]:
            return {job: int(job == next(iter(view))) for job in view}

    class Seer:
        def decide(self, view: elastic_stream.View) -> dict[int, int]:
            return {job: len(list(view.to_come())) for job in view}

    assert dlsched.solve(elastic_stream.example(), method=One).objective is not None
    with pytest.raises(dlsched.UsageError, match="not clairvoyant"):
        dlsched.solve(elastic_stream.example(), method=Seer)


def test_a_frame_of_jobs_stands_alone() -> None:
    """Jobs beside it would be left out without a word."""
    pandas = pytest.importorskip("pandas")
    with pytest.raises(dlsched.InstanceError, match="jobs: found some beside a frame of jobs"):
        ring_allocation.Instance.from_frame(pandas.DataFrame([JOB]), gpus=3, jobs=[JOB])
