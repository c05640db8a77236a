"""Who may import whom, read from the sources; and what importing dlsched loads, seen in fresh processes."""

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest
from conftest import tree_of

import dlsched
from dlsched import FAMILIES
from dlsched.catalogue.solvers import SOLVERS

PACKAGE = Path(dlsched.__file__).parent
LEVELS: tuple[set[str], ...] = (
    {"version", "catalogue"},
    {"core"},
    {"certificates", "processes", "statistics"},
    {"solvers", "algorithms", "cluster", "queueing", "results", "plots"},
    {"allocation", "columns"},
    set(FAMILIES),
    {"", "afar", "families", "own_methods", "solving", "listing"},
    {"traces", "worst", "proofs"},
    {"modelling", "study", "advice", "testing"},
    {"evaluation", "reproduce", "comparison", "scoring"},
    {"cli"},
    {"__main__"},
)
"""A room imports those of lower levels, and itself. On a level of several only the package's own modules know each other."""
ACROSS = {("async_sgd.streams", "elastic_stream")}
"""What a module of a family may import of another family."""
SHORT = ("cpsat",)
"""The solver that comes first in every run; the others in the campaigns."""
PLAIN = {"instance", "servers", "solution", "objectives", "arrays"}
"""Modules of a family that its checker may reach: the data and plain arithmetic, no search, bound, model or draw."""


def name_of(path: Path) -> str:
    """Dotted name of a file; that of a package is its folder's."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
"""Every module of the package, as a dotted name without ``dlsched.``; each is read when a test asks for it."""
OF_FAMILIES = [name for name in PATHS if name.split(".")[0] in FAMILIES]


@functools.cache
def others_of(name: str, *, types: bool = False) -> frozenset[str]:
    """Modules of the package that one of them imports; ``types``: also those that it imports for type checking only."""
    return frozenset(home(each) for each in imported(PATHS[name], types=types))


def home(name: str) -> str:
    """The module in which a name stands that is imported."""
    while name and name not in PATHS:
        name = name.rpartition(".")[0]
    return name


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what can hold an import, and the imports: statements at any depth, no expressions."""
    yield tree
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(tree, field, ()):
            yield from statements(inner)


def imported(path: Path, *, types: bool = False) -> set[str]:
    """Dotted names below ``dlsched`` that a file imports anywhere; ``types``: also those for type checking only."""
    nodes = [node for node in statements(tree_of(path)) if isinstance(node, ast.If | ast.Import | ast.ImportFrom)]
    typing_only = {
        id(node)
        for branch in nodes
        if isinstance(branch, ast.If) and isinstance(branch.test, ast.Name) and branch.test.id == "TYPE_CHECKING"
        for node in statements(branch)
    }
    names = set()
    for node in nodes:
        if id(node) in typing_only and not types:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("dlsched.") for name in names if name.startswith("dlsched.")}


def room(name: str) -> str:
    """First part of a dotted name."""
    return name.split(".")[0]


def level(name: str) -> int:
    """Place of a module's room among the levels."""
    found = [number for number, rooms in enumerate(LEVELS) if room(name) in rooms]
    assert found, f"{name} stands in no room of LEVELS"
    return found[0]


@pytest.mark.parametrize("name", PATHS)
def test_arrows_point_downwards(name: str) -> None:
    """No module imports one of a higher level, nor of another room of its own."""
    for other in others_of(name):
        assert level(other) <= level(name), f"{name} imports {other}"
        beside = level(other) == level(name) and room(other) != room(name)
        assert not beside or name in OF_FAMILIES or level(name) == level("families"), f"{name} imports {other}"


def test_the_page_on_families_draws_the_same_arrows() -> None:
    """What docs/adding_a_family.md says of who may import whom: every room, on its level."""
    page = (Path(__file__).parents[1] / "docs" / "adding_a_family.md").read_text(encoding="utf-8")
    picture = page.split("```text\n", 1)[1].split("\n\n", 1)[0]
    named = picture.replace("the families <-", f"{' '.join(FAMILIES)} <-").replace("families.py", "families")
    levels = [set(re.findall(r"\w+", part)) for part in named.split("<-")]
    silent = {"version", "", "afar", "own_methods", "solving", "listing", "__main__"}
    assert levels == [rooms - silent for rooms in LEVELS if rooms - silent]


@pytest.mark.parametrize("name", FAMILIES)
def test_what_a_family_makes_public_is_there(name: str) -> None:
    """Every name of its ``__all__``."""
    package = getattr(dlsched, name)
    assert [public for public in package.__all__ if not hasattr(package, public)] == []


@pytest.mark.parametrize("name", OF_FAMILIES)
def test_no_family_imports_another(name: str) -> None:
    """Save the streams of async_sgd, which are those of elastic_stream."""
    for other in others_of(name):
        strange = room(other) in FAMILIES and room(other) != room(name)
        assert not strange or (name, room(other)) in ACROSS, f"{name} imports {other}"


@pytest.mark.parametrize(("depth", "what"), [(1, "rooms"), (2, "folders of rooms"), (9, "modules")])
def test_there_are_no_circles(depth: int, what: str) -> None:
    """Neither between rooms, nor between the modules and folders directly in one, nor between modules."""

    def within(name: str) -> str:
        return ".".join(name.split(".")[:depth])

    graph: nx.DiGraph[str] = nx.DiGraph()
    for name in PATHS:
        arrows = ((within(name), within(other)) for other in others_of(name))
        graph.add_edges_from(arrow for arrow in arrows if arrow[0] != arrow[1])
    circles = [sorted(circle) for circle in nx.strongly_connected_components(graph) if len(circle) > 1]
    assert not circles, f"circles between {what}: {circles}"


def test_no_modules_import_each_other_for_types_either() -> None:
    """Save the package itself, which imports what is asked of it when it is asked."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name in PATHS:
        others = others_of(name, types=True)
        graph.add_edges_from((name, other) for other in others if name and other and name != other)
    assert [sorted(circle) for circle in nx.strongly_connected_components(graph) if len(circle) > 1] == []


def reached(name: str, *, types: bool = False) -> set[str]:
    """Everything that importing a module of the package imports of the package, directly or not; ``types``: as above."""
    seen: set[str] = set()
    todo = [name]
    while todo:
        new = others_of(todo.pop(), types=types) - seen
        seen |= new
        todo += new
    return seen


@pytest.mark.parametrize("family", FAMILIES)
def test_the_checker_is_independent(family: str) -> None:
    """What a solution means must not depend on what finds it: core, the laws of cluster and queueing, counting, no more."""
    for other in reached(f"{family}.checker"):
        law = room(other) in ("core", "cluster", "queueing") or other == "allocation.counts"
        plain = room(other) == family and other.removeprefix(f"{family}.") in PLAIN
        assert law or plain, f"the checker of {family} reaches {other}"


@pytest.mark.parametrize(("mine", "theirs"), [("checker", "prover"), ("prover", "checker")])
def test_checker_and_prover_of_proofs_share_nothing(mine: str, theirs: str) -> None:
    """Neither reaches the other, nor what brings the two together, however far one goes, for types either."""
    inside = [name for name in PATHS if f"{name}.".startswith(f"proofs.{mine}.")]
    assert len(inside) > 2
    for name in inside:
        found = reached(name, types=True)
        assert not {other for other in found if f"{other}.".startswith(f"proofs.{theirs}.")}, name
        assert all(f"{other}.".startswith(f"proofs.{mine}.") for other in found if room(other) == "proofs"), name
    assert others_of("proofs", types=True) == set()
    loaded = f"[name for name in sys.modules if name.startswith('dlsched.proofs.{theirs}')]"
    assert run(f"import sys, {', '.join(f'dlsched.{name}' for name in inside)}; print({loaded})") == "[]"


@pytest.mark.parametrize("family", FAMILIES)
def test_rooms_of_a_family_are_in_order(family: str) -> None:
    """They import in this order: instance <- solution <- checker <- formulations <- {bounds, heuristics} <- methods."""
    order = {"instance": 0, "solution": 1, "checker": 2, "formulations": 3, "bounds": 4, "heuristics": 4, "methods": 5}
    for name in OF_FAMILIES:
        mine = f"{name}.".split(".")[1]
        if room(name) != family or mine not in order:
            continue
        for other in others_of(name):
            theirs = f"{other}.".split(".")[1]
            later = room(other) == family and theirs in order and order[theirs] > order[mine]
            assert not later, f"{name} imports {other}"


def test_the_catalogue_stands_below_all() -> None:
    """What a shell completes comes from it, so it imports nothing else of dlsched, and nothing heavy."""
    for name in PATHS:
        if room(name) == "catalogue":
            assert {room(other) for other in others_of(name)} <= {"catalogue"}, name
    loads = f"print([name for name in {(*HEAVY, 'numpy', 'pydantic')!r} if name in sys.modules])"
    assert (
        run(
            f"import dlsched.catalogue.solvers, dlsched.catalogue.sources, dlsched.catalogue.ring_embedding, sys; {loads}"
        )
        == "[]"
    )


def run(code: str) -> str:
    """Standard output of a fresh interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


HEAVY = (
    "pulp",
    "ortools",
    "pyomo",
    "pyscipopt",
    "gurobipy",
    "highspy",
    "networkx",
    "scipy.optimize",
    "hypothesis",
    "matplotlib",
    "pandas",
    "rich",
    "typer",
    "sklearn",
    "numba",
)


def test_solving_exactly_loads_no_solver():
    """``import dlsched`` is light, and dlsched's own exact methods need neither solvers nor extras."""
    code = "import dlsched, sys; dlsched.solve(dlsched.ring_allocation.example())"
    assert run(f"{code}; print([name for name in {HEAVY!r} if name in sys.modules])") == "[]"


def test_everything_is_there_though_nothing_is_loaded():
    """Names are imported when they are asked for; ``dir`` tells of them, and a wrong one is an AttributeError."""
    code = (
        "import dlsched, sys\n"
        "loaded = [name for name in sys.modules if name.startswith('dlsched.')]\n"
        "assert set(dlsched.__all__) <= set(dir(dlsched))\n"
        "assert all(getattr(dlsched, name) is not None for name in dlsched.__all__)\n"
        "from dlsched import ring_allocation\n"
        "assert dlsched.FAMILIES['ring_allocation'] is ring_allocation.FAMILY\n"
        "assert 'nosuch' not in dlsched.FAMILIES and not hasattr(dlsched, 'nosuch')\n"
        "print(loaded)"
    )
    assert run(code) == "['dlsched.version']"


def test_importing_dlsched_is_silent_and_logs_nothing():
    """Nothing on standard output, no handler installed, no child process started."""
    code = (
        "import logging; before = list(logging.getLogger().handlers)\n"
        "import dlsched\n"
        "from dlsched.solvers import child\n"
        "print(before == logging.getLogger().handlers, not child._local.children)"
    )
    assert run(code) == "True True"


@pytest.mark.parametrize(
    "first", [name if name in SHORT else pytest.param(name, marks=pytest.mark.long) for name in SOLVERS]
)
def test_solvers_live_in_one_process_in_any_order(first):
    """Whichever is used first, all of them solve in one process, and highspy is not among the modules."""
    code = (
        "import sys, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "from dlsched.ring_allocation import example\n"
        "from dlsched.ring_allocation.formulations import build_milp\n"
        "from dlsched.solvers.milp import solve_milp\n"
        "from dlsched.solvers.minlp import solve_minlp\n"
        "from dlsched.ring_allocation.formulations import build_minlp\n"
        f"order = sorted({tuple(SOLVERS)!r}, key=lambda name: name != {first!r})\n"
        "found = {round(solve_milp(build_milp(example()).model, solver=name, isolated=False).objective, 3) for name in order}\n"
        "minlp = solve_minlp(build_minlp(example()).model, isolated=False)\n"
        "print(len(found), str(minlp.status), 'highspy' in sys.modules)"
    )
    assert run(code) == "1 optimal False"


@pytest.mark.parametrize("order", [("pulp", "ortools.sat.python.cp_model"), ("ortools.sat.python.cp_model", "pulp")])
def test_pulp_and_ortools_in_both_orders(order):
    """Import clashes between the two would show here."""
    code = f"import warnings; warnings.simplefilter('ignore'); import {order[0]}; import {order[1]}; import sys"
    assert run(f"{code}; print('highspy' in sys.modules)") == "False"


def test_cbc_is_found():
    """The program that PuLP carries is there and says its version."""
    from dlsched.solvers import cbc

    assert Path(cbc.program()).is_file()
    assert SOLVERS["cbc"].available
    assert cbc.version().startswith("CBC 2.")


def test_testing_without_hypothesis_says_what_to_install():
    """A readable ImportError, not a traceback through a missing module."""
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "try:\n"
        "    import dlsched.testing\n"
        "except ImportError as error:\n"
        "    print(error)"
    )
    assert run(code) == "dlsched.testing needs Hypothesis: pip install 'dlsched[testing]'"
