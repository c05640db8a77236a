"""Cells, each a method on an instance, their keys (hashes of all that decides an outcome), and their outcomes."""

import contextlib
import functools
import hashlib
import json
import math
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from dlsched.catalogue import families as listed
from dlsched.catalogue.solvers import SOLVERS
from dlsched.core.errors import DlschedError
from dlsched.core.family import AnyFamily
from dlsched.core.files import Json, canonical_sha256
from dlsched.core.instance import InstanceFile
from dlsched.families import FAMILIES, objective_name
from dlsched.own_methods import PICKLED
from dlsched.study.plans.plan import CellLimits, Plan, PlannedMethod
from dlsched.study.recipes import Recipe

_BROUGHT = ("numpy", "scipy", "networkx", "pulp", "ortools", "pyscipopt", "pyomo", "scikit-learn", "numba")
DECIDING = tuple(dict.fromkeys((*_BROUGHT, *(solver.package for solver in SOLVERS.values()))))
"""Packages whose versions may change an answer."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A method on an instance, within limits; ``key`` is the SHA-256 of instance, method, seed, limits and versions."""

    key: str
    recipe: Recipe
    method: PlannedMethod
    seed: int
    limits: CellLimits


@functools.cache
def versions() -> dict[str, str]:
    """Versions by name: Python, dlsched, the installed packages that dlsched computes with, and those of further families."""
    installed = {"python": platform.python_version()}
    for name in ("dlsched", *DECIDING):
        with contextlib.suppress(PackageNotFoundError):
            installed[name] = version(name)
    packages = {name: ", ".join(package for package, _ in each) for name, each in listed.installed().items()}
    return installed | {
        f"{_OF_FAMILY}{name}": package for name, package in packages.items() if name not in listed.FAMILIES
    }


_OF_FAMILY = "family "


def versions_for(family: str, ran_with: Mapping[str, str]) -> dict[str, str]:
    """Return the versions that decide what cells of a family find: without the packages of other families."""
    return {
        name: each
        for name, each in ran_with.items()
        if not name.startswith(_OF_FAMILY) or name == f"{_OF_FAMILY}{family}"
    }


def cells_of(plan: Plan, recipes: Iterable[Recipe]) -> Iterator[Cell]:
    """Yield all cells of a plan, instance by instance; the same work under two labels or in two files has one key."""
    installed = versions()
    limits: dict[str, str] = {}
    hashes: dict[tuple[int, str], str] = {}
    # Hashes of methods and limits are computed once: a plan may have a million cells.
    for recipe in recipes:
        instance = recipe.content_hash()
        if recipe.family not in limits:
            limits[recipe.family] = _hash_of_conditions(plan.limits, recipe.family, installed)
        for index, method in enumerate(plan.methods):
            if method.runs_on(recipe.family):
                seed = plan.seed if method.seed is None else method.seed
                if (index, recipe.family) not in hashes:
                    hashes[index, recipe.family] = _hash_of_method(method, recipe.family, seed)
                key = _joined(instance, hashes[index, recipe.family], limits[recipe.family])
                yield Cell(key, recipe, method, seed, plan.limits)


def key_of(
    recipe: Recipe, method: PlannedMethod, seed: int, limits: CellLimits, ran_with: Mapping[str, str] | None = None
) -> str:
    """Hash all that decides the outcome of a cell, without labels and places; ``ran_with``: versions (None: this process's)."""
    conditions = _hash_of_conditions(limits, recipe.family, versions() if ran_with is None else ran_with)
    return _joined(recipe.content_hash(), _hash_of_method(method, recipe.family, seed), conditions)


def _joined(*hashes: str) -> str:
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


def _hash_of_method(method: PlannedMethod, family: str, seed: int) -> str:
    """Hash a method: for user code the hash of the code replaces its path, and aliases count as one name."""
    what: list[str] = []
    seeded = method.kind == "python"
    if method.kind == "name":
        record = FAMILIES[family].method(str(method.what))
        what, seeded = [record.name], record.seeded
    elif method.kind == "python":
        home, name = tuple(method.what)
        # The fingerprint stands for the code of a file or a session; a module keeps its name, as it may be anywhere.
        what = [name] if home.endswith(".py") or home.startswith(PICKLED) else [home, name]
    return canonical_sha256(
        {
            "method": [method.kind, what, method.solver, dict(method.parameters), method.fingerprint],
            "seed": seed if seeded else None,
        }
    )


def _hash_of_conditions(limits: CellLimits, family: str, ran_with: Mapping[str, str]) -> str:
    return _hash_of_limits(limits, tuple(sorted(versions_for(family, ran_with).items())))


@functools.lru_cache(maxsize=64)
def _hash_of_limits(limits: CellLimits, ran_with: tuple[tuple[str, str], ...]) -> str:
    return canonical_sha256({"limits": asdict(limits), "versions": dict(ran_with)})


READY = b"ready"
"""First frame of a process: it is ready for work."""

BEGUN = "begun"
"""Status of a cell whose method begins now, and with it the cell's time; never in a row."""

MAKING = "making"
"""Status of a cell whose time begins anew, before its method; it may carry the facts of the instance; never in a row."""

FOUND = "found"
"""Status of a search, whose ``solution`` is the instance that it found; never in a row."""

CHECKED = "checked"
"""Status of rows that were recomputed; ``solution`` holds the verifications; never in a row."""

VERIFIED = "verified"
"""Figure of a row whose method asks for proofs: 1.0 where the proof shows that the answer is optimal, or that there is none."""

RETRIED = {"error": ("error", "solver_error")}
"""Statuses that a word of ``--retry`` stands for; other words stand for themselves."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about an instance, known once it is made, and its objectives' part that no decision changes (``constant``)."""

    name: str
    sha256: str
    jobs: int | None
    gpus: int | None
    constant: float
    known_optimum: float | None
    known_bound: float | None
    sense: str = ""
    objective_name: str = ""


def facts_of(family: AnyFamily, instance: InstanceFile) -> Facts:
    """Return the facts about an instance of a family."""
    known, jobs = instance.known, getattr(instance, "jobs", None)
    return Facts(
        instance.name,
        instance.sha256,
        None if jobs is None else len(jobs),
        family.gpus(instance),
        family.constant(instance),
        None if known is None else known.optimum,
        None if known is None else known.bound(family.sense_for(instance)),
        str(family.sense_for(instance)),
        objective_name(instance),
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of the cell with this key, as in its row; ``solution`` to ``solver`` are as in result files.

    The solution of a method is the text of its JSON, which may be large, and goes into a store as it is.
    ``facts`` is None if the instance was not made, or the same process has sent them before.
    """

    key: str
    status: str
    message: str = ""
    objective: float | None = None
    bound: float | None = None
    time_s: float | None = None
    cpu_s: float | None = None
    memory_mib: float | None = None
    figures: dict[str, float] = field(default_factory=dict)
    solution: Any = None  # JSON or, of a method, its text
    certificate: Json = None
    bound_source: str | None = None
    solver: str | None = None
    facts: Facts | None = None

    @property
    def failed(self) -> bool:
        """Whether it has neither an answer, nor a bound, nor a proof of infeasibility."""
        return self.objective is None and self.bound is None and self.status not in ("infeasible", FOUND)

    def as_bytes(self) -> bytes:
        """Return it as JSON; a solution that is text follows on a line of its own."""
        data = {name: getattr(self, name) for name in self.__slots__}
        text = b""
        if isinstance(self.solution, bytes):
            data["solution"], text = None, b"\n" + self.solution
        if self.facts is not None:
            data["facts"] = {name: getattr(self.facts, name) for name in self.facts.__slots__}
        return json.dumps(data, allow_nan=False, separators=(",", ":")).encode() + text


class CellEnded(DlschedError):  # noqa: N818  says how, which need not be an error of anyone's
    """Raised when a cell ends without an answer: holds its status, and a message for its row."""

    def __init__(self, status: str, words: str) -> None:
        super().__init__(words)
        self.status = status


def outcome_from(raw: bytes) -> Outcome:
    """Read what ``as_bytes`` wrote; ``ValueError``: the bytes hold no outcome."""
    try:
        head, line, text = raw.partition(b"\n")
        data: Any = json.loads(head)
        facts = data.pop("facts")
        data |= {"solution": text} if line else {}
        outcome = Outcome(**data, facts=None if facts is None else Facts(**facts))
    except (KeyError, TypeError, AttributeError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(f"no outcome of a cell: {error}") from None
    # Whatever a process writes must not reach the store: numbers are finite, words are text.
    numbers = (outcome.objective, outcome.bound, outcome.time_s, outcome.cpu_s, outcome.memory_mib)
    if not all(value is None or (isinstance(value, int | float) and math.isfinite(value)) for value in numbers):
        raise ValueError("no outcome of a cell: numbers that are not finite")
    words = (outcome.key, outcome.status, outcome.message, outcome.bound_source or "", outcome.solver or "")
    if not all(isinstance(value, str) for value in words):
        raise ValueError("no outcome of a cell: words that are not text")
    return outcome
