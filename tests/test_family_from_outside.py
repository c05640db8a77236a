"""A family of an installed package: all commands, the contract, studies, and what is said of a package that cannot be used."""

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from outside import FAMILY, install, write_package

import dlsched
from dlsched import FAMILIES
from dlsched.catalogue import families as listed
from dlsched.core.errors import SolverMissingError, UsageError
from dlsched.families import _of_package, find_family, usable
from dlsched.testing import check_method, hold_to_bound, hold_to_contract

SPACE = '''
from admission.instance import Instance
from dlsched.families import FAMILIES
from dlsched.worst.spaces import Number, Space, lettered


def space_of(*, jobs=None, gpus=None, preset=None, heaviest=20):
    """One to ``heaviest`` for each of some jobs."""

    def draw(generator):
        drawn = [
            {"gpus": int(generator.integers(1, 9)), "weight": float(generator.integers(1, heaviest + 1))}
            for _ in range(jobs or 3)
        ]
        return {"format": "dlsched/admission/1", "name": "worst", "gpus": gpus or 8, "jobs": lettered(drawn)}

    numbers = [Number("jobs[].gpus", 1, 8, True), Number("jobs[].weight", 1, heaviest)]
    return Space(family=FAMILIES["admission"], draw=draw, numbers=numbers)
'''
"""A space of worst instances, which the page leaves out."""
WITH_OPTIONS = '''
from dataclasses import replace

from dlsched.catalogue.families import Option, by_name


def generate(*, preset="mixed", jobs=20, seed=0, heavy=1.0):
    """Draw an instance, and say the option."""
    drawn = generator.generate(preset=preset, jobs=jobs, seed=seed)
    return drawn.model_copy(update={"source": f"heavy {heavy:g}"})


FAMILY = replace(
    FAMILY,
    generate=generate,
    options=by_name(Option("heavy", float, "X", "Words of the option heavy")),
    space=by_name(Option("heaviest", int, "N", "Words of the option heaviest")),
    space_of="admission.worst:space_of",
)
'''


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages on the path, here and in processes that are started."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    before = set(sys.modules)
    _forget()
    yield folder
    _forget()
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in (FAMILY, "other"):
            del sys.modules[name]


def _forget() -> None:
    listed.installed.cache_clear()
    _of_package.cache_clear()


@pytest.fixture
def admission(site: Path) -> Path:
    """The package of the page, with a space and options of its own."""
    write_package(site)
    (site / FAMILY / "worst.py").write_text(SPACE)
    record = site / FAMILY / "__init__.py"
    record.write_text(record.read_text().replace("\nsolve = FAMILY.solve", f"{WITH_OPTIONS}\nsolve = FAMILY.solve"))
    return site


def test_dlscheds_own_families_go_through_the_same_door(site: Path) -> None:
    """Declared by a package under another name, the target of one of the six gives the record itself."""
    for name, target in listed.FAMILIES.items():
        assert listed.load(target) is FAMILIES[name]
        assert target == f"dlsched.{name}:FAMILY"
    assert tuple(FAMILIES) == tuple(listed.FAMILIES)


def test_every_command_takes_it(admission: Path, tmp_path: Path, monkeypatch: Any, cli: Any) -> None:
    """As the six: generate, schema, solve, check, compare, bound, export, prove, worst, methods, with its own options."""
    monkeypatch.chdir(tmp_path)
    assert cli("generate", FAMILY, "--jobs", "5", "--heavy", "2", "-o", "a.json").code == 0
    assert dlsched.read("a.json").source == "heavy 2"
    assert "--heavy X" in cli("generate", FAMILY, "--help").out
    assert "--heavy" not in cli("generate", "ring_allocation", "--help").out
    assert cli("solve", "a.json", "-o", "r.json").code == 0
    assert "feasible, objective 8" in cli("check", "a.json", "r.json").out
    assert dlsched.verify(dlsched.read("a.json"), dlsched.read_result("r.json")).failures == []
    assert "density" in cli("compare", "a.json").out
    assert "by certificate" in cli("bound", "a.json").out
    assert "capacity: 7 y_j0" in cli("export", "a.json").out
    assert cli("prove", "a.json", "-o", "a.vipr").code == 0
    assert '"const": "dlsched/admission/1"' in cli("schema", FAMILY).out
    assert "density" in cli("methods", FAMILY).out
    found = cli("worst", FAMILY, "--method", "density", "--budget", "60", "--heaviest", "9", "-o", "w.json")
    assert found.code == 0 and "density on admission" in found.out


def test_commands_for_certain_families_refuse_it_in_words(admission: Path, tmp_path: Path, cli: Any) -> None:
    """They name those that they are for."""
    path = tmp_path / "a.json"
    dlsched.write(dlsched.generate(FAMILY), path)
    (tmp_path / "q.txt").write_text(
        "JobID|State|Submit|Start|End|AllocTRES\n1|PENDING|2026-01-01T00:00:00|Unknown|Unknown|gres/gpu=1\n"
    )
    streamed = cli("stream", str(path))
    assert (streamed.code, streamed.line) == (
        2,
        "dlsched: FILE: found an instance of admission, allowed: one of async_sgd",
    )
    for command in (["advise"], ["whatif", "-o", str(tmp_path / "page.html")]):
        ended = cli(*command, str(tmp_path / "q.txt"), "--source", "slurm", "--family", FAMILY)
        assert ended.code == 2 and "found 'admission', allowed: " in ended.line
    proven = cli("worst", FAMILY, "--method", "density", "--prove")
    assert proven.code == 2 and "admission" in proven.line
    policy = cli("solve", str(path), "--method", "dlsched.elastic_stream:SrptKnee")
    assert policy.code == 2


def test_it_keeps_the_contract(admission: Path) -> None:
    """Held by its name, and by its module; a bound that is false is found."""
    assert FAMILIES[FAMILY].name == FAMILY
    module = sys.modules[FAMILY]
    hold_to_contract(FAMILY, "density", examples=10)
    hold_to_contract(module, module.density, examples=10)
    hold_to_bound(FAMILY, "exact", 1.0, budget=40)
    with pytest.raises(AssertionError, match=r"density is not within a factor of 1\.01"):
        hold_to_bound(FAMILY, "density", 1.01, budget=200)
    for method in FAMILIES[FAMILY].methods.values():
        check_method(FAMILIES[FAMILY], method, FAMILIES[FAMILY].example())


def test_its_record_is_one_record_after_pickling(admission: Path) -> None:
    """Named, not copied; its instances and their hashes come back, too."""
    record = FAMILIES[FAMILY]
    assert pickle.loads(pickle.dumps(record)) is record is find_family(sys.modules[FAMILY])
    instance = dlsched.generate(FAMILY, seed=3)
    assert pickle.loads(pickle.dumps(instance)).sha256 == instance.sha256


def test_instances_need_neither_jobs_nor_a_list(site: Path) -> None:
    """They have a hash, a file and words all the same."""
    from dlsched.core.instance import InstanceFile
    from dlsched.worst.judge import sized

    class Scalar(InstanceFile):
        family = "scalar"
        size: int

    instance = Scalar(name="one", size=1)
    assert len(instance.sha256) == 64 and "size" in repr(instance)
    dlsched.write(instance, site / "one.json")
    assert (site / "one.json").read_text().count("dlsched/scalar/1") == 1
    assert sized(instance, ": ") == "" and sized(dlsched.ring_allocation.example(), ": ") == ": 2 jobs"


def test_a_method_of_it_is_refused_elsewhere(admission: Path) -> None:
    """By the name of the family that it is of."""
    with pytest.raises(UsageError, match="'density' of admission, allowed: one of ring_allocation"):
        dlsched.solve(dlsched.ring_allocation.example(), method=FAMILIES[FAMILY].methods["density"])


STUDY = """
import sys
from dlsched import study
done = study.run(study.make_plan(
    instances=[
        {"family": ["admission", "ring_allocation"], "jobs": 4, "seeds": "0:2"},
        {"family": "admission", "worst": "density", "budget": 20, "heaviest": [5]},
    ],
    methods=["exact", {"kind": "heuristic", "family": "admission"}],
), store=sys.argv[1], workers=1)
rows = done.rows()
print(len(rows), sorted({row.status for row in rows}))
print(sorted(row.key for row in rows if row.family == sys.argv[2]))
"""


def test_a_study_runs_it_in_its_processes(admission: Path, tmp_path: Path) -> None:
    """And the version of the package decides the keys of its own cells, not those of other families."""

    def keys(store: str, family: str) -> str:
        words = [sys.executable, "-c", STUDY, str(tmp_path / store), family]
        done = subprocess.run(words, capture_output=True, text=True, env=os.environ, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("8 ['feasible', 'optimal']"), done.stdout
        return done.stdout

    own, other = keys("a.study", FAMILY), keys("b.study", "ring_allocation")
    metadata = admission / f"{FAMILY}-1.0.dist-info" / "METADATA"
    metadata.write_text(metadata.read_text().replace("Version: 1.0", "Version: 1.1"))
    assert keys("c.study", FAMILY) != own
    assert keys("d.study", "ring_allocation") == other
    checked = subprocess.run(
        [sys.executable, "-m", "dlsched", "study", "check", str(tmp_path / "a.study")], capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def said(name: str) -> str:
    """What is said where the family is asked for by its name."""
    with pytest.raises(SolverMissingError) as caught:
        FAMILIES[name]
    assert caught.value.exit_code == 6
    return str(caught.value)


REFUSED = {
    "from no_such_module import x": "other:FAMILY cannot be imported: ModuleNotFoundError: No module named 'no_such_module'",
    "x = 1": "other:FAMILY cannot be imported: AttributeError: module 'other' has no attribute 'FAMILY'",
    "FAMILY = 3": "found other:FAMILY, a int, allowed: a Family",
    "from dlsched.async_sgd import FAMILY": "found async_sgd in the record and its class of instances, allowed: the name of the "
    "entry point in both, a word other than advice, result, study, whatif",
}


@pytest.mark.parametrize("code", REFUSED)
def test_a_package_that_cannot_be_used_is_named(code: str, site: Path, tmp_path: Path, cli: Any) -> None:
    """With exit code 6, whatever is wrong in it; the others are listed all the same."""
    install(site, "other", {"strange": "other:FAMILY"})
    (site / "other.py").write_text(code)
    sentence = f"family strange of package other 1.0: {REFUSED[code]}"
    assert said("strange") == sentence
    (tmp_path / "a.json").write_text('{"format": "dlsched/strange/1", "name": "a"}')
    for command in (["solve", str(tmp_path / "a.json")], ["methods", "strange"], ["generate", "strange"]):
        ended = cli(*command)
        assert (ended.code, ended.line) == (6, f"dlsched: {sentence}")
    everything = cli("methods")
    assert everything.code == 0 and everything.err.strip() == f"dlsched: {sentence}"
    assert "doubling" in everything.out
    with pytest.warns(RuntimeWarning, match="family strange of package other"):
        assert {each.family for each in dlsched.methods()} == {*listed.FAMILIES}
    with pytest.raises(UsageError, match="async_sgd, strange"):
        find_family("nowhere")


def test_two_packages_with_one_name_are_both_named(admission: Path) -> None:
    """Neither is taken."""
    install(admission, "other", {FAMILY: "admission:FAMILY"})
    expected = "family admission of package admission 1.0: found the same name in package other 1.0"
    assert said(FAMILY) == f"{expected}, allowed: one package that declares it"


def test_a_package_cannot_hide_one_of_the_six(site: Path) -> None:
    """Its code is not imported, and the list of all families says so."""
    install(site, "other", {"async_sgd": "other:FAMILY"})
    (site / "other.py").write_text("raise SystemExit('imported')")
    assert FAMILIES["async_sgd"] is dlsched.async_sgd.FAMILY
    assert dlsched.solve(dlsched.async_sgd.example()).objective is not None
    records, refused = usable()
    assert [record.name for record in records] == list(listed.FAMILIES)
    assert refused == [
        "family async_sgd of package other 1.0: found the name of one of dlsched's own, allowed: another"
    ]


def test_names_are_completed_without_importing_the_package(site: Path) -> None:
    """That of the family by the shell; the words of other families never need it."""
    install(site, "other", {"strange": "other:FAMILY"})
    (site / "other.py").write_text("raise SystemExit('imported')")
    from dlsched.cli import completion

    assert completion.families("st") == ["strange"]


def test_the_six_cost_no_search_for_packages(tmp_path: Path) -> None:
    """Solving an instance of theirs does not read what is installed."""
    path = tmp_path / "a.json"
    dlsched.write(dlsched.ring_allocation.example(), path)
    code = (
        "import sys; from dlsched.catalogue.families import installed; from dlsched.cli import run; run(['solve', sys.argv[1]]); "
        "print(installed.cache_info().misses)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("0\n")
