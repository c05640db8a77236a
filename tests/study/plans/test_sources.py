"""The instances of plans: which, in which order, and what they are."""

import itertools
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from conftest import Ended

import dlsched
from dlsched import FAMILIES, InputError, UsageError, ring_allocation, write
from dlsched.study import leader, trial
from dlsched.study.cells.cell import cells_of
from dlsched.study.plans.plan import Generated, Plan, PlannedMethod, Windows
from dlsched.study.plans.plan_file import make_plan, read_plan
from dlsched.study.plans.sources import MOST_CELLS, count, kinds_of, recipes, smaller
from dlsched.traces import import_instance
from tests.study.small import refusals, small

DAY_S = 86400


@pytest.fixture
def plan(tmp_path: Path) -> Callable[..., Plan]:
    """Make a plan of some sources in the test's folder."""

    def call(*sources: dict[str, Any]) -> Plan:
        return make_plan(instances=sources, methods=["exact"], folder=tmp_path)

    return call


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """A trace of Tiresias with jobs at 100, 150, 1099, 1100, 5000 and 5001 s, not in order; the one at 3000 s has no length."""
    times = (150, 100, 1099, 3000, 1100, 5001, 5000)
    rows = "".join(f"1,{time},10,vgg16,{0 if time == 3000 else 60}\n" for time in times)
    (tmp_path / "jobs.csv").write_text("num_gpu,submit_time,iterations,model_name,duration\n" + rows)
    return "jobs.csv"


def test_grids_seeds_fastest(plan: Callable[..., Plan]) -> None:
    """Combinations in the order of the plan; source after source."""
    made = plan(
        {"family": "ring_allocation", "preset": ["table", "mixed"], "jobs": [4, 2], "gpus": 9, "seeds": [5, 3]},
        {"family": "async_sgd", "jobs": 3},
    )
    found = list(recipes(made))
    assert [(each.preset, each.data["generate"]["jobs"], each.seed) for each in found[:8]] == [
        *(("table", 4, 5), ("table", 4, 3), ("table", 2, 5), ("table", 2, 3)),
        *(("mixed", 4, 5), ("mixed", 4, 3), ("mixed", 2, 5), ("mixed", 2, 3)),
    ]
    assert {each.source for each in found} == {"generate"}
    assert [each.family for each in found[8:]] == ["async_sgd"]
    assert count(made)[0] == len(found) == 9
    assert found[3].make() == ring_allocation.generate(preset="table", jobs=2, gpus=9, seed=3)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_omitted_is_as_in_generate(family: str, plan: Callable[..., Plan]) -> None:
    """The first preset, the generator's sizes, seed 0."""
    (recipe,) = recipes(plan({"family": family}))
    record = FAMILIES[family]
    assert recipe.make() == record.generate(preset=next(iter(record.presets)), seed=0)


def test_options_of_a_family_reach_its_generator(plan: Callable[..., Plan]) -> None:
    """A load that is written as an integer is the same number."""
    (recipe,) = recipes(plan({"family": "elastic_stream", "jobs": 4, "load": 2, "tick": 60, "seeds": 9}))
    expected = FAMILIES["elastic_stream"].generate(preset="poisson", jobs=4, load=2.0, tick=60.0, seed=9)
    assert recipe.make() == expected


def test_files_are_sorted_and_come_once(plan: Callable[..., Plan], tmp_path: Path) -> None:
    """Whichever patterns match them, in one source or another, by a link too; their name is as the plan writes it."""
    for name in ("b.json", "sub/a.json", "sub/deep/c[1].json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        drawn = ring_allocation.generate(jobs=2, seed=len(name))
        dlsched.write(drawn.model_copy(update={"name": name, "source": "somewhere"}), tmp_path / name)
    (tmp_path / "link.json").symlink_to("b.json")
    made = plan({"files": ["sub/**/*.json", "sub/deep/c[1].json", "b.json", "*.json"]}, {"files": "sub/a.json"})
    found = list(recipes(made))
    assert [each.source for each in found] == ["b.json", "sub/a.json", "sub/deep/c[1].json"]
    assert count(made)[0] == 3
    for each in found:
        assert (each.preset, each.seed) == ("", None)
        assert each.make() == dlsched.read(tmp_path / each.source)


def test_a_file_that_has_changed_since(plan: Callable[..., Plan], tmp_path: Path) -> None:
    """It is read again, and refused where it is no instance any more."""
    dlsched.write(ring_allocation.example(), tmp_path / "a.json")
    made = plan({"files": "a.json"})
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(InputError, match=r"a\.json: format: found nothing"):
        list(recipes(made))
    (tmp_path / "a.json").unlink()
    with pytest.raises(InputError, match=r'found "a\.json", allowed: a pattern of files that are there'):
        list(recipes(made))


def test_windows_of_a_trace(plan: Callable[..., Plan], trace: str, tmp_path: Path) -> None:
    """From the first arrival on, 1000 s each, half open; one without jobs is left out. By hand: 3 jobs, 1 and 2."""
    made = plan({"import": "tiresias", "file": trace, "gpus": 8, "window": 1000})
    found = list(recipes(made))
    assert [each.source for each in found] == ["jobs.csv [100, 1100)", "jobs.csv [1100, 2100)", "jobs.csv [4100, 5100)"]
    assert count(made)[0] == 3
    assert [len(each.make().jobs) for each in found] == [3, 1, 2]  # type: ignore[attr-defined]
    for each, ends in zip(found, ((100, 1100), (1100, 2100), (4100, 5100)), strict=True):
        alone, _ = import_instance("tiresias", str(tmp_path / trace), gpus=8, from_=str(ends[0]), to=str(ends[1]))
        assert each.make() == alone


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [("jobs.csv", 6)]),
        ({"from": 150, "to": 5001}, [("jobs.csv [150, 5001)", 4)]),
        ({"from": 150.5}, [("jobs.csv [150.5, )", 4)]),
        ({"from": 0, "to": 5000.5, "window": "50m"}, [("jobs.csv [0, 3000)", 4), ("jobs.csv [3000, 5000.5)", 1)]),
        ({"window": "1h"}, [("jobs.csv [100, 3700)", 4), ("jobs.csv [3700, 7300)", 2)]),
        ({"window": "1w"}, [("jobs.csv [100, 604900)", 6)]),
    ],
)
def test_ends_of_a_trace(options: dict[str, Any], expected: list[Any], plan: Callable[..., Plan], trace: str) -> None:
    """Windows begin at `from` and end at `to`; without a length there is one."""
    found = list(recipes(plan({"import": "tiresias", "file": trace, **options})))
    assert [(each.source, len(each.make().jobs)) for each in found] == expected  # type: ignore[attr-defined]


def test_windows_of_dates(plan: Callable[..., Plan], tmp_path: Path) -> None:
    """Where the trace writes dates, so do the windows."""
    rows = "".join(f"2017-10-0{day} 12:00:00,60,1,60,vc\n" for day in (1, 2, 4))
    (tmp_path / "jobs.csv").write_text("timestamp,duration,num_gpus,gpu_time,cluster\n" + rows)
    asked = {"import": "philly", "file": "jobs.csv", "window": "2d", "gpus": [8, 16]}
    found = list(recipes(plan(asked)))
    ends = "jobs.csv [2017-10-01T12:00:00, 2017-10-03T12:00:00)", "jobs.csv [2017-10-03T12:00:00, 2017-10-05T12:00:00)"
    assert [each.source for each in found] == [*ends, *ends]
    assert [each.make().units for each in found] == [8, 8, 16, 16]  # type: ignore[attr-defined]


def test_windows_of_a_stream(plan: Callable[..., Plan], tmp_path: Path) -> None:
    """Gavel's; every job is in exactly one window, whatever the lengths that floats cannot hold."""
    kind = "LM (batch size 5)"
    times = [0.12345678 + 0.1 * index for index in range(50)]
    rows = ["\t".join((kind, "run", "-n", "0", "100", repr(time), "1")) for time in times]
    (tmp_path / "some.trace").write_text("\n".join(rows) + "\n")
    for length in (1.1, 1.3, 2.7):
        found = [each.make() for each in recipes(plan({"import": "gavel", "file": "some.trace", "window": length}))]
        assert sum(len(each.jobs) for each in found) == 50  # type: ignore[attr-defined]


def test_a_generator_that_refuses(tmp_path: Path) -> None:
    """What was not drawn when the plan was read is an error of its own instance only."""
    grid = {"preset": ("few-types",), "jobs": (9,), "gpus": (3,), "seed": (0,)}
    made = Plan("x", (Generated("matching_placement", grid),), (PlannedMethod("exact", "name", "exact"),))
    (recipe,) = recipes(made)
    with pytest.raises(UsageError, match="gpus: found 3, allowed: an integer >= jobs"):
        recipe.make()


def test_what_makes_instances_loads_no_importer() -> None:
    """Every process that runs cells imports it; the importers of traces would double the time."""
    code = "import dlsched.study.plans.sources, sys; print([name for name in sys.modules if name.startswith('dlsched.traces')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_recipes_come_one_by_one(plan: Callable[..., Plan]) -> None:
    """Of a million instances the first are there at once."""
    made = plan({"family": "ring_allocation", "jobs": 2, "seeds": "0:1000000"})
    assert count(made)[0] == 1_000_000
    assert [each.seed for each in itertools.islice(recipes(made), 3)] == [0, 1, 2]


SACCT = """JobIDRaw|User|State|Submit|Start|End|ElapsedRaw|AllocTRES
1|ann|COMPLETED|2025-03-01T00:10:00|2025-03-01T00:10:00|2025-03-01T01:10:00|3600|gres/gpu=8
2|bob|FAILED|2025-03-01T00:20:00|2025-03-01T01:10:00|2025-03-01T01:30:00|1200|gres/gpu=4
3|bob|COMPLETED|2025-03-02T05:00:00|2025-03-02T05:00:00|2025-03-02T05:01:00|60|gres/gpu=1
"""


@pytest.fixture
def sacct(tmp_path: Path) -> str:
    """Jobs of Slurm: two on a day, one on the next."""
    (tmp_path / "sacct.txt").write_text(SACCT)
    return "sacct.txt"


def test_windows_of_a_queue(plan: Callable[..., Plan], sacct: str, tmp_path: Path) -> None:
    """Days from the first arrival on, in each family that is asked for, on the same cluster: 8 GPUs were in use at once."""
    families = ["srpt_mapping", "elastic_stream"]
    made = plan({"import": "slurm", "file": sacct, "window": "24h", "family": families, "states": "COMPLETED,FAILED"})
    found = list(recipes(made))
    days = [
        "sacct.txt [2025-03-01T00:10:00, 2025-03-02T00:10:00)",
        "sacct.txt [2025-03-02T00:10:00, 2025-03-03T00:10:00)",
    ]
    assert [(each.family, each.source) for each in found] == list(itertools.product(families, days))
    assert [[job.id for job in each.make().jobs] for each in found] == [["1", "2"], ["3"]] * 2  # type: ignore[attr-defined]
    for each in found:
        start, end = each.source.removeprefix("sacct.txt [").removesuffix(")").split(", ")
        alone, _ = import_instance("slurm", str(tmp_path / sacct), family=each.family, from_=start, to=end)
        assert each.make() == alone.model_copy(update={"source": each.make().source})
        assert alone.model_dump()["name"].endswith("x8")


def test_options_of_queues_reach_them(plan: Callable[..., Plan], sacct: str, tmp_path: Path) -> None:
    """States, sizes, a restart; files are those of the plan's folder."""
    (found,) = recipes(plan({"import": "slurm", "file": sacct, "states": "FAILED", "gpus": 20, "gpus_of_node": 16}))
    instance = found.make()
    assert [job.id for job in instance.jobs] == ["2"]  # type: ignore[attr-defined]
    assert [server.gpus for server in instance.servers] == [16, 4]  # type: ignore[attr-defined]
    (found,) = recipes(plan({"import": "slurm", "file": sacct, "family": "elastic_stream", "restart": 5}))
    assert [job.restart_s for job in found.make().jobs] == [5.0, 5.0, 5.0]  # type: ignore[attr-defined]
    (found,) = recipes(plan({"import": "slurm", "file": sacct, "from": "2025-03-01T01:00:00", "carried": True}))
    assert [job.id for job in found.make().jobs] == ["1", "2", "3"]  # type: ignore[attr-defined]
    (tmp_path / "pods.csv").write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
        "a,1,1,1,1000,,LS,Succeeded,0,50,10\nb,1,1,0,0,,LS,Succeeded,0,90,10\n"
    )
    (tmp_path / "nodes.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,2,T4\n")
    (found,) = recipes(plan({"import": "openb", "file": "pods.csv", "nodes": "nodes.csv"}))
    assert [server.id for server in found.make().servers] == ["n0"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("source", "message"), refusals("queues"))
def test_options_that_do_not_fit(source: str, message: str, plan: Callable[..., Plan], sacct: str) -> None:
    """Refused with the plan."""
    with pytest.raises(InputError, match=message):
        plan({**tomllib.loads(source), "file": sacct})


RINGS = {"family": "ring_allocation"}
HEAD = 'format = "dlsched/study/1"\n[[methods]]\nname = "doubling"\n[[instances]]\nfamily = "ring_allocation"\n'


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let generators, and processes for cells, fail the test."""

    def fail(*arguments: object, **named: object) -> None:
        raise AssertionError("an instance was drawn")

    for family in FAMILIES.values():
        monkeypatch.setitem(family.__dict__, "generate", wraps(family.generate)(lambda *_, **__: fail()))
    monkeypatch.setattr(trial.local, "run", fail)
    monkeypatch.setattr(leader.local, "run", fail)


@pytest.mark.parametrize("command", ["plan", "run"])
@pytest.mark.parametrize(
    ("grid", "cells"),
    [
        (f"jobs = {list(range(1, 1001))}\ngpus = {list(range(1, 1001))}\nseeds = '0:1000000'\n", 10**12),
        (
            "jobs = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\nseeds = '0:1000000'\n[[instances]]\nfamily = 'ring_allocation'\njobs = 11\n",
            10**7 + 1,
        ),
        (
            f"jobs = {list(range(1, 101))}\nseeds = '0:99999'\n[[instances]]\nfamily = 'ring_allocation'\n"
            f"jobs = {list(range(100, 202))}\nseeds = '99998:100000'\n",
            # the second has 102 x 2, of which job 100 with seed 99998 is in the first: 9,999,900 + 203
            10_000_103,
        ),
    ],
)
@pytest.mark.usefixtures("undrawn")
def test_more_cells_than_the_limit(
    command: str, grid: str, cells: int, cli: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Are refused with their number and the limit, and no store is made."""
    monkeypatch.chdir(tmp_path)
    Path("big.toml").write_text(HEAD + grid, encoding="utf-8")
    ended = cli("study", command, "big.toml")
    instances = f"{cells:,}"
    assert (ended.code, ended.out) == (2, "")
    assert ended.line == (
        f"dlsched: big.toml: found {cells:,} cells of {instances} instances, allowed: at most 10,000,000 cells in a study"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["big.toml"]


def test_as_many_cells_as_the_limit(tmp_path: Path) -> None:
    """Two methods on 5,000,000 instances, one of them named twice by grids that overlap; one seed more is too many."""
    (tmp_path / "p.toml").write_text(
        HEAD.replace('"doubling"', '"doubling"\n[[methods]]\nname = "equal"')
        + "jobs = [3, 4, 5, 6, 7]\nseeds = '0:1000000'\n[[instances]]\nfamily = 'ring_allocation'\njobs = 7\nseeds = 999999\n",
        encoding="utf-8",
    )
    plan = read_plan(tmp_path / "p.toml")
    assert count(plan) == (5_000_000, MOST_CELLS)
    assert [(part.kind, part.instances) for part in kinds_of(plan)] == [
        (("ring_allocation", "mixed", "generate"), 5_000_000),
        (("ring_allocation", "mixed", "generate"), 0),
    ]
    text = (tmp_path / "p.toml").read_text().replace("seeds = 999999", "seeds = [999999, 1000000]")
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(UsageError, match=r"found 10,000,002 cells of 5,000,001 instances, allowed: at most 10,000,000"):
        read_plan(tmp_path / "p.toml")


def test_the_count_is_that_of_what_is_made(tmp_path: Path) -> None:
    """Of grids that overlap, of two families, a function, a search and a file: by kinds and in all."""
    (tmp_path / "mine.py").write_text(
        "from dlsched import ring_allocation\n\n\ndef draw(seed=0, mood='calm'):\n"
        "    return ring_allocation.generate(jobs=2, seed=seed)\n"
    )
    function = {"python": "mine.py:draw", **RINGS}
    sources: list[dict[str, Any]] = [
        {**RINGS, "jobs": [2, 3], "preset": ["mixed", "table"], "seeds": "0:5"},
        {**RINGS, "jobs": [3, 4], "preset": ["table", "mixed"], "seeds": [4, 9]},
        {"family": ["ring_allocation", "async_sgd"], "jobs": 3, "seeds": 9},
        {**function, "mood": ["calm", "grim"], "seeds": "0:3"},
        {**function, "mood": ["grim", "odd"], "seeds": "2:4"},
        {**RINGS, "worst": "doubling", "jobs": 2, "gpus": 4, "budget": [10, 20], "seeds": [1, 2]},
    ]
    plan = make_plan(instances=sources, methods=["exact", {"name": "doubling", **RINGS}], folder=tmp_path)
    made = list(recipes(plan))
    assert count(plan) == (len(made), len(list(cells_of(plan, made))))
    # 20, of the second 8 less the two with job 3 and seed 4; the third less job 3, mixed, seed 9; 6; 4 less grim 2; 4
    assert len(made) == 20 + 6 + 1 + 6 + 3 + 4
    found: dict[Any, int] = {}
    for recipe in made:
        found[recipe.family, recipe.preset, recipe.source] = (
            found.get((recipe.family, recipe.preset, recipe.source), 0) + 1
        )
    counted: dict[Any, int] = {}
    for part in kinds_of(plan):
        counted[part.kind] = counted.get(part.kind, 0) + part.instances
    assert counted == found


@pytest.mark.usefixtures("undrawn")
def test_an_instance_of_vast_size_is_planned_and_not_tried(
    cli: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred million jobs: what it is is said at once."""
    monkeypatch.chdir(tmp_path)
    Path("jobs.toml").write_text(HEAD + "jobs = 100000000\n", encoding="utf-8")
    monkeypatch.setattr(trial.local, "run", lambda cells, *_: (each for each in list(cells)))
    ended = cli("study", "plan", "jobs.toml")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("jobs: 1 cell, 1 instance, 1 method\n")
    assert "Instances of more than 100,000 jobs are not tried; one has 100,000,000.\n" in ended.out
    assert "No estimate: no cell was tried." in ended.out


def test_a_cell_that_takes_long_ends_the_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not its own limit, which may be hours: what it took so far is the least that it takes."""
    plan = make_plan(instances={**RINGS, "jobs": 2, "seeds": "0:9"}, methods=["doubling"], limits={"time_s": 600})
    monkeypatch.setattr(trial, "PATIENCE_S", 0.001)
    found = trial.try_out(plan)
    assert (found.tried, found.complete, found.cells) == (0, False, 9)
    assert found.seconds is not None and 0 <= found.seconds <= 9 * 0.001


def test_a_trial_runs_no_code_of_the_plan(tmp_path: Path) -> None:
    """Neither a method nor a function that draws; dlsched's own methods on its own instances are tried."""
    touches = "    (pathlib.Path(__file__).parent / 'ran').touch()\n"
    text = (
        f"import pathlib\n\ndef method(instance):\n{touches}\ndef draw(*, seed):\n{touches}    return ring.example()\n"
    )
    (tmp_path / "mine.py").write_text("from dlsched import ring_allocation as ring\n" + text)
    plan = make_plan(
        instances=[{**RINGS, "jobs": 2}, {"family": "ring_allocation", "python": "mine.py:draw", "seeds": "0:3"}],
        methods=["doubling", {"python": "mine.py:method"}, {"command": ["touch", "ran"]}],
        folder=tmp_path,
    )
    (tmp_path / "ran").unlink()  # the plan was made of the first instance that the function draws
    found = trial.try_out(plan)
    assert (found.cells, found.tried, found.complete) == (12, 1, False)
    assert not (tmp_path / "ran").exists()


def test_lists_of_python_that_are_too_long() -> None:
    """A range is not made a list of; one of seeds is held as it is."""
    with pytest.raises(
        UsageError, match=r"found a list of 1,000,000,000 values, allowed in a plan: at most 10,000,000"
    ):
        make_plan(instances={**RINGS, "jobs": range(1, 10**9 + 1)}, methods=["doubling"])
    assert count(make_plan(instances={**RINGS, "seeds": range(10**6)}, methods=["doubling"])) == (10**6, 10**6)


def test_grids_of_traces(tmp_path: Path) -> None:
    """Of which each is an instance at least; none is read before they are counted."""
    values = list(range(1, 4001))
    with pytest.raises(
        UsageError, match=r"^the plan: found 16,000,000 cells of as many traces at least, allowed: at most"
    ):
        make_plan(
            instances={"import": "philly", "file": "none.csv", "gpus": values, "max_gpus": values},
            methods=["equal"],
            folder=tmp_path,
        )


def test_the_ends_of_every_list_and_few_jobs(tmp_path: Path) -> None:
    """Sizes above the limit become the limit, once; texts and other numbers stay."""
    grid = {"preset": ("a", "b", "c"), "jobs": (5, 50, 500), "slots": (200, 20), "load": (0.1, 0.2, 0.3), "seed": (7,)}
    source = Generated("x", grid)
    plan = replace(small(tmp_path), sources=(source,))
    (cut,) = smaller(plan, {"jobs": 20, "slots": 10}).sources
    assert isinstance(cut, Generated)
    assert cut.grid == {"preset": ("a", "c"), "jobs": (5, 20), "slots": (10,), "load": (0.1, 0.3), "seed": (7,)}
    assert smaller(plan, {}).methods == plan.methods


def test_the_smallest_files_of_every_folder(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for jobs in (6, 2, 4):
            write(ring_allocation.generate(jobs=jobs, gpus=8, seed=jobs), tmp_path / folder / f"{9 - jobs}.json")
    plan = make_plan(instances={"files": ["a/*.json", "b/*.json"]}, methods=["equal"], folder=tmp_path)
    assert [each.source for each in recipes(smaller(plan, {}))] == ["a/5.json", "a/7.json", "b/5.json", "b/7.json"]


def test_traces_end_early(tmp_path: Path) -> None:
    whole = Windows("tiresias", "jobs.csv", {"gpus": 8}, None)
    plan = replace(small(tmp_path), sources=(whole,))
    assert smaller(plan, {}).sources == (whole,)
    assert smaller(plan, {}, trace_to="100").sources == (replace(whole, options={"gpus": 8, "to": "100"}),)
