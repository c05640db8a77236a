"""The documentation is true: its commands and Python blocks run and print what they show; its tables are complete."""

import doctest
import functools
import json
import math
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer
from hypothesis import Phase, settings

import dlsched
from dlsched import FAMILIES, ring_allocation, srpt_mapping
from dlsched.cli import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RUN = (
    *("index.md", "quickstart.md", "studies.md", "worst.md", "proofs.md", "modelling.md"),
    *(f"{family}.md" for family in FAMILIES),
)
LONG = ("worst.md", "ring_embedding.md", "srpt_mapping.md")
"""Pages whose commands take longest: they run in the campaigns."""
FENCE = re.compile(r"^```(\{code-block\} )?(\w+)\n(:caption: (\S+)\n\n)?(.*?)^```$", re.MULTILINE | re.DOTALL)
VARYING = (  # what differs from run to run, or from version to version
    (r"(?<=  )(?:< )?[\d.]+ (?:s|min)\b", "TIME"),
    (
        r"\b(knapsack|dp|slots|columns|generation|branching|HiGHS|SciPy|CBC|SCIP|PySCIPOpt|CP-SAT|Gurobi) \d+(\.\w+)+",
        r"\1 VERSION",
    ),
    (r"─+", "─"),
    (r"\s+", " "),
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the file that its caption names, its text, and the line it begins at."""

    language: str
    file: str | None
    text: str
    line: int


def blocks(page):
    """Blocks of a page, in order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [Block(m[2], m[4], m[5], text.count("\n", 0, m.start()) + 1) for m in FENCE.finditer(text)]


def commands(text):
    """Triples of a console block: the command, the exit code stated, the output shown ('' where none is)."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, shown = re.match(r"((?:.*\\\n)*.*)\n((?s:.*))", part).groups()
        stated = re.search(r"# exit (\d)$", command)
        yield command, int(stated[1]) if stated else 0, shown


def settled(text):
    """Output without what varies."""
    for varying, word in VARYING:
        text = re.sub(varying, word, text)
    return text.strip()


def run_command(command, folder, cli):
    """Exit code and what is printed: dlsched alone in this process, all else in bash."""
    line = re.sub(r" +# exit \d$", "", command.replace("\\\n", " "))
    if line.startswith("dlsched ") and not set(line) & set("#$&*;<>?\\`|~"):
        ended = cli(*shlex.split(line)[1:])
        return ended.code, ended.out + ended.err
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8"
    )
    return done.returncode, done.stdout + done.stderr


def run_console(text, folder, where, cli):
    """Run the commands; compare exit codes, and the outputs that are shown (``...`` fits anything)."""
    for command, code, shown in commands(text):
        ended, printed = run_command(command, folder, cli)
        assert ended == code, f"{where}: {command}: {printed}"
        fits = doctest.OutputChecker().check_output(settled(shown), settled(printed), doctest.ELLIPSIS)
        assert not shown.strip() or fits, f"{where}: {command} shows\n{shown}\nbut prints\n{printed}"


def run_python(block, names, where):
    """Run a plain block, or the examples of one with prompts."""
    if ">>> " not in block.text:
        exec(compile("\n" * block.line + block.text, where, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.text, {}, where, where, block.line)
    test.globs = names  # shared, so that later blocks know what earlier ones defined
    said = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append, clear_globs=False)
    assert not said, "".join(said)


@pytest.mark.parametrize("page", [pytest.param(page, marks=pytest.mark.long) if page in LONG else page for page in RUN])
def test_commands_and_examples_of_the_page_run(page, tmp_path, monkeypatch, cli):
    """From top to bottom in one folder and one namespace, as a reader would type them; the output is the one shown."""
    monkeypatch.chdir(tmp_path)
    # no page prints the smallest instance that breaks a contract, and the search for it takes long
    monkeypatch.setattr("dlsched.testing.contract.settings", functools.partial(settings, phases=[Phase.generate]))
    monkeypatch.setattr("dlsched.cli.study_runs.EVERY_S", math.inf)  # a slow machine shows no line of progress more
    (tmp_path / "instances").symlink_to(ROOT / "instances")
    names = {"__name__": "__main__"}
    kinds = set()
    for block in blocks(page):
        where = f"docs/{page}, line {block.line}"
        kinds.add(block.language)
        if block.file is not None:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            run_console(block.text, tmp_path, where, cli)
        elif block.language == "python":
            run_python(block, names, where)
    assert kinds >= {"console", "python"}


def test_the_first_instance_of_the_quickstart_is_the_example():
    """The file that a reader saves first is the example of the library."""
    first = next(block for block in blocks("quickstart.md") if block.file == "two-jobs.json")
    data = dlsched.families.instance_from(json.loads(first.text), first.file)
    assert data == ring_allocation.example()


@pytest.mark.parametrize("family", FAMILIES)
def test_the_format_shown_is_one_that_is_read(family):
    """The instance of formats.md is valid, and its table names every field and no other."""
    page = (DOCS / "formats.md").read_text(encoding="utf-8")
    section = page.split(f"## Instances: `dlsched/{family}/1`\n")[1].split("\n## ")[0]
    shown = FENCE.search(section)[5]
    instance = dlsched.families.instance_from(json.loads(shown), "formats.md")
    named = set(re.findall(r"^\| `([\w\[\].]+)` \|", section, re.MULTILINE))
    lists = {name: value for name in type(instance).model_fields if isinstance(value := getattr(instance, name), tuple)}
    inner = {f"{name}[].{field}" for name, items in lists.items() for field in type(items[0]).model_fields}
    assert named == {"format", *type(instance).model_fields} | inner


def test_every_field_of_a_result_is_documented():
    """The table of formats.md names the fields of a result file, in their order."""
    section = (DOCS / "formats.md").read_text(encoding="utf-8").split("## Results")[1].split("`value` is")[0]
    named = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert named == list(dlsched.formulate(srpt_mapping.example()).solve().as_data())
    assert named[:-1] == list(srpt_mapping.solve(srpt_mapping.example()).as_data())
    assert [name for name in named[:-1] if name != "constant"] == list(
        ring_allocation.solve(ring_allocation.example()).as_data()
    )


def test_every_row_of_a_ring_certificate_is_documented():
    """Rows of certificates of one pool, all slots, columns and one slot fit the table of formats.md, and all of it is used."""
    page = (DOCS / "formats.md").read_text(encoding="utf-8")
    section = page.split("### Certificates of ring embedding\n")[1].split("\n## ")[0]
    named = re.findall(r"^\| `([\w<>]+)` \|", section, re.MULTILINE)
    folder = ROOT / "instances" / "ring_embedding"
    found = set()
    for name, method in (
        ("mixed-6x4x3-seed1", "aggregated"),
        ("mixed-6x4x3-seed1", "horizon"),
        ("servers-on-the-way", "columns"),
        ("thin-uplink", "columns"),
    ):
        certificate = dlsched.solve(dlsched.read(folder / f"{name}.json"), method=method).certificate
        found |= {(certificate.formulation, row) for row, price in certificate.rows.items() if price}
    rows = {row for _, row in found}
    patterns = {name: re.compile(re.sub(r"<\w+>", r"\\w+(\\.\\w+)?", name)) for name in named}
    assert not [row for row in rows if not any(pattern.fullmatch(row) for pattern in patterns.values())]
    assert not [name for name, pattern in patterns.items() if not any(map(pattern.fullmatch, rows))]
    assert {formulation for formulation, _ in found} == {"aggregated", "horizon", "columns", "slot"}
    assert all(f"`{formulation}`" in section for formulation, _ in found)


def test_errors_of_the_product_form_are_those_measured():
    """Rows of the page of async_sgd are rows of the benchmark: the analysis, and its errors of every kind."""
    results = (ROOT / "benchmarks" / "results" / "simulation.md").read_text(encoding="utf-8")
    headings = {"network": "### Bottleneck: network", "update": "### Bottleneck: update", "none": "### No bottleneck"}
    page = (DOCS / "async_sgd.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\| (network|update|none) \| (\d+) \| (.*) \|$", page, re.MULTILINE)
    assert len(shown) == 10
    for bottleneck, workers, cells in shown:
        section = results.split(headings[bottleneck])[1].split("\n#")[0]
        analysis, *measured = re.search(rf"^\| {workers} \| (.*) \|$", section, re.MULTILINE)[1].split(" | ")
        assert cells.split(" | ") == [analysis, *measured[1::2]]


def test_every_command_and_option_is_documented():
    """The table of formats.md names the commands of the program and their options."""
    section = (DOCS / "formats.md").read_text(encoding="utf-8").split("## Commands")[1].split("## Exit codes")[0]
    rows = re.findall(r"^\| `dlsched ([a-z]+(?: [a-z]+)?)[^`]*` \| (.*) \|$", section, re.MULTILINE)
    documented = {name: set(re.findall(r"`(--?[\w-]+)`", words)) for name, words in rows}
    assert documented == dict(options_of(typer.main.get_command(app)))


def options_of(group, before=""):
    """Pairs of a command, below its group's name, and its options; the short form where there is one."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from options_of(command, f"{before}{name} ")
        else:
            named = [min(each.opts, key=len) for each in command.params if each.opts[0].startswith("-")]
            yield before + name, set(named) - {"--help"}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_every_method_is_on_the_page_of_the_family(family):
    """The page names all methods that ``dlsched methods`` lists."""
    text = (DOCS / f"{family.name}.md").read_text(encoding="utf-8")
    missing = [name for name in family.methods if not re.search(rf"[`*#]+ ?{name}\b", text)]
    assert not missing


ADDED = {"docs/adding_a_family.md": ("dlsched/admission/", "dlsched/testing/admission.py", "tests/admission/")}
"""By page what is not there before a reader has added it."""
PAGES_WITH_PATHS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.glob("*.md")])


@pytest.mark.parametrize("page", PAGES_WITH_PATHS, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_exist(page):
    """What a page names as a file or folder of the source is there; a file's format, ``dlsched/NAME/1``, is no path."""
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`((?:dlsched|tests|docs|benchmarks|instances|models)/[\w./<>*-]*)`", text)
    paths = {
        path.replace("<family>", family)
        for path in named
        for family in FAMILIES
        if not re.fullmatch(r"dlsched/\w+/\d+", path) and not path.startswith("docs/_build/")
    }
    added = ADDED.get(str(page.relative_to(ROOT)), ())
    assert sorted(path for path in paths if path not in added and not any(ROOT.glob(path))) == []


def test_make_targets_are_documented():
    """Targets that CONTRIBUTING.md names exist in the Makefile."""
    makefile = ROOT / "Makefile"
    if not makefile.exists():
        pytest.skip("no Makefile here")
    named = re.findall(r"`make ([\w-]+)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    targets = re.findall(r"^([\w-]+):", makefile.read_text(encoding="utf-8"), re.MULTILINE)
    targets += [
        f"verify-{number}" for number in re.findall(r"^PIECE_(\d+) =", makefile.read_text(encoding="utf-8"), re.M)
    ]
    assert named and set(named) <= set(targets)
