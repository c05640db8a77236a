"""Plans as TOML files and as Python values: their reader, and the writer of what Python makes."""

import json
import operator
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import date
from pathlib import Path
from typing import SupportsIndex

from dlsched.core.arguments import callable_of
from dlsched.core.errors import InputError, UsageError
from dlsched.core.files import Json, path_of
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import Refused, field_path, shown
from dlsched.own_methods import session_text
from dlsched.study.plans.instance_entries import read_source, require_sizes
from dlsched.study.plans.method_entries import Code, is_of_session, read_method, without_code
from dlsched.study.plans.plan import CellLimits, Generated, Instances, Plan, PlannedLike, PlannedMethod, Source
from dlsched.study.plans.refusals import (
    MOST_CELLS,
    Refusals,
    Table,
    integer,
    listed,
    not_negative,
    one_of,
    only,
    positive,
    quoted,
    table,
    tables,
    text,
)
from dlsched.study.plans.sources import require_countable

FORMAT = "dlsched/study/1"
KEYS = ("format", "name", "seed", "instances", "methods", "limits", "reference")


def read_plan(path: str | os.PathLike[str], *, run_code: bool = True) -> Plan:
    """Read a plan, and check that its families, methods, files, functions and programs exist.

    Reads instance files and traces, and draws small instances of generators.

    Parameters
    ----------
    path
        Of the file.
    run_code
        Whether to import the user's functions, and to draw an instance with those that draw. Without, nothing that the
        plan names is run or imported, and what a function takes is not checked: the plan is for looking at, not to be run.

    Raises
    ------
    InputError
        The file cannot be read or is not TOML (with line and column), or has wrong values: up to ten
        sentences, each with the path in the file, what was found and what is allowed.
    """
    name = path_of(path)
    try:
        written = Path(path).read_bytes().decode("utf-8-sig")
        data = tomllib.loads(written)
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(where=f"{name}: byte {error.start}", found="no UTF-8", allowed="UTF-8 text") from None
    except RecursionError:
        raise InputError(
            where=name, found="lists or tables nested too deeply", allowed="the keys of the format"
        ) from None
    except ValueError as error:  # invalid TOML, or an integer with too many digits for Python
        raise InputError(_no_toml(name, str(error))) from None
    if data.get("format") != FORMAT:
        found = shown(data["format"]) if "format" in data else "nothing"
        raise InputError(where=f"{name}: format", found=found, allowed=FORMAT)
    return _plan(data, Path(path).parent, name, Path(path).stem, written, () if run_code else None)


def _no_toml(name: str, words: str) -> str:
    match = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", words, re.DOTALL)
    if match is None:
        return f"{name}: found no TOML ({words}), allowed: TOML"
    where = f"line {match[2]} column {match[3]}" if match[2] else "at its end"
    return f"{name}: {where}: found no TOML ({match[1]}), allowed: TOML"


def plan_from(data: Mapping[str, object], folder: str | os.PathLike[str] = ".") -> Plan:
    """Make a plan from the keys and values of a file, ``format`` optional; paths are relative to ``folder``.

    Raises
    ------
    InputError
        As ``read_plan``.
    UsageError
        A value that a file cannot hold.
    """
    return _plan_from(data, folder, ())


def _plan_from(data: Mapping[str, object], folder: str | os.PathLike[str], code: Code) -> Plan:
    given = {"format": FORMAT} | dict(data)
    held = {key: plain_value(value, key) for key, value in given.items() if value is not None}
    return _plan(held, Path(path_of(folder, "folder")), "the plan", "study", toml_text(without_code(held)), code)


def make_plan(
    *,
    instances: Instances,
    methods: Sequence[PlannedLike],
    name: str = "study",
    seed: int = 0,
    limits: CellLimits | Mapping[str, object] | None = None,
    reference: str | None = None,
    folder: str | os.PathLike[str] = ".",
) -> Plan:
    """Make a plan in Python.

    Parameters
    ----------
    instances
        Instances, paths of files or folders, and tables with the keys of ``[[instances]]`` in a file, one or many. ``python``
        of a table may be a function itself; one of a notebook or script draws its instances at once.
    methods
        Names, functions, policies and their classes, or tables with the keys of ``[[methods]]``, where ``python`` may be
        such a function, policy or class itself.
    name, seed, limits
        As in a plan's file.
    reference
        Label of the method to whose answers ratios refer; None: the best proven bound.
    folder
        Folder to which paths in the plan are relative.

    Raises
    ------
    InputError
        As ``read_plan``.
    UsageError
        A function or a policy that cannot be handed to other processes, or a value that a file cannot hold.

    >>> plan = make_plan(
    ...     instances={"family": "ring_allocation", "jobs": [4, 6], "gpus": 8, "seeds": range(3)}, methods=["exact", "doubling"]
    ... )
    >>> [method.label for method in plan.methods]
    ['exact', 'doubling']
    """
    if isinstance(limits, CellLimits):
        limits = {each.name: getattr(limits, each.name) for each in fields(limits)}
    code: list[str] = []
    return _plan_from(
        {
            "name": name,
            "seed": seed,
            "instances": _instances(instances, code),
            "methods": [_method(each, code) for each in listed(methods, "methods")],
            "limits": limits,
            "reference": None if reference is None else {"method": reference},
        },
        folder,
        code,
    )


def _instances(given: Instances, code: list[str]) -> list[object]:
    """Return entries of instances, of equal ones the first."""
    entries = dict[object, object]()
    if isinstance(given, InstanceFile | str | os.PathLike | Mapping):
        given = [given]
    for number, each in enumerate(listed(given, "instances")):
        if isinstance(each, InstanceFile):
            entries.setdefault(each.sha256, {"instance": each.as_data()})
        elif isinstance(each, str | os.PathLike):
            path = os.fspath(each)
            entries[number] = {"files": os.path.join(path, "*.json") if os.path.isdir(path) else path}
        else:
            entries[number] = _with_text(each, code) if isinstance(each, Mapping) else each
    return list(entries.values())


def _method(method: PlannedLike, code: list[str]) -> object:
    """Return an entry of a method."""
    if isinstance(method, str):
        return {"python" if ":" in method else "name": method}
    return _with_text(method if isinstance(method, Mapping) else {"python": method}, code)


def _with_text(entry: Mapping[str, object], code: list[str]) -> Mapping[str, object]:
    """Write a function or policy of the session as text, which is added to ``code`` as it may run."""
    found = entry.get("python")
    if found is None or isinstance(found, str):
        return entry
    thing = callable_of(found)
    if not is_of_session(thing):
        return entry
    code.append(session_text(thing))
    return {**entry, "python": code[-1]}


def _plan(data: Table, folder: Path, name: str, stem: str, written: str, code: Code) -> Plan:
    refusals = Refusals(name)
    for key in data:
        if key not in KEYS:
            with refusals.at():
                only({key: None}, KEYS)
    title, seed, limits, reference = stem, 0, CellLimits(), None
    with refusals.at():
        one_of(data.get("format"), (FORMAT,), "format")
    with refusals.at():
        title = text(data.get("name", stem), "name")
    with refusals.at():
        seed = integer(data.get("seed", 0), 0, "seed")
    with refusals.at("limits"):
        limits = _limits(table(data.get("limits", {})))
    sources, families = _sources(data.get("instances"), folder, refusals, code)
    refusals.raise_any()  # methods can be read only once the families are known
    methods = _methods(data.get("methods"), families, folder, refusals, code)
    refusals.raise_any()
    with refusals.at("reference"):
        reference = _reference(data.get("reference"), methods)
    refusals.raise_any()
    plan = Plan(
        title,
        tuple(source for _, source in sources),
        tuple(methods),
        *(seed, limits, reference, folder.absolute(), written),
    )
    with refusals.at():
        require_countable(plan)  # before instances are drawn: too many would take forever
    for index, source in sources:
        with refusals.at("instances", index):
            if isinstance(source, Generated):
                require_sizes(source)
    refusals.raise_any()
    return plan


def _limits(asked: Table) -> CellLimits:
    standard = CellLimits()
    only(asked, [each.name for each in fields(standard)])
    return CellLimits(
        time_s=positive(asked.get("time_s", standard.time_s), "time_s"),
        memory_gib=positive(asked.get("memory_gib", standard.memory_gib), "memory_gib"),
        nodes=None if "nodes" not in asked else integer(asked["nodes"], 0, "nodes"),
        threads=integer(asked.get("threads", 1), 1, "threads"),
        grace_s=not_negative(asked.get("grace_s", standard.grace_s), "grace_s"),
    )


def _sources(value: object, folder: Path, refusals: Refusals, code: Code) -> tuple[list[tuple[int, Source]], list[str]]:
    """Read the sources, each with the position of its entry, and the families in order of appearance."""
    sources, families = list[tuple[int, Source]](), dict[str, None]()
    with refusals.at("instances"):
        for index, entry in enumerate(tables(value)):
            found, theirs = read_source(entry, folder, refusals, index, code)
            sources += [(index, source) for source in found]
            families |= dict.fromkeys(sorted(theirs))
    return sources, list(families)


def _methods(
    value: object, families: Sequence[str], folder: Path, refusals: Refusals, code: Code
) -> list[PlannedMethod]:
    """Read the methods in the order of the plan; a named method replaces the same label of a whole kind."""
    found = list[tuple[int, bool, PlannedMethod]]()
    with refusals.at("methods"):
        for index, entry in enumerate(tables(value)):
            with refusals.at("methods", index):
                whole = isinstance(entry, Mapping) and "kind" in entry
                found += [(index, whole, method) for method in read_method(entry, families, folder, code)]
    own = {(family, method.label) for _, whole, method in found if not whole for family in _families(method, families)}
    planned, owners = list[PlannedMethod](), dict[tuple[str, str], int]()
    for index, whole, method in found:
        theirs = _families(method, families)
        free = [family for family in theirs if not whole or (family, method.label) not in own]
        planned += [method] if free == theirs else [replace(method, family=family) for family in free]
        with refusals.at("methods", index):
            for family in free:
                first = owners.setdefault((family, method.label), index)
                if first != index:
                    found_too = f"the label {quoted(method.label)}, which methods[{first}] has too"
                    raise Refused(found_too, f"another, as label = {quoted(f'{method.label}-2')}")
    with refusals.at("methods"):
        for family in families:
            if found and not any(family == having for having, _ in owners):
                raise Refused(f"none for {family}", "at least one for every family of the instances")
    return planned


def _families(method: PlannedMethod, families: Sequence[str]) -> list[str]:
    """Return the families of the plan on which a method runs."""
    return [family for family in families if method.family in (None, family)]


def _reference(value: object, methods: Sequence[PlannedMethod]) -> str | None:
    if value is None:
        return None
    asked = table(value)
    only(asked, ("method",))
    return one_of(asked.get("method"), list(dict.fromkeys(method.label for method in methods)), "method")


def toml_text(data: Mapping[str, Json]) -> str:
    """Write tables: values first, then tables and lists of tables, each below its head; None is left out."""
    heads, lines = [], []
    for key, value in data.items():
        if isinstance(value, dict):
            heads.append((f"[{_key(key)}]", value))
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            heads += [(f"[[{_key(key)}]]", each) for each in value if isinstance(each, dict)]
        else:
            lines += _lines({key: value})
    for head, entries in heads:
        lines += ["", head, *_lines(entries)]
    return "\n".join(lines) + "\n"


def _lines(data: Mapping[str, Json]) -> list[str]:
    return [f"{_key(key)} = {_value(value)}" for key, value in data.items() if value is not None]


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Json) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(_lines(value))}}}"
    if isinstance(value, list):
        return f"[{', '.join(_value(each) for each in value)}]"
    # a JSON string is a TOML string, except for the character 127
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def writable(number: int) -> int:
    """Return an integer; UsageError for one with so many digits that Python does not write it."""
    try:
        str(number)
    except ValueError:
        raise UsageError(f"found {shown(number)}, allowed in a plan: integers that Python writes") from None
    return number


def plain_value(value: object, *where: str | int) -> Json:
    """Convert a value to the one that a file holds; ``where``: its path in the plan, for messages."""
    if value is None or isinstance(value, bool | str | float):
        return value
    if callable(value):
        return _importable(value, where)
    if isinstance(value, SupportsIndex):
        return writable(operator.index(value))
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {
            str(key): plain_value(_seeds(each) if key == "seeds" else each, *where, str(key))
            for key, each in value.items()
            if each is not None
        }
    if isinstance(value, Sequence):
        if len(value) > MOST_CELLS:
            raise UsageError(f"found a list of {len(value):,} values, allowed in a plan: at most {MOST_CELLS:,}")
        return [plain_value(each, *where, index) for index, each in enumerate(value)]
    raise UsageError(f"found {value!r}, allowed in a plan: numbers, texts, lists, tables and functions")


def _seeds(value: object) -> object:
    """Write a range of seeds as text, as in files, since it may be long."""
    if not isinstance(value, range) or value.start < 0 or value.stop < 0 or value.step < 1:
        return value
    return f"{value.start}:{value.stop}" + (f":{value.step}" if value.step > 1 else "")


def _importable(thing: Callable[..., object], where: tuple[str | int, ...]) -> str:
    """Return the name of a function as in files; UsageError if other processes could not import it."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", repr(thing))
    if is_of_session(thing):
        raise UsageError(
            where=field_path(where),
            found=f"{name} of {module}",
            allowed="a function or class at the top of a module, which other processes can import; or path.py:function",
        )
    return f"{module}:{name}"
