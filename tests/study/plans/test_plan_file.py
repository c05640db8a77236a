"""Plans: what a file says is what the records hold, and what is wrong with one is said with its place, before anything runs."""

import dataclasses
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched import FAMILIES, InputError, UsageError, elastic_stream, ring_allocation, write
from dlsched.study.plans.plan import CellLimits, Files, Generated, Plan, PlannedMethod, Windows
from dlsched.study.plans.plan_file import make_plan, plan_from, read_plan, toml_text
from tests.study.small import refusals

FORMAT = 'format = "dlsched/study/1"\n'
RINGS = '[[instances]]\nfamily = "ring_allocation"\njobs = 3\n'
SGD = '[[instances]]\nfamily = "async_sgd"\njobs = 3\n'
EXACT = '[[methods]]\nname = "exact"\n'

MINE = """
def smallest(instance, most=3, *, share):
    return None

def drawn(instance, seed, tick):
    return None

class Policy:
    clairvoyant = False
    def __init__(self, order="fifo"):
        pass
    def decide(self, view):
        return {}

number = 3
"""

WHOLE = """
format = "dlsched/study/1"
name = "all that a plan may hold"
seed = 7

[[instances]]
family = "elastic_stream"
preset = ["poisson", "bursts"]
jobs = [4, 8]
gpus = 16
load = 1
seeds = "0:6:2"

[[instances]]
files = ["*.json", "a.json"]

[[methods]]
name = "exact"

[[methods]]
name = "milp"
label = "scip"
solver = "scip"

[[methods]]
name = "mine"
python = "mine.py:Policy"
order = "las"
seed = 3

[[methods]]
python = "dlsched.elastic_stream:fixed"
units_per_job = 8
family = "elastic_stream"

[[methods]]
name = "in-sh"
command = ["./mine.sh", "{instance}", "-v"]

[limits]
time_s = 1
memory_gib = 0.5
nodes = 0
threads = 2
grace_s = 0

[reference]
method = "scip"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan's folder, not the current one, with methods and an instance file."""
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "boom.py").write_text("\nimport no_such_package\n")
    program = tmp_path / "mine.sh"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "plain.txt").write_text("no program")
    write(elastic_stream.example(), tmp_path / "a.json")
    monkeypatch.chdir("/")
    return tmp_path


@pytest.fixture
def read(folder: Path) -> Callable[[str], Plan]:
    """Write a plan and read it."""

    def call(written: str) -> Plan:
        (folder / "doubling.toml").write_text(written, encoding="utf-8")
        return read_plan(folder / "doubling.toml")

    return call


@pytest.fixture
def refused(read: Callable[[str], Plan]) -> Callable[[str], list[str]]:
    """What is said of a wrong plan, a sentence each, without the file's name."""

    def call(written: str) -> list[str]:
        with pytest.raises(InputError) as raised:
            read(written)
        first, *others = str(raised.value).split("\n  ")
        return [first.split("doubling.toml: ", 1)[1], *others]

    return call


def test_a_whole_plan(read: Callable[[str], Plan], folder: Path) -> None:
    """Every key is in its record; lists are grids; paths begin at the plan's folder; what is omitted is as in `generate`."""
    plan = read(WHOLE)
    assert (plan.name, plan.seed, plan.reference) == ("all that a plan may hold", 7, "scip")
    assert (plan.folder, plan.text) == (folder, WHOLE)
    assert plan.limits == CellLimits(time_s=1.0, memory_gib=0.5, nodes=0, threads=2, grace_s=0.0)
    grid = {"preset": ("poisson", "bursts"), "jobs": (4, 8), "gpus": (16,), "max_gpus": (16,), "load": (1.0,)}
    assert plan.sources == (Generated("elastic_stream", {**grid, "seed": range(0, 6, 2)}), Files(("*.json", "a.json")))
    assert isinstance(plan.sources[0], Generated) and isinstance(plan.sources[0].grid["load"][0], float)
    exact, scip, mine, fixed, program = plan.methods
    assert exact == PlannedMethod("exact", "name", "exact")
    assert scip == PlannedMethod("scip", "name", "milp", solver="scip")
    assert (mine.label, mine.kind, mine.what) == ("mine", "python", (str(folder / "mine.py"), "Policy"))
    assert (mine.parameters, mine.family, mine.seed, mine.foreign) == ({"order": "las"}, None, 3, True)
    assert (fixed.label, fixed.what) == ("dlsched.elastic_stream:fixed", ("dlsched.elastic_stream", "fixed"))
    assert (fixed.parameters, fixed.family) == ({"units_per_job": 8}, "elastic_stream")
    assert (program.label, program.kind) == ("in-sh", "command")
    assert program.what == (str(folder / "mine.sh"), "{instance}", "-v")
    assert all(len(each.fingerprint) == 64 for each in (mine, fixed, program))


def test_a_short_plan(read: Callable[[str], Plan]) -> None:
    """The name is the file's, the preset the family's first, seed and limits those of the records."""
    plan = read(FORMAT + RINGS + EXACT)
    assert (plan.name, plan.seed, plan.limits, plan.reference) == ("doubling", 0, CellLimits(), None)
    grid = {"preset": ("mixed",), "jobs": (3,), "max_gpus": (64,), "seed": (0,)}
    assert plan.sources == (Generated("ring_allocation", grid),)


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [("5", (5,)), ("[4, 2]", (4, 2)), ('"0:3"', (0, 1, 2)), ('"3:8:2"', (3, 5, 7)), ('" 1 : 2 "', (1,))],
)
def test_seeds(seeds: str, expected: tuple[int, ...], read: Callable[[str], Plan]) -> None:
    """One, a list in its order, and ranges as Python's."""
    source = read(f"{FORMAT}{RINGS}seeds = {seeds}\n{EXACT}").sources[0]
    assert isinstance(source, Generated) and tuple(source.grid["seed"]) == expected


def test_a_list_of_families_is_a_grid_too(read: Callable[[str], Plan]) -> None:
    """Each has its own first preset."""
    plan = read(f'{FORMAT}[[instances]]\nfamily = ["ring_allocation", "async_sgd"]\njobs = 3\n{EXACT}')
    found = [(source.family, source.grid["preset"]) for source in plan.sources if isinstance(source, Generated)]
    assert found == [("ring_allocation", ("mixed",)), ("async_sgd", ("published",))]


def test_a_kind_is_every_method_of_it_that_is_not_named(read: Callable[[str], Plan]) -> None:
    """A method that only one family has as such runs there; one that is named with a label of its own is no such."""
    plan = read(FORMAT + RINGS + SGD + '[[methods]]\nkind = "bound"\n')
    found = [(method.label, method.family) for method in plan.methods]
    assert found == [("lagrange", None), ("lp", None)]
    plan = read(FORMAT + RINGS + SGD + '[[methods]]\nkind = "exact"\n[[methods]]\nname = "milp"\nsolver = "cbc"\n')
    found = [(method.label, method.family, method.solver) for method in plan.methods]
    assert found == [
        ("exact", None, None),
        ("dp", "ring_allocation", None),
        ("minlp", "ring_allocation", None),
        ("knapsack", "async_sgd", None),
        ("milp", None, "cbc"),
    ]


@pytest.mark.parametrize("kind", ["exact", "heuristic", "bound"])
def test_a_kind_covers_each_family(kind: str, read: Callable[[str], Plan]) -> None:
    """On each of the six, what runs is what the family's record has of the kind, but what is made for some instances."""
    sources = "".join(f'[[instances]]\nfamily = "{family}"\njobs = 3\n' for family in FAMILIES)
    plan = read(f'{FORMAT}{sources}[[methods]]\nkind = "{kind}"\n')
    for family, record in FAMILIES.items():
        runs = sorted(str(each.what) for each in plan.methods if each.family in (None, family))
        own = (name for name, method in record.methods.items() if method.kind == kind and not method.for_some)
        assert runs == sorted(own)


def test_traces(read: Callable[[str], Plan], folder: Path) -> None:
    """Options are those of `dlsched import`; dates and lengths of time as people write them; lists are grids."""
    rows = "".join(f"2017-10-0{day} 12:00:00,60,1,60,vc\n" for day in (1, 2))
    (folder / "jobs.csv").write_text("timestamp,duration,num_gpus,gpu_time,cluster\n" + rows)
    plan = read(
        f'{FORMAT}[[instances]]\nimport = "philly"\nfile = "jobs.csv"\ngpus = [8, 16]\nrestart = 5\nfrom = 2017-10-02\n'
        f'window = "24h"\n{EXACT}'
    )
    assert plan.sources == tuple(
        Windows("philly", "jobs.csv", {"gpus": gpus, "restart": 5.0, "from": "2017-10-02"}, 86400.0) for gpus in (8, 16)
    )


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("name = \n", "line 2 column 8: found no TOML (Invalid value), allowed: TOML"),
        ('name = "a', "at its end: found no TOML (Unterminated string), allowed: TOML"),
        ("seed = 1\nseed = 2\n", "line 3 column 9: found no TOML (Cannot overwrite a value), allowed: TOML"),
        (f"seed = 1{'0' * 5000}\n", "found no TOML (Exceeds the limit"),
        (f"seed = {'[' * 5000}\n", "found lists or tables nested too deeply"),
    ],
)
def test_no_toml(written: str, said: str, refused: Callable[[str], list[str]]) -> None:
    """Line and column."""
    assert refused(FORMAT + written)[0].startswith(said)


def test_no_file_and_no_text(folder: Path) -> None:
    """What cannot be read says why; a mark of byte order at the head is none of the plan's."""
    with pytest.raises(InputError, match=r"nosuch\.toml: cannot be read: No such file"):
        read_plan(folder / "nosuch.toml")
    (folder / "x.toml").write_bytes(b"a = '\xff'")
    with pytest.raises(InputError, match=r"x\.toml: byte 5: found no UTF-8, allowed: UTF-8 text"):
        read_plan(folder / "x.toml")
    (folder / "x.toml").write_text(FORMAT + RINGS + EXACT, encoding="utf-8-sig")
    assert read_plan(folder / "x.toml").name == "x"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (RINGS + EXACT, "format: found nothing, allowed: dlsched/study/1"),
        ('format = "dlsched/study/2"\n', 'format: found "dlsched/study/2", allowed: dlsched/study/1'),
        (FORMAT, "instances: found nothing, allowed: this field is required"),
        (FORMAT + RINGS, "methods: found nothing, allowed: this field is required"),
        *((f"{FORMAT}{keys}\n{RINGS}{EXACT}", said) for keys, said in refusals("keys")),
    ],
)
def test_wrong_at_the_top(written: str, said: str, refused: Callable[[str], list[str]]) -> None:
    """Keys, types and ranges."""
    assert refused(written)[0].startswith(said)


@pytest.mark.parametrize(("entry", "said"), refusals("instances"))
def test_wrong_instances(entry: str, said: str, refused: Callable[[str], list[str]], folder: Path) -> None:
    """Each with its place; sizes that only together are refused by the generator too."""
    (found,) = refused(f"{FORMAT}[[instances]]\n{entry}\n{EXACT}")
    assert found.replace(f"{folder}/", "").startswith(f"instances[0]{said}")


@pytest.mark.parametrize(("entry", "said"), refusals("methods"))
def test_wrong_methods(entry: str, said: str, refused: Callable[[str], list[str]]) -> None:
    """Each with its place."""
    (found,) = refused(f"{FORMAT}{RINGS}{SGD}{EXACT}[[methods]]\n{entry}\n")
    assert found.startswith(f"methods[1]{said}")


def test_labels_are_of_one_method_on_a_family(read: Callable[[str], Plan], refused: Callable[[str], list[str]]) -> None:
    """The same name twice needs a label; on different families it does not."""
    (found,) = refused(FORMAT + RINGS + EXACT + EXACT)
    assert (
        found == 'methods[1]: found the label "exact", which methods[0] has too, allowed: another, as label = "exact-2"'
    )
    assert len(read(FORMAT + RINGS + EXACT + EXACT + 'label = "again"\n').methods) == 2
    apart = '[[methods]]\nname = "milp"\nfamily = "{}"\n'
    plan = read(FORMAT + RINGS + SGD + apart.format("async_sgd") + apart.format("ring_allocation"))
    assert [method.family for method in plan.methods] == ["async_sgd", "ring_allocation"]


def test_a_family_without_a_method_is_refused(refused: Callable[[str], list[str]]) -> None:
    """Its instances would be drawn for nothing."""
    (found,) = refused(FORMAT + RINGS + SGD + EXACT + 'family = "async_sgd"\n')
    assert found == "methods: found none for ring_allocation, allowed: at least one for every family of the instances"


def test_ten_errors_are_listed_and_all_are_counted(refused: Callable[[str], list[str]]) -> None:
    """In the order of the file."""
    found = refused(FORMAT + "".join(f'[[instances]]\nfamily = "{index}"\n' for index in range(14)) + EXACT)
    assert found[0].endswith("(and 13 more)")
    assert [sentence.split(",")[0] for sentence in found] == [
        f'instances[{index}].family: found "{index}"' for index in range(10)
    ]


def test_an_instance_that_is_not_valid_is_found_before_anything_runs(
    refused: Callable[[str], list[str]], folder: Path
) -> None:
    """Every such file, with what is wrong first in it."""
    for name in ("x.json", "y.json"):
        (folder / name).write_text('{"format": "dlsched/ring_allocation/1", "name": "x", "gpus": 0, "jobs": []}')
    found = refused(f'{FORMAT}[[instances]]\nfiles = "*.json"\n{EXACT}')
    for sentence, name in zip(found, ("x.json", "y.json"), strict=True):
        assert sentence.startswith(f"instances[0].files: {folder / name}: gpus: found 0, allowed: a number >= 1")


def plan_in_python(**changes: Any) -> Plan:
    """A plan of one instance, with changes."""
    return make_plan(**({"instances": {"family": "ring_allocation", "jobs": 3}, "methods": ["exact"]} | changes))


def test_from_python_it_is_the_same_as_from_a_file(read: Callable[[str], Plan], folder: Path) -> None:
    """The same mapping gives the same records; the text that it writes is read back as the same plan."""
    data = tomllib.loads(WHOLE)
    made, file = plan_from(data, folder), read(WHOLE)
    assert dataclasses.replace(made, text="") == dataclasses.replace(file, text="")
    assert dataclasses.replace(read(made.text), text="") == dataclasses.replace(file, text="")


def test_python_values_are_taken(folder: Path) -> None:
    """Ranges, tuples, paths, functions and policy classes by their module, limits as a record, a reference as its label."""
    plan = plan_in_python(
        instances=[{"family": "elastic_stream", "jobs": (3, 4), "seeds": range(1, 9, 3)}, {"files": Path("a.json")}],
        methods=["exact", elastic_stream.equal, {"name": "x", "python": elastic_stream.fixed, "units_per_job": 4}],
        limits=CellLimits(time_s=3.0),
        reference="x",
        folder=folder,
    )
    assert isinstance(plan.sources[0], Generated)
    assert (plan.sources[0].grid["jobs"], plan.sources[0].grid["seed"]) == ((3, 4), range(1, 9, 3))
    assert plan.sources[1] == Files(("a.json",))
    equal, fixed = plan.methods[1:]
    assert (equal.label, equal.what) == ("dlsched.elastic_stream.heuristics:equal", tuple(equal.label.split(":")))
    assert (fixed.label, fixed.what) == ("x", ("dlsched.elastic_stream.heuristics", "fixed"))
    assert (plan.limits, plan.reference) == (CellLimits(time_s=3.0), "x")
    assert 'seeds = "1:9:3"' in plan.text


def test_functions_that_others_cannot_import_are_refused() -> None:
    """Where no function of a session can stand: a method that is searched against."""
    with pytest.raises(
        UsageError, match=r"^instances\.worst: found .*, allowed: a function or class at the top of a mod"
    ):
        plan_from(
            {"instances": {"family": "ring_allocation", "worst": lambda instance: None}, "methods": [{"name": "equal"}]}
        )


def test_values_that_no_file_holds_are_refused() -> None:
    """An object of another kind."""
    with pytest.raises(UsageError, match="allowed in a plan: numbers, texts, lists, tables and functions"):
        plan_in_python(instances={"family": ring_allocation.example()})
    with pytest.raises(InputError, match=r"the plan: instances\[0\]\.jobs: found 0"):
        plan_in_python(instances={"family": "ring_allocation", "jobs": 0})


texts = st.text(max_size=6)
plain = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@settings(derandomize=True, deadline=None, database=None)
@given(st.dictionaries(texts, plain, max_size=3))
def test_what_is_written_as_toml_is_read_back(data: dict[str, Any]) -> None:
    """By the standard library's reader, whatever the keys and texts."""
    assert tomllib.loads(toml_text(data)) == data
