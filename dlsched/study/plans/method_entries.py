"""Entries ``[[methods]]`` of a plan, and the code of users that a plan names: its import and its fingerprint."""

import ast
import hashlib
import inspect
import io
import os
import shutil
import sys
from collections import ChainMap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from types import CodeType
from typing import Annotated, ClassVar, TypeAlias, TypeGuard

from pydantic import Field

from dlsched.core.arguments import kind_of
from dlsched.core.errors import UsageError
from dlsched.core.family import AnyMethod
from dlsched.core.files import Json
from dlsched.core.imports import needing
from dlsched.core.instance import Name
from dlsched.core.messages import Refused, shown
from dlsched.families import FAMILIES
from dlsched.own_methods import HANDED, NEED_OF_CLOUDPICKLE, PICKLED, import_of_user, require_parameters
from dlsched.study.plans.plan import (
    FieldType,
    Parameter,
    PlannedMethod,
    Seed,
    Table,
    Validated,
    grid_of,
    one_of,
    places,
    read_table,
)

KINDS = ("heuristic", "exact", "bound")
OF_FUNCTIONS = '"path.py:function" or "package.module:function"'
"""What messages allow where a function is named."""
Code: TypeAlias = Collection[str] | None
"""Whether a plan's code may run while the plan is read: None: none of it; else its files and modules, and these pickled texts."""


def read_method(entry: object, families: Sequence[str], folder: Path, code: Code) -> list[PlannedMethod]:
    """Read an entry: return its methods, one for each of a list, or all of a kind; ``code``: as `imported` takes it."""
    if not isinstance(entry, Mapping):
        raise Refused(shown(entry), "a table of keys and values")
    sorts = [sort for sort in ("python", "command", "kind") if sort in entry]
    if len(sorts) > 1 or not (sorts or "name" in entry):
        found = " and ".join(sorts) or "none of name, python, command, kind"
        raise Refused(found, "exactly one of them, and name with python and command as their label")
    key = sorts[0] if sorts else "name"
    asked = read_table(entry, _fields(key, entry, families))
    if key == "command":
        return [_command(asked, folder)]
    for label in ("label", "name"):
        if len(asked[key]) > 1 and label in asked and label != key:
            raise Refused(shown(asked[label]), f"none for several of {key}", label)
    families = [asked["family"]] if "family" in asked else families
    planned = list[PlannedMethod]()
    for place, value in zip(places(entry, key), asked[key], strict=True):
        try:
            if key == "kind":
                planned += _of_kind(value, families, "family" in asked)
            else:
                planned.append(
                    _python(asked, value, folder, code) if key == "python" else _named(asked, value, families)
                )
        except Refused as error:  # what is wrong with one of several values stands at its index
            raise Refused(error.found, error.allowed, *(place if error.where == (key,) else error.where)) from None
    return planned


def _fields(key: str, entry: Table, families: Sequence[str]) -> dict[str, FieldType]:
    """Types of the fields of an entry with this key."""
    family = one_of(families)
    if key == "kind":
        return {"kind": grid_of(one_of(KINDS)), "family": family}
    if key == "command":
        return {"command": Annotated[list[Name], Field(min_length=1)], "name": Name, "label": Name, "family": family}
    if key == "name":
        own = {"solver": Name, "seed": Seed, "proof": bool}
        return {"name": grid_of(str), "label": Name, "family": family, **own}
    own = {"python": grid_of(str), "name": Name, "label": Name, "family": family, "seed": Seed}
    return {name: Parameter for name in entry} | own


def _of_kind(kind: str, families: Sequence[str], alone: bool) -> list[PlannedMethod]:
    """Return every method of a kind: once if all families have it with that kind, else once a family."""
    names = dict.fromkeys(name for family in families for name in _methods_of(family, kind))
    planned = []
    for name in names:
        having = [family for family in families if name in _methods_of(family, kind)]
        everywhere = len(having) == len(families) and not alone
        planned += [PlannedMethod(name, "name", name, family) for family in ([None] if everywhere else having)]
    return planned


def _methods_of(family: str, kind: str) -> list[str]:
    own = FAMILIES[family].methods.items()
    return [name for name, method in own if method.kind == kind and not method.for_some]


def _named(asked: Validated, name: str, families: Sequence[str]) -> PlannedMethod:
    methods = [_method(name, family, families) for family in families]
    solver, seed = asked.get("solver"), asked.get("seed")
    for method in methods:
        if solver is not None and solver not in method.solvers:
            raise Refused(shown(solver), ", ".join(method.solvers) or f"none, as {name} needs no solver", "solver")
    if seed is not None and not any(method.seeded for method in methods):
        raise Refused(shown(seed), f"none, as {name} draws nothing at random", "seed")
    parameters = {"proof": True} if asked.get("proof") else {}
    return PlannedMethod(asked.get("label", name), "name", name, asked.get("family"), solver, seed, parameters)


def _method(name: str, family: str, families: Sequence[str]) -> AnyMethod:
    record = FAMILIES[family]
    known = {*record.methods, *record.aliases}
    if name in known:
        return record.method(name)
    having = [other for other in families if name in {*FAMILIES[other].methods, *FAMILIES[other].aliases}]
    if having:
        beside = " or ".join(f'family = "{other}"' for other in having)
        allowed = f"{', '.join(record.methods)}; or {shown(name)} with {beside} beside it"
        raise Refused(f"{shown(name)}, which {family} lacks", allowed, "name")
    raise Refused(shown(name), f"{', '.join(record.methods)}", "name")


def target_of(what: str, folder: Path) -> tuple[str, str]:
    """Split the text of a user's function or class before its name; make the path of a file absolute."""
    home, _, name = what.rpartition(":")
    if not home or not name:
        raise Refused(shown(what), OF_FUNCTIONS, "python")
    return str((folder / home).absolute()) if home.endswith(".py") else home, name


def _python(asked: Validated, what: str, folder: Path, code: Code) -> PlannedMethod:
    home, name = target_of(what, folder)
    source = imported(what, folder, code)
    of_session = home.startswith(PICKLED)
    if of_session:
        what = name  # the text of a session's function is code, which messages and labels leave out
    parameters = {
        key: value for key, value in asked.items() if key not in ("python", "name", "label", "family", "seed")
    }
    fingerprint = ""
    if source is not None:
        thing, file = source
        require_parameters(thing, parameters)
        _require_complete(thing, parameters, what)
        fingerprint = _hash_of_session(thing, folder) if of_session else hash_of_code(thing, file, what, folder)
    label = str(asked.get("label", asked.get("name", what)))
    family, seed = asked.get("family"), asked.get("seed")
    return PlannedMethod(label, "python", (home, name), family, None, seed, parameters, fingerprint)


def _command(asked: Validated, folder: Path) -> PlannedMethod:
    words = asked["command"]
    absolute = [_absolute(word, folder) for word in words]
    program = shutil.which(absolute[0])
    if program is None:
        allowed = f"a program that may be run, in {folder.absolute()} or on PATH"
        raise Refused(shown(words[0]), allowed, "command", 0)
    files = [word for word, before in zip(absolute, words, strict=True) if word != before or os.path.isabs(word)]
    digest = hashlib.sha256(repr(words).encode())
    readable = [file for file in (*files, program) if os.path.isfile(file) and os.access(file, os.R_OK)]
    digest.update(hash_of_files(readable).encode())
    label = str(asked.get("label", asked.get("name", " ".join(words))))
    return PlannedMethod(label, "command", tuple(absolute), asked.get("family"), fingerprint=digest.hexdigest())


def _absolute(word: str, folder: Path) -> str:
    """Make a word absolute if it names a file in the plan's folder; return other words as they are."""
    path = folder / word
    return str(path.absolute()) if path.is_file() else word


def imported(where: str, folder: Path, code: Code, key: str = "python") -> tuple[Callable[..., object], str] | None:
    """Import what a plan names, and return it with its file; None where no code may run; `Refused` at ``key``."""
    home, _, name = where.rpartition(":")
    if home.startswith(PICKLED):
        if code is None or where not in code:
            raise Refused(f"{name}, as code inside the plan", f"{OF_FUNCTIONS}; functions are handed to make_plan", key)
        return import_of_user(where, str(folder.absolute()))
    if home.endswith(".py") and not (folder / home).is_file():
        raise Refused(shown(where), f"a file that is there, relative to {folder.absolute()}", key)
    if code is None:
        return None
    # A module of this name that was imported from elsewhere would be run in the place of the one beside the plan.
    spec = None if home.endswith(".py") else PathFinder.find_spec(home.partition(".")[0], [str(folder.absolute())])
    here = None if spec is None else spec.origin
    there = getattr(sys.modules.get(home.partition(".")[0]), "__file__", here)
    if here is not None and there is not None and not os.path.samefile(here, there):
        raise Refused(f"{shown(where)}, imported from {there} before", "a module of another name", key)
    try:
        return import_of_user(where, str(folder.absolute()))
    except UsageError as error:
        if error.allowed is not None:
            raise Refused(shown(where), error.allowed, key) from None
        allowed = "a function or class that can be imported"
        raise Refused(f"{shown(where)} ({error.words})", allowed, key) from None


def _require_complete(thing: Callable[..., object], parameters: Table, where: str) -> None:
    """Refuse parameters that lack one without a default."""
    known = list(inspect.signature(thing).parameters.values())
    for each in known if inspect.isclass(thing) else known[1:]:
        needed = each.default is each.empty and each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
        if needed and each.name not in (*parameters, *HANDED):
            raise Refused("nothing", f"a value, as {where} has no default for it", each.name)


def home_of(thing: object) -> list[str]:
    """File that defines a function or class, which may differ from the file that it is imported from."""
    module = sys.modules.get(getattr(thing, "__module__", ""))
    file = getattr(module, "__file__", None)
    return [file] if isinstance(file, str) else []


def hash_of_code(thing: Callable[..., object], file: str, where: str, folder: Path) -> str:
    """Hash the code of what ``imported`` returned for ``where``: its file, and the user's files that this imports."""
    home = where.rpartition(":")[0]
    searched = (folder / home).absolute().parent if home.endswith(".py") else folder.absolute()
    return hash_of_files(files_of_code([file, *home_of(thing)], str(searched)))


def _hash_of_session(thing: Callable[..., object], folder: Path) -> str:
    """Hash code of the session, and the files of a module that defines its function or class."""
    kind, digest = kind_of(thing), hash_of_session_code(thing)
    files = [] if getattr(kind, "__module__", "") == "__main__" else home_of(kind)
    if not files:
        return digest
    return hashlib.sha256((digest + hash_of_files(files_of_code(files, str(folder.absolute())))).encode()).hexdigest()


def hash_of_files(files: Sequence[str]) -> str:
    """Hash the contents of files, each once."""
    digest = hashlib.sha256()
    for file in dict.fromkeys(files):
        digest.update(hashlib.sha256(Path(file).read_bytes()).digest())
    return digest.hexdigest()


def files_of_code(files: Collection[str], folder: str) -> list[str]:
    """Return Python files, then those below a folder that they import; parsed, so that earlier imports do not matter."""
    reached = list(dict.fromkeys(os.path.realpath(file) for file in files))
    for file in reached:  # grows while it is read: breadth first
        new = dict.fromkeys(_imported_by(file, os.path.realpath(folder)))
        reached += [each for each in new if each not in reached]
    return reached


def _imported_by(file: str, folder: str) -> Iterator[str]:
    """Yield the files below a folder of all modules that a file imports, at any place in its code."""
    if not file.endswith(".py"):
        return
    for node in ast.walk(ast.parse(Path(file).read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files_of(folder, alias.name.split("."), folder)
        elif isinstance(node, ast.ImportFrom):
            base = str(Path(file).parents[node.level - 1]) if 0 < node.level <= len(Path(file).parents) else folder
            words = node.module.split(".") if node.module else []
            for alias in node.names:
                yield from _files_of(base, [*words, alias.name], folder)


def _files_of(base: str, words: list[str], folder: str) -> Iterator[str]:
    """Yield the files below the folder of a module and of the packages that contain it."""
    if words[0] == "dlsched":
        return
    for end in range(len(words) + 1):
        path = os.path.join(base, *words[:end])
        for candidate in (f"{path}.py", os.path.join(path, "__init__.py")):
            if (end or base != folder) and candidate.startswith(os.path.join(folder, "")) and os.path.isfile(candidate):
                yield os.path.realpath(candidate)


OF_SESSION = ", a function of the session"
"""Follows the name of a function of a session in the text of a plan."""


def is_of_session(thing: object) -> TypeGuard[Callable[..., object]]:
    """Whether something callable is that of no imported module by its name: other processes cannot import it."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
    return callable(thing) and (module == "__main__" or getattr(sys.modules.get(str(module)), name, None) is not thing)


def without_code(table: Mapping[str, Json]) -> dict[str, Json]:
    """Replace functions and instances of a session by their names, in a plan that is written for people."""
    return {key: _without_code(value) for key, value in table.items()}


def _without_code(value: Json) -> Json:
    if isinstance(value, str) and value.startswith(PICKLED):
        return f"{value.rpartition(':')[2]}{OF_SESSION}"
    if isinstance(value, dict):
        inline = value.get("instance")
        return {"instance": inline.get("name")} if isinstance(inline, dict) else without_code(value)
    return [_without_code(each) for each in value] if isinstance(value, list) else value


def hash_of_session_code(thing: Callable[..., object]) -> str:
    """Hash a function or class of the session with all that it refers to there; lines and files do not count."""
    with needing(NEED_OF_CLOUDPICKLE, "dask", UsageError):
        import cloudpickle

    class Stable(cloudpickle.Pickler):  # type: ignore[misc]
        dispatch_table: ClassVar = ChainMap({CodeType: _without_lines}, cloudpickle.Pickler.dispatch_table)

    buffer = io.BytesIO()
    Stable(buffer).dump(thing)
    content = buffer.getvalue()
    # cloudpickle gives each class a random name in each session, which must not change the hash
    for name in cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS.values():
        content = content.replace(name.encode(), b"")
    return hashlib.sha256(content).hexdigest()


def _without_lines(code: CodeType) -> tuple[object, ...]:
    """Reduce code to what it does."""
    names = ("co_code", "co_consts", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_argcount")
    more = ("co_kwonlyargcount", "co_posonlyargcount", "co_exceptiontable")
    return tuple, ([getattr(code, name) for name in (*names, *more)],)
