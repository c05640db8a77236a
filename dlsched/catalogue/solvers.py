"""Every solver that dlsched calls, declared once: command line, completion, methods, studies and checks derive from here.

A record imports nothing of its solver. The code stands in ``dlsched.solvers.<name>``: ``version()``, and where it takes linear
models ``solve(model, limits, start, found, bounded)``.

==================  ==================================================================================
kind of model       what it is
==================  ==================================================================================
``milp``            linear, with integer and continuous variables
``integer milp``    linear, all variables bounded integers, all coefficients multiples of 2^-20
``minlp``           non-linear, with integer and continuous variables, in Pyomo
``intervals``       jobs with modes on cumulative resources, in whole times
``circuits``        Boolean variables, of which some are the arcs of circuits
``multipliers``     a linear program of which the multipliers are asked for
==================  ==================================================================================
"""

import importlib
import importlib.util
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["milp", "integer milp", "minlp", "intervals", "circuits", "multipliers"]

MODELLERS = {"milp": "pulp", "minlp": "pyomo"}
"""The Python package in which models of a kind are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solver:
    """One code base that proves optima.

    Attributes
    ----------
    name, full_name
        As on the command line, and as people write it; versions in results begin with the latter.
    package, extra
        The Python package that carries it, as imported and as pip has it; the extra of dlsched that installs it, if any.
    models
        The kinds of models it takes; see the module.
    program
        ``module:function`` with the path of a program that it runs, or None where the package has none; and what pip is to
        install then.
    takes_start, takes_threads, takes_seed
        Whether it uses them; of a solver that takes no seed the same call gives the same answer.
    tells_incumbents, tells_bounds
        Whether it reports better solutions, and better bounds, while it runs.
    node
        What a node limit counts, and what it reports.
    """

    name: str
    full_name: str
    package: str
    models: tuple[Kind, ...]
    extra: str | None = None
    program: tuple[str, str] | None = None
    takes_start: bool = False
    takes_threads: bool = True
    takes_seed: bool = False
    tells_incumbents: bool = False
    tells_bounds: bool = False
    node: str = "a node of the search tree"

    @property
    def code(self) -> str:
        """The module that calls it."""
        return f"dlsched.solvers.{self.name}"

    def said(self, text: str) -> bool:
        """Whether a result may name it so: by its name and what its version may be."""
        return re.fullmatch(rf"{re.escape(self.full_name)}\b[\w .()+-]*", text) is not None

    @property
    def kinds(self) -> tuple[str, ...]:
        """``milp``, ``minlp``: what is written in a modelling package for it."""
        linear = ("milp",) if {"milp", "integer milp"} & {*self.models} else ()
        return (*linear, "minlp") if "minlp" in self.models else linear

    @property
    def requirement(self) -> str:
        """What pip is to install."""
        return self.package if self.extra is None else f"'dlsched[{self.extra}]'"

    @property
    def available(self) -> bool:
        """Whether it can be called for one of its kinds at least."""
        return any(self.missing(kind) is None for kind in self.kinds)

    def missing(self, kind: str) -> str | None:
        """Return what to install for a kind of model: the solver's package, or the one the model is written in; or None."""
        for package, requirement in ((self.package, self.requirement), (MODELLERS[kind],) * 2):
            if importlib.util.find_spec(package) is None:
                return requirement
        if self.program is not None:
            target, requirement = self.program
            module, function = target.split(":")
            if getattr(importlib.import_module(module), function)() is None:
                return requirement
        return None

    @property
    def needs(self) -> str:
        """What to install."""
        return f"{self.full_name}: pip install {self.missing(self.kinds[0]) or self.requirement}"

    def version(self) -> str:
        """Name and version; imports the solver."""
        return str(importlib.import_module(self.code).version())


SOLVERS = {
    solver.name: solver
    for solver in (
        Solver(
            name="highs",
            full_name="HiGHS",
            package="scipy",
            models=("milp", "integer milp", "multipliers"),
            takes_threads=False,  # SciPy hands none over
        ),
        Solver(
            name="cbc",
            full_name="CBC",
            package="pulp",
            models=("milp", "integer milp"),
            program=("dlsched.solvers.cbc:program", "'pulp<4'"),  # the last to carry it
            takes_start=True,
        ),
        Solver(
            name="scip",
            full_name="SCIP",
            package="pyscipopt",
            models=("milp", "integer milp", "minlp"),
            takes_start=True,
            tells_incumbents=True,
            tells_bounds=True,
        ),
        Solver(
            name="cpsat",
            full_name="CP-SAT",
            package="ortools",
            models=("integer milp", "intervals", "circuits"),
            takes_start=True,
            tells_incumbents=True,
            tells_bounds=True,
            node="a conflict; of linear models it reports branches, which are charged to a budget of nodes",
        ),
        Solver(
            name="gurobi",
            full_name="Gurobi",
            package="gurobipy",
            models=("milp", "integer milp"),
            extra="gurobi",
            takes_start=True,
            tells_incumbents=True,
            tells_bounds=True,
        ),
    )
}
"""By name, in the order of lists; of those that can serve a method the first is its default."""


def able(kind: Kind) -> tuple[str, ...]:
    """Return the names of the solvers that take a kind of model, the default first."""
    return tuple(name for name, solver in SOLVERS.items() if kind in solver.models)


def either(words: Iterable[str]) -> str:
    """Return words as a sentence lists them: ``a``, ``a or b``, ``a, b or c``."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
