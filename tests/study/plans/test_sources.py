"""The instances of plans: which, in which order, and what they are."""

import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dlsched
from dlsched import FAMILIES, InputError, UsageError, ring_allocation
from dlsched.study.plans.counting import count
from dlsched.study.plans.plan import Generated, Plan, PlannedMethod
from dlsched.study.plans.plan_file import make_plan
from dlsched.study.plans.sources import recipes
from dlsched.traces import import_instance

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


def test_a_trace_as_a_queue(plan: Callable[..., Plan], trace: str) -> None:
    """Tiresias' jobs as a stream, cut as they are otherwise."""
    found = list(recipes(plan({"import": "tiresias", "file": trace, "family": "elastic_stream", "window": "1h"})))
    assert [each.source for each in found] == ["jobs.csv [100, 3700)", "jobs.csv [3700, 7300)"]
    assert [each.family for each in found] == ["elastic_stream"] * 2


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


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"import": "slurm", "estimates": 1}, r"estimates: found 1, allowed: true or false"),
        ({"import": "slurm", "gpus_of_node": 0}, r"gpus_of_node: found 0, allowed: an integer >= 1"),
        ({"import": "slurm", "epochs": 5}, r"epochs: found"),
        ({"import": "slurm", "family": "rings"}, r'family: found "rings"'),
        (
            {"import": "slurm", "scaling": "own"},
            r"scaling: found 'own', allowed: no such option for family srpt_mapping",
        ),
        ({"import": "pcs", "family": "srpt_mapping"}, r"family: found"),
        ({"import": "slurm", "from": "noon"}, r"from: found 'noon', allowed: a date or time"),
    ],
)
def test_options_that_do_not_fit(source: dict[str, Any], message: str, plan: Callable[..., Plan], sacct: str) -> None:
    """Refused with the plan."""
    with pytest.raises(InputError, match=message):
        plan({**source, "file": sacct})
