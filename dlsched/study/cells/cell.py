"""Cells, each a method on an instance, and their keys: hashes of all that decides an outcome."""

import functools
import hashlib
import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version

from dlsched.catalogue.solvers import SOLVERS
from dlsched.core.files import canonical_sha256
from dlsched.families import FAMILIES
from dlsched.own_methods import PICKLED
from dlsched.study.plans.plan import CellLimits, Plan, PlannedMethod
from dlsched.study.recipes.recipe import Recipe

_BROUGHT = ("numpy", "scipy", "networkx", "pulp", "ortools", "pyscipopt", "pyomo", "scikit-learn", "numba")
DECIDING = tuple(dict.fromkeys((*_BROUGHT, *(solver.package for solver in SOLVERS.values()))))
"""Packages whose versions may change an answer."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A method on an instance, within limits.

    Parameters
    ----------
    key
        SHA-256 of instance, method, seed, limits and versions.
    recipe, method, seed, limits
        How the instance is made, the method, and with which seed and limits it runs.
    """

    key: str
    recipe: Recipe
    method: PlannedMethod
    seed: int
    limits: CellLimits


@functools.cache
def versions() -> dict[str, str]:
    """Versions by name: Python, dlsched, and the installed packages that dlsched computes with."""
    found = {"python": platform.python_version()}
    for name in ("dlsched", *DECIDING):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def runs_on(method: PlannedMethod, family: str) -> bool:
    """Whether a plan's method runs on the instances of a family."""
    return method.family in (None, family)


def cells_of(plan: Plan, recipes: Iterable[Recipe]) -> Iterator[Cell]:
    """Yield all cells of a plan, instance by instance, each with every method in the order of the plan.

    Two cells have the same key if they are the same work under two labels, or on two files with the same
    content.
    """
    limits = _hash_of_limits(plan.limits, tuple(versions().items()))
    hashes: dict[tuple[int, str], str] = {}
    for recipe in recipes:
        instance = recipe.content_hash()
        for index, method in enumerate(plan.methods):
            if runs_on(method, recipe.family):
                seed = plan.seed if method.seed is None else method.seed
                if (index, recipe.family) not in hashes:
                    hashes[index, recipe.family] = _hash_of_method(method, recipe.family, seed)
                key = _joined(instance, hashes[index, recipe.family], limits)
                yield Cell(key, recipe, method, seed, plan.limits)


def key_of(
    recipe: Recipe, method: PlannedMethod, seed: int, limits: CellLimits, ran_with: Mapping[str, str] | None = None
) -> str:
    """Hash all that decides the outcome of a cell; labels, and names and paths of files, are left out.

    ``ran_with``: the versions by name; None: those of this process.
    """
    told = _hash_of_limits(limits, tuple(sorted((versions() if ran_with is None else ran_with).items())))
    return _joined(recipe.content_hash(), _hash_of_method(method, recipe.family, seed), told)


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
        what = [name] if home.endswith(".py") or home.startswith(PICKLED) else [home, name]
    return canonical_sha256(
        {
            "method": [method.kind, what, method.solver, dict(method.parameters), method.fingerprint],
            "seed": seed if seeded else None,
        }
    )


@functools.lru_cache(maxsize=64)
def _hash_of_limits(limits: CellLimits, ran_with: tuple[tuple[str, str], ...]) -> str:
    return canonical_sha256({"limits": asdict(limits), "versions": dict(ran_with)})
