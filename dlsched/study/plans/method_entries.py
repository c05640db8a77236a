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
from typing import ClassVar, TypeAlias, TypeGuard

from dlsched.core.arguments import kind_of
from dlsched.core.errors import UsageError
from dlsched.core.family import AnyMethod
from dlsched.core.files import Json
from dlsched.core.imports import needing
from dlsched.core.messages import Refused, shown
from dlsched.families import FAMILIES
from dlsched.own_methods import HANDED, NEED_OF_CLOUDPICKLE, PICKLED, import_of_user, require_parameters
from dlsched.study.plans.plan import PlannedMethod
from dlsched.study.plans.refusals import Table, grid, integer, one_of, only, plain, table, text

KINDS = ("heuristic", "exact", "bound")
Code: TypeAlias = Collection[str] | None
"""Whether a plan's code may run while the plan is read: None: none of it; else its files and modules, and these pickled texts."""


def read_method(entry: object, families: Sequence[str], folder: Path, code: Code) -> list[PlannedMethod]:
    """Read an entry: return its methods, one for each of a list, or all of a kind; ``code``: as ``imported`` takes it.

    Raises
    ------
    Refused
        The first thing that is wrong with it.
    """
    asked = table(entry)
    sorts = [sort for sort in ("python", "command", "kind") if sort in asked]
    if len(sorts) > 1 or not (sorts or "name" in asked):
        found = " and ".join(sorts) or "none of name, python, command, kind"
        raise Refused(found, "exactly one of them, and name with python and command as their label")
    if "family" in asked:
        families = (one_of(asked["family"], families, "family"),)
    if sorts == ["command"]:
        return [_command(asked, folder)]
    planned, key = list[PlannedMethod](), sorts[0] if sorts else "name"
    values = grid(asked[key], key)
    for label in ("label", "name"):
        if len(values) > 1 and label in asked and label != key:
            raise Refused(shown(asked[label]), f"none for several of {key}", label)
    for where, value in values:
        alone = {**asked, key: value}
        try:
            planned += (
                _of_kind(alone, families)
                if key == "kind"
                else [_python(alone, folder, code) if key == "python" else _named(alone, families)]
            )
        except Refused as error:
            raise Refused(error.found, error.allowed, *(where if error.where == (key,) else error.where)) from None
    return planned


def _label(asked: Table, default: str) -> str:
    return text(asked.get("label", asked.get("name", default)), "label" if "label" in asked else "name")


def _family(asked: Table) -> str | None:
    return None if "family" not in asked else str(asked["family"])


def _seed(asked: Table) -> int | None:
    return None if "seed" not in asked else integer(asked["seed"], 0, "seed")


def _of_kind(asked: Table, families: Sequence[str]) -> list[PlannedMethod]:
    """Return every method of a kind: once if all families have it with that kind, else once a family."""
    only(asked, ("kind", "family"))
    kind = one_of(asked["kind"], KINDS, "kind")
    names = dict.fromkeys(name for family in families for name in _methods_of(family, kind))
    planned = []
    for name in names:
        having = [family for family in families if name in _methods_of(family, kind)]
        everywhere = len(having) == len(families) and "family" not in asked
        for family in [None] if everywhere else having:
            planned.append(PlannedMethod(name, "name", name, family))
    return planned


def _methods_of(family: str, kind: str) -> list[str]:
    return [name for name, method in FAMILIES[family].methods.items() if method.kind == kind]


def _named(asked: Table, families: Sequence[str]) -> PlannedMethod:
    name = text(asked["name"], "name")
    only(asked, ("name", "label", "family", "solver", "seed", "proof"))
    methods = [_method(name, family, families) for family in families]
    solver = None if "solver" not in asked else text(asked["solver"], "solver")
    for method in methods:
        if solver is not None and solver not in method.solvers:
            raise Refused(shown(solver), ", ".join(method.solvers) or f"none, as {name} needs no solver", "solver")
    seed = _seed(asked)
    if seed is not None and not any(method.seeded for method in methods):
        raise Refused(shown(seed), f"none, as {name} draws nothing at random", "seed")
    proof = asked.get("proof", False)
    if not isinstance(proof, bool):
        raise Refused(shown(proof), "true or false", "proof")
    return PlannedMethod(
        _label(asked, name), "name", name, _family(asked), solver, seed, {"proof": True} if proof else {}
    )


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


def _python(asked: Table, folder: Path, code: Code) -> PlannedMethod:
    where = text(asked["python"], "python")
    home, _, name = where.rpartition(":")
    if not home or not name:
        raise Refused(shown(where), '"path.py:function" or "package.module:function"', "python")
    found = imported(where, folder, code)
    of_session = home.startswith(PICKLED)
    if home.endswith(".py"):
        home = str((folder / home).absolute())
    reserved = ("python", "name", "label", "family", "seed")
    parameters = {key: plain(value, key) for key, value in asked.items() if key not in reserved}
    fingerprint = ""
    if found is not None:
        thing, file = found
        require_parameters(thing, parameters)
        _require_complete(thing, parameters, name if of_session else where)
        fingerprint = _hash_of_session(thing, folder) if of_session else hash_of_code(thing, file, where, folder)
    return PlannedMethod(
        _label(asked, name if of_session else where),
        "python",
        (home, name),
        _family(asked),
        None,
        _seed(asked),
        parameters,
        fingerprint,
    )


def imported(where: str, folder: Path, code: Code, key: str = "python") -> tuple[Callable[..., object], str] | None:
    """Import a function or class that a plan names, and return it with its file; `Refused` at ``key``.

    None where no code may run.
    """
    home, _, name = where.rpartition(":")
    if home.startswith(PICKLED):
        if code is None or where not in code:
            found = f"{name}, as code inside the plan"
            raise Refused(
                found, '"path.py:function" or "package.module:function"; functions are handed to make_plan', key
            )
        return import_of_user(where, str(folder.absolute()))
    if home.endswith(".py") and not (folder / home).is_file():
        raise Refused(shown(where), f"a file that is there, relative to {folder.absolute()}", key)
    if code is None:
        return None
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
    """Hash the code of a function or class of a plan: its file, and the user's files that this imports.

    Parameters
    ----------
    thing, file
        As ``imported`` returned them.
    where, folder
        As ``imported`` took them.
    """
    home = where.rpartition(":")[0]
    searched = (folder / home).absolute().parent if home.endswith(".py") else folder.absolute()
    return hash_of_files(files_of_code([file, *home_of(thing)], str(searched)))


def _hash_of_session(thing: Callable[..., object], folder: Path) -> str:
    """Hash code of the session, and the files of a module that defines its function or class."""
    kind, found = kind_of(thing), hash_of_session_code(thing)
    files = [] if getattr(kind, "__module__", "") == "__main__" else home_of(kind)
    if not files:
        return found
    return hashlib.sha256((found + hash_of_files(files_of_code(files, str(folder.absolute())))).encode()).hexdigest()


def hash_of_files(files: Sequence[str]) -> str:
    """Hash the contents of files, each once."""
    digest = hashlib.sha256()
    for file in dict.fromkeys(files):
        digest.update(hashlib.sha256(Path(file).read_bytes()).digest())
    return digest.hexdigest()


def _command(asked: Table, folder: Path) -> PlannedMethod:
    only(asked, ("command", "name", "label", "family"))
    words = asked["command"]
    if not isinstance(words, list) or not words:
        raise Refused(shown(words), 'a list of words, such as ["./mine", "{instance}"]', "command")
    written = [text(word, "command", index) for index, word in enumerate(words)]
    found = [_absolute(word, folder) for word in written]
    program = shutil.which(found[0])
    if program is None:
        allowed = f"a program that may be run, in {folder.absolute()} or on PATH"
        raise Refused(shown(written[0]), allowed, "command", 0)
    files = [word for word, before in zip(found, written, strict=True) if word != before or os.path.isabs(word)]
    digest = hashlib.sha256(repr(written).encode())
    known = [file for file in (*files, program) if os.path.isfile(file) and os.access(file, os.R_OK)]
    digest.update(hash_of_files(known).encode())
    return PlannedMethod(
        _label(asked, " ".join(written)),
        "command",
        tuple(found),
        _family(asked),
        fingerprint=digest.hexdigest(),
    )


def _absolute(word: str, folder: Path) -> str:
    """Make a word absolute if it names a file in the plan's folder; return other words as they are."""
    path = folder / word
    return str(path.absolute()) if path.is_file() else word


def files_of_code(files: Collection[str], folder: str) -> list[str]:
    """Return Python files, followed by the files below a folder that they import, directly or indirectly.

    The files are parsed, not imported, so the answer does not depend on earlier imports of this process.

    Parameters
    ----------
    files
        The files to begin with.
    folder
        Folder in which modules are looked up.
    """
    found = dict.fromkeys(os.path.realpath(file) for file in files)
    waiting = list(found)
    while waiting:
        file = waiting.pop(0)
        new = [each for each in _imported_by(file, os.path.realpath(folder)) if each not in found]
        found |= dict.fromkeys(new)
        waiting += dict.fromkeys(new)
    return list(found)


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
    if _is_dlsched(words[0]):
        return
    for end in range(len(words) + 1):
        path = os.path.join(base, *words[:end])
        for candidate in (f"{path}.py", os.path.join(path, "__init__.py")):
            if (end or base != folder) and candidate.startswith(os.path.join(folder, "")) and os.path.isfile(candidate):
                yield os.path.realpath(candidate)


def _is_dlsched(name: str) -> bool:
    return name.partition(".")[0] == "dlsched"


OF_SESSION = ", a function of the session"
"""Follows the name of a function of a session in the text of a plan."""


def is_of_session(thing: object) -> TypeGuard[Callable[..., object]]:
    """Whether something callable is that of no imported module by its name: other processes cannot import it."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
    return callable(thing) and (module == "__main__" or getattr(sys.modules.get(str(module)), name, None) is not thing)


def without_code(held: Mapping[str, Json]) -> dict[str, Json]:
    """Replace functions and instances of a session by their names, in a plan that is written for people."""
    return {key: _without_code(value) for key, value in held.items()}


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

    content = io.BytesIO()
    Stable(content).dump(thing)
    tracked = cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS  # random names, one a class and session
    found = content.getvalue()
    for name in tracked.values():
        found = found.replace(name.encode(), b"")
    return hashlib.sha256(found).hexdigest()


def _without_lines(code: CodeType) -> tuple[object, ...]:
    """Reduce code to what it does."""
    names = ("co_code", "co_consts", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_argcount")
    more = ("co_kwonlyargcount", "co_posonlyargcount", "co_exceptiontable")
    return tuple, ([getattr(code, name) for name in (*names, *more)],)
