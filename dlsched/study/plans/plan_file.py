"""Plans as TOML files and as Python values: their reader, and the writer of what Python makes."""

import contextlib
import json
import operator
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import date
from pathlib import Path
from typing import Annotated, Required, SupportsIndex, TypeVar

from pydantic import Field, PlainValidator, TypeAdapter, ValidationError

from dlsched.core.arguments import callable_of
from dlsched.core.errors import InputError, UsageError
from dlsched.core.files import Json, path_of
from dlsched.core.instance import InstanceFile, Name, NonNegative, Positive
from dlsched.core.messages import FOUND, Refused, field_path, sentences, shown
from dlsched.core.part import ENOUGH
from dlsched.own_methods import session_text
from dlsched.study.plans.instance_entries import read_source, require_sizes
from dlsched.study.plans.method_entries import Code, is_of_session, read_method, without_code
from dlsched.study.plans.plan import (
    MOST_CELLS,
    CellLimits,
    FieldType,
    Generated,
    Instances,
    Plan,
    PlannedLike,
    PlannedMethod,
    Seed,
    Size,
    Source,
    Table,
    TooManyCells,
    one_of,
    read_table,
)
from dlsched.study.plans.sources import require_countable

FORMAT = "dlsched/study/1"
T = TypeVar("T")


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
        The file cannot be read, is no TOML, or has wrong values: up to ten sentences, each with its place in the file.
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


def plan_from(data: Mapping[str, object], folder: str | os.PathLike[str] = ".", code: Code = ()) -> Plan:
    """Make a plan from the keys and values of a file; errors as ``read_plan``, UsageError for what no file holds."""
    table = {"format": FORMAT} | dict(data)
    plain = {key: plain_value(value, key) for key, value in table.items() if value is not None}
    return _plan(plain, Path(path_of(folder, "folder")), "the plan", "study", toml_text(without_code(plain)), code)


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
    data = {
        "name": name,
        "seed": seed,
        "instances": _instances(instances, code),
        "methods": [_method(each, code) for each in _listed(methods, "methods")],
        "limits": limits,
        "reference": None if reference is None else {"method": reference},
    }
    return plan_from(data, folder, code)


def _listed(values: Iterable[T], where: str) -> list[T]:
    """Return the values of a program as a list; UsageError: they are none."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise UsageError(where=where, found=repr(values), allowed="a list")
    return list(values)


def _instances(instances: Instances, code: list[str]) -> list[object]:
    """Return entries of instances, of equal ones the first."""
    entries = dict[object, object]()
    if isinstance(instances, InstanceFile | str | os.PathLike | Mapping):
        instances = [instances]
    for number, each in enumerate(_listed(instances, "instances")):
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
    value = entry.get("python")
    if value is None or isinstance(value, str):
        return entry
    thing = callable_of(value)
    if not is_of_session(thing):
        return entry
    code.append(session_text(thing))
    return {**entry, "python": code[-1]}


def _plan(data: Table, folder: Path, name: str, stem: str, written: str, code: Code) -> Plan:
    families = dict[str, None]()

    def source(entry: object) -> list[Source]:
        sources, theirs = read_source(entry, folder, code)
        families.update(dict.fromkeys(sorted(theirs)))
        return sources

    def method(entry: object) -> list[PlannedMethod]:
        return read_method(entry, list(families), folder, code)

    fields = {
        **{"format": one_of((FORMAT,)), "name": Name, "seed": Seed},
        "instances": Required[_entries(source)],
        "methods": Required[object],
        **{"limits": Annotated[object, PlainValidator(_limits)], "reference": object},
    }
    with _errors_of(name):
        asked = read_table(data, fields)
    with _errors_of(name, "methods"):  # only now are the families known on which they are to run
        entries = TypeAdapter(_entries(method)).validate_python(asked["methods"])
        methods = _distinct(entries, asked["methods"], list(families))
    with _errors_of(name, "reference"):
        labels = list(dict.fromkeys(method.label for method in methods))
        reference = read_table(asked["reference"], {"method": Required[one_of(labels)]}) if "reference" in asked else {}
    sources = [source for sources in asked["instances"] for source in sources]
    limits, title = asked.get("limits", CellLimits()), asked.get("name", stem)
    seed, label = asked.get("seed", 0), reference.get("method")
    plan = Plan(title, tuple(sources), tuple(methods), seed, limits, label, folder.absolute(), written)
    with _errors_of(name):
        require_countable(plan)  # before instances are drawn: too many would take forever
    for index, sources in enumerate(asked["instances"]):
        with _errors_of(name, "instances", index):
            for each in sources:
                if isinstance(each, Generated):
                    require_sizes(each)
    return plan


def _entries(read: Callable[[object], object]) -> FieldType:
    """Type of a list with at least one entry, each of which a function reads."""
    return Annotated[list[Annotated[object, PlainValidator(read)]], Field(min_length=1)]


def _limits(table: object) -> CellLimits:
    numbers = {"time_s": Positive, "memory_gib": Positive, "nodes": Seed, "threads": Size, "grace_s": NonNegative}
    return CellLimits(**read_table(table, numbers))


@contextlib.contextmanager
def _errors_of(name: str, *below: str | int) -> Iterator[None]:
    """Raise what is wrong with a plan, or with what stands ``below`` a field, as one InputError that names the plan."""
    try:
        yield
    except TooManyCells as error:
        raise UsageError(where=name, found=error, allowed=f"at most {MOST_CELLS:,} cells in a study") from None
    except ValidationError as error:
        messages = list(dict.fromkeys(sentences(error.errors(include_url=False), below=below)))
    except Refused as error:
        messages = [f"{field_path((*below, *error.where))}: {error}"]
    except (InputError, UsageError) as error:
        messages = [f"{field_path(below)}: {error.head}"]
    else:
        return
    first, *others = messages
    more = f" (and {len(others)} more)" if others else ""
    raise InputError(f"{first}{more}", where=name, more=others[: ENOUGH - 1])


def _distinct(
    entries: Sequence[Sequence[PlannedMethod]], written: Sequence[object], families: Sequence[str]
) -> list[PlannedMethod]:
    """Return the methods in the order of the plan; a named method replaces the same label of a whole kind."""
    whole = [isinstance(entry, Mapping) and "kind" in entry for entry in written]
    named = {
        (family, method.label)
        for index, methods in enumerate(entries)
        for method in methods
        for family in filter(method.runs_on, families)
        if not whole[index]
    }
    # A label belongs to the first entry that has it in a family; a whole kind leaves it to an entry that names it.
    planned, owners = list[PlannedMethod](), dict[tuple[str, str], int]()
    for index, method in ((index, method) for index, methods in enumerate(entries) for method in methods):
        theirs = list(filter(method.runs_on, families))
        free = [family for family in theirs if not whole[index] or (family, method.label) not in named]
        planned += [method] if free == theirs else [replace(method, family=family) for family in free]
        for family in free:
            first = owners.setdefault((family, method.label), index)
            if first != index:
                label = f"the label {shown(method.label[:FOUND])}, which methods[{first}] has too"
                raise Refused(label, f"another, as label = {shown(f'{method.label}-2'[:FOUND])}", index)
    for family in families:
        if not any(family == owner for owner, _ in owners):
            raise Refused(f"none for {family}", "at least one for every family of the instances")
    return planned


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


def plain_value(value: object, *where: str | int) -> Json:
    """Convert a value to the one that a file holds; ``where``: its path in the plan, for messages."""
    if value is None or isinstance(value, bool | str | float):
        return value
    if callable(value):
        return _importable(value, where)
    if isinstance(value, SupportsIndex):
        number = operator.index(value)
        try:
            str(number)
        except ValueError:  # it has too many digits for Python
            raise UsageError(f"found {shown(number)}, allowed in a plan: integers that Python writes") from None
        return number
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
