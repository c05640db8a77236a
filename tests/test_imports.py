"""Who may import whom, read from the sources; and what importing dlsched loads, seen in fresh processes."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import dlsched
from dlsched import FAMILIES

PACKAGE = Path(dlsched.__file__).parent
ROOMS = ("certificates", "results", "solvers", "algorithms", "cluster")
ABOVE = ("columns",)  # on solvers and algorithms, below the families
TOP = ("traces", "plots", "testing")
ALLOWED_ACROSS = {("ring_allocation", "elastic_stream"), ("async_sgd", "elastic_stream")}


def modules():
    """Every module of the package: dotted name without ``dlsched.``, and the dlsched modules it imports."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = (imported(path), path)
    return found


def imported(path):
    """Dotted names below ``dlsched`` that a file imports anywhere, imports for type checking only left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(node)
        for branch in ast.walk(tree)
        if isinstance(branch, ast.If) and isinstance(branch.test, ast.Name) and branch.test.id == "TYPE_CHECKING"
        for node in ast.walk(branch)
    }
    names = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            for alias in node.names:
                names.add(f"{node.module}.{alias.name}")
    return {name.removeprefix("dlsched.") for name in names if name.startswith("dlsched.")}


MODULES = modules()
FAMILY_NAMES = tuple(FAMILIES)


def room(name):
    """First part of a dotted name."""
    return name.split(".")[0]


def level(name):
    """Place in core <- rooms <- families <- families.py <- traces, plots, testing <- cli; version and names stand below all."""
    part = room(name)
    if part in ("version", "names"):
        return -1
    if part == "core":
        return 0
    if part in (*ROOMS, *ABOVE):
        return 1
    if part in FAMILY_NAMES:
        return 2
    if part == "families":
        return 3
    if part in TOP:
        return 5
    if part == "cli" or part == "__main__":
        return 6
    return 4  # the package's own names


@pytest.mark.parametrize("name", MODULES)
def test_arrows_point_downwards(name):
    """No module imports one of a higher level."""
    for other in MODULES[name][0]:
        assert level(other) <= level(name), f"{name} imports {other}"


@pytest.mark.parametrize("name", [name for name in MODULES if room(name) == "core"])
def test_core_imports_nothing_else(name):
    """The vocabulary stands alone."""
    assert {room(other) for other in MODULES[name][0]} <= {"core"}


@pytest.mark.parametrize("name", [name for name in MODULES if room(name) in ROOMS])
def test_rooms_know_no_family_and_algorithms_no_solver(name):
    """They import core, certificates and themselves; certificates core alone, algorithms never a solver."""
    allowed = {"core", "certificates", room(name)}
    assert {room(other) for other in MODULES[name][0]} <= allowed


@pytest.mark.parametrize("name", [name for name in MODULES if room(name) in FAMILY_NAMES])
def test_no_family_imports_another(name):
    """Save the two that can hand a stream to elastic_stream."""
    for other in MODULES[name][0]:
        pair = room(name), room(other)
        assert room(other) not in FAMILY_NAMES or pair[0] == pair[1] or pair in ALLOWED_ACROSS, (
            f"{name} imports {other}"
        )


def reached(name):
    """Everything that importing a module of the package imports of the package, directly or not."""
    seen, todo = set(), [name]
    while todo:
        for other in MODULES[todo.pop()][0]:
            module = other if other in MODULES else other.rpartition(".")[0]
            if module in MODULES and module not in seen:
                seen.add(module)
                todo.append(module)
    return seen


@pytest.mark.parametrize("family", FAMILIES)
def test_the_checker_is_independent(family):
    """What a solution means must not depend on what finds it: no solver, formulation, heuristic, bound or algorithm."""
    clever = ("solvers", "algorithms")
    rooms = ("formulations", "heuristics", "bounds", "methods", "costs", "certificate", "guarantees", "generator")
    for other in reached(f"{family}.checker"):
        parts = other.split(".")
        assert parts[0] not in clever, other
        assert len(parts) < 2 or parts[0] != family or parts[1] not in rooms, other


@pytest.mark.parametrize("family", FAMILIES)
def test_rooms_of_a_family_are_in_order(family):
    """They import in this order: instance <- solution <- checker <- formulations <- {bounds, heuristics} <- methods."""
    order = ["instance", "solution", "checker", "formulations", "bounds", "methods"]
    same = {"heuristics": "bounds"}
    for name, (others, _) in MODULES.items():
        parts = name.split(".")
        mine = same.get(parts[-1] if len(parts) < 2 else parts[1], parts[1] if len(parts) > 1 else "")
        if parts[0] != family or mine not in order:
            continue
        for other in others:
            pieces = other.split(".")
            if pieces[0] == family and len(pieces) > 1:
                theirs = same.get(pieces[1], pieces[1])
                assert theirs not in order or order.index(theirs) <= order.index(mine), f"{name} imports {other}"


def run(code):
    """Standard output of a fresh interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


HEAVY = (
    "pulp",
    "ortools",
    "pyomo",
    "pyscipopt",
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


def test_importing_dlsched_loads_no_solver():
    """``import dlsched`` is light: solvers and extras are imported when they are used."""
    assert run(f"import dlsched, sys; print([name for name in {HEAVY!r} if name in sys.modules])") == "[]"


def test_solving_exactly_loads_no_solver():
    """Our own exact method needs none either."""
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
        "print(loaded, len(dlsched.FAMILIES))"
    )
    assert run(code) == "['dlsched.version'] 6"


def test_importing_dlsched_is_silent_and_logs_nothing():
    """Nothing on standard output, no handler installed, no child process started."""
    code = (
        "import logging; before = list(logging.getLogger().handlers)\n"
        "import dlsched\n"
        "from dlsched.solvers import child\n"
        "print(before == logging.getLogger().handlers, child._local.child)"
    )
    assert run(code) == "True None"


@pytest.mark.parametrize("first", ["highs", "cbc", "scip", "cpsat"])
def test_solvers_live_in_one_process_in_any_order(first):
    """Whichever is used first, all four solve in one process, and highspy is not among the modules."""
    code = (
        "import sys, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "from dlsched.ring_allocation import example\n"
        "from dlsched.ring_allocation.formulations.milp import build_milp\n"
        "from dlsched.solvers.milp import solve_milp\n"
        "from dlsched.solvers.minlp import solve_minlp\n"
        "from dlsched.ring_allocation.formulations.minlp import build_minlp\n"
        f"order = sorted(('highs', 'cbc', 'scip', 'cpsat'), key=lambda name: name != {first!r})\n"
        "found = {round(solve_milp(build_milp(example())[0], solver=name, isolated=False).objective, 3) for name in order}\n"
        "minlp = solve_minlp(build_minlp(example())[0], isolated=False)\n"
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
    from dlsched.solvers import availability, cbc

    assert Path(cbc.program()).is_file()
    assert availability.SOLVERS["cbc"].available
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
