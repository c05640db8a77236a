"""``dlsched.compare``: what it accepts, what its ``Comparison`` says, and that the command line says the same."""

import pickle
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended

import dlsched
from dlsched import ring_allocation
from dlsched.comparison.comparison import Comparison


def one_each(instance: ring_allocation.Instance) -> ring_allocation.Allocation:
    """A GPU for each job."""
    return ring_allocation.Allocation({job.id: 1 for job in instance.jobs})


def test_names_and_functions_stand_side_by_side() -> None:
    """The ratio of a function is its objective over the optimum that the exact method proves."""
    instance = ring_allocation.example()
    found = dlsched.compare(instance, ["exact", one_each])
    exact, own = found.rows
    assert (own.kind, own.method.rpartition(":")[2]) == ("heuristic", "one_each")
    assert own.objective == ring_allocation.objective(instance, one_each(instance))
    assert exact.objective is not None and own.objective is not None
    assert own.ratio == pytest.approx(own.objective / exact.objective)
    assert repr(found) == "Comparison(1 instance, 2 methods)"
    assert "one_each" in str(found) and found._repr_html_().count("<tr>") == 6  # two tables of two answers
    assert found.remarks == [
        "ratios of ring_allocation: weighted sum of remaining times over the optimal weighted sum of remaining times"
    ]
    assert not found.wrong


def test_instances_are_one_or_many_paths_or_a_folder(tmp_path: Path) -> None:
    """The rows are the same, in the order of the names of the files."""
    many = [dlsched.generate("ring_allocation", jobs=3, gpus=6, seed=seed) for seed in (1, 2)]
    for number, instance in enumerate(many):
        dlsched.write(instance, tmp_path / f"{number}.json")
    paths = [str(path) for path in sorted(tmp_path.iterdir())]
    answers = [
        [(row.index, row.method, row.objective, row.ratio) for row in dlsched.compare(given, "doubling").rows]
        for given in (many, paths, tmp_path, [many[0], paths[1]])
    ]
    assert answers[0] and all(answer == answers[0] for answer in answers)


def test_answers_from_elsewhere_are_results_or_files(tmp_path: Path) -> None:
    """Both are checked, and compared under their own name; one of another instance is refused."""
    instance = ring_allocation.example()
    result = dlsched.solve(instance, method="doubling")
    dlsched.write(result, tmp_path / "theirs.json")
    for given in (result, tmp_path / "theirs.json"):
        row = dlsched.compare(instance, "exact", solutions=given).rows[-1]
        assert (row.kind, row.objective) == ("foreign", result.objective)
    with pytest.raises(dlsched.UsageError, match="belongs to none of the instances"):
        dlsched.compare(dlsched.generate("ring_allocation", seed=3), "exact", solutions=result)


def test_many_instances_print_as_a_page() -> None:
    """The summary first, at most 60 lines, and how many instances are left out; ``to_string`` and the rows have all."""
    many = [ring_allocation.example().model_copy(update={"name": f"copy-{number}"}) for number in range(40)]
    none, one = (lambda instance: None), (lambda instance: one_each(instance))
    found = dlsched.compare(many, ["equal", none, one])
    assert repr(found) == "Comparison(40 instances, 3 methods)"
    lines = str(found).splitlines()
    assert lines[0].split()[:2] == ["method", "answers"] and 50 < len(lines) <= 60
    labels = [line.split("  ")[0] for line in lines[2:5]]
    assert labels[0] == "equal" and labels[1].endswith(":lambda") and labels[2].endswith(":lambda (2)")
    shown = [number for number in range(40) if any(line.startswith(f"copy-{number} ") for line in lines)]
    assert (
        shown == list(range(len(shown)))
        and f"and {40 - len(shown)} more instances; to_string(all=True) has all" in lines
    )
    whole = found.to_string(all=True)
    assert all(f"copy-{number} " in whole for number in range(40)) and "more instance" not in whole
    assert found._repr_html_().count("<tr>") < 60
    few = dlsched.compare(many[:2], ["equal"])
    assert str(few) == few.to_string(all=True) and str(few).startswith("method ") and "equal" in few._repr_html_()
    page = str(dlsched.compare(many[:1], [one] * 70)).splitlines()
    assert len(page) == 60 and page[-1].startswith("and ") and "more lines; to_string(all=True)" in page[-1]


def test_what_was_asked_is_counted() -> None:
    """Not the bound that ratios need; answers from elsewhere apart."""
    instance = dlsched.generate("ring_allocation", jobs=3, gpus=6, seed=1)
    theirs = dlsched.solve(instance, method="hull")
    found = dlsched.compare([instance, instance], ["equal", "doubling"])
    assert [row.method for row in found.rows[:3]] == ["equal", "doubling", "lagrange"]
    assert repr(found) == "Comparison(2 instances, 2 methods)"
    assert repr(dlsched.compare(instance, ["lagrange"], solutions=theirs)) == (
        "Comparison(1 instance, 1 method, 1 answer from elsewhere)"
    )


def test_it_is_data(tmp_path: Path) -> None:
    """It is pickled, equal to its copy, and becomes a data frame and a figure."""
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    found = dlsched.compare(ring_allocation.example(), ["exact", "doubling"])
    assert pickle.loads(pickle.dumps(found)) == found != Comparison(())
    frame = found.frame()
    assert list(frame["method"]) == ["exact", "doubling"] and list(frame["ratio"]) == [row.ratio for row in found.rows]
    figure = found.plot(tmp_path / "ratios.pdf", width=3.3)
    assert figure.get_figwidth() == pytest.approx(3.3) and (tmp_path / "ratios.pdf").stat().st_size > 0
    assert next(axes.get_xlabel() for axes in found.plot().axes) == (
        "weighted sum of remaining times over the optimal\nweighted sum of remaining times"
    )
    with pytest.raises(dlsched.UsageError, match="plot"):
        found.plot("ratios.txt")
    with pytest.raises(dlsched.InputError, match="cannot be written"):
        found.plot(tmp_path / "no folder" / "ratios.pdf")


def test_ratios_of_srpt_mapping_are_of_flow_times(tmp_path: Path, cli: Callable[..., Ended]) -> None:
    """Said under the table, in Python, in a notebook and in a terminal; and true of the flow times that checkers compute."""
    instance = dlsched.generate("srpt_mapping", preset="mixed", jobs=6, gpus=16, seed=0)
    assert dlsched.FAMILIES["srpt_mapping"].constant(instance) > 0
    said = "ratios of srpt_mapping: mean flow time over the optimal mean flow time; releases are subtracted from both"
    found = dlsched.compare(instance, ["exact", "a-srpt"])
    assert found.remarks == [said] and said in str(found) and said in found._repr_html_()
    exact, srpt = found.rows
    assert srpt.ratio == pytest.approx(srpt.figures["mean_flow_s"] / exact.figures["mean_flow_s"])
    assert srpt.objective is not None and exact.objective is not None and srpt.ratio is not None
    assert srpt.ratio > 1.1 * srpt.objective / exact.objective  # completion times have the releases on both sides
    dlsched.write(instance, tmp_path / "gangs.json")
    assert said in cli("compare", tmp_path / "gangs.json", "--methods", "fifo").out
    assert "ratios of" not in cli("compare", tmp_path / "gangs.json", "--methods", "fifo", "--csv").out


def test_what_is_no_instance_is_refused() -> None:
    """Nothing, and things that are none."""
    with pytest.raises(dlsched.UsageError, match="instances: found none"):
        dlsched.compare([])
    with pytest.raises(dlsched.UsageError, match="found int"):
        dlsched.compare([3])  # type: ignore[list-item]
    with pytest.raises(dlsched.UsageError, match="found int, allowed: a name"):
        dlsched.compare(ring_allocation.example(), 3)  # type: ignore[arg-type]


def sleeps(instance: ring_allocation.Instance) -> ring_allocation.Allocation:
    """The same, much too late."""
    time.sleep(60)
    return one_each(instance)


def test_a_function_is_killed_at_its_limit(tmp_path: Path, cli: Callable[..., Ended]) -> None:
    """Whether it is handed over or named by its file, by ``compare`` and by ``solve``; the row says so."""
    instance = ring_allocation.example()
    own = tmp_path / "own.py"
    own.write_text("import time\n\ndef sleeps(instance):\n    time.sleep(60)\n", encoding="utf-8")
    dlsched.write(instance, tmp_path / "a.json")

    def nested(instance: ring_allocation.Instance) -> ring_allocation.Allocation:
        return sleeps(instance)

    found = dlsched.compare(instance, [sleeps, nested, one_each, f"{own}:sleeps"], time_limit=0.5)
    for row in (found.rows[0], found.rows[1], found.rows[3]):
        assert (row.status, row.message, row.objective) == ("time_limit", "killed at its limit of 0.5 s", None)
        assert row.runtime_s is not None and 0.5 <= row.runtime_s < 1.0
    assert found.rows[2].status == "feasible" and found.rows[2].runtime_s < 0.1
    assert "time_limit, killed at its limit of 0.5 s" in str(found)
    began = time.perf_counter()
    ended = cli("solve", tmp_path / "a.json", "--method", f"{own}:sleeps", "--time-limit", "0.5", "--json")
    assert (ended.code, ended.json["status"]) == (5, "time_limit")
    assert ended.json["runtime_s"] < 1.0 and time.perf_counter() - began < 30


def test_a_function_that_cannot_be_sent_runs_here(tmp_path: Path) -> None:
    """As it holds a lock; the row says that nothing could have stopped it."""
    lock = threading.Lock()

    def locked(instance: ring_allocation.Instance) -> ring_allocation.Allocation:
        with lock:
            return one_each(instance)

    (row, *_) = dlsched.compare(ring_allocation.example(), locked, time_limit=5.0).rows
    assert row.status == "feasible"
    assert row.message.startswith("ran without a limit: ")
    assert "locked, which cannot be handed to another process" in row.message


def test_ends_of_a_function_under_a_limit(tmp_path: Path) -> None:
    """It raises, breaks a rule, leaves, or stops by itself at the limit: as without one, save that only its process dies."""
    (tmp_path / "own.py").write_text(
        "import os\n\ndef raises(instance):\n    raise ValueError('what')\n\ndef leaves(instance):\n    os._exit(3)\n\n"
        "def breaks(instance):\n    return {'gpus': {job.id: 99 for job in instance.jobs}}\n\n"
        "def ticks(instance, tick):\n    while True:\n        tick()\n",
        encoding="utf-8",
    )
    own = tmp_path / "own.py"
    names = ("raises", "breaks", "leaves", "ticks")
    found = dlsched.compare(ring_allocation.example(), [f"{own}:{name}" for name in names], time_limit=0.5)
    raises, breaks, leaves, ticks = found.rows[:4]
    assert raises.status == f"{own}:raises: own.py, line 4: ValueError: what"
    assert "its answer breaks" in breaks.status and breaks.wrong
    assert leaves.status == "solver_error: the function process ended with code 3"
    assert (ticks.status, ticks.message) == ("time_limit", "")
