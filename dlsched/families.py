"""``FAMILIES``, the table of all families, and what works on any: draw, read, write and check instances and results."""

import contextlib
import copyreg
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, overload

from dlsched.catalogue import families as listed
from dlsched.catalogue.families import Value, load
from dlsched.core.arguments import require_preset
from dlsched.core.errors import InputError, InstanceError, SolverMissingError, UsageError
from dlsched.core.family import AnyFamily, AnyMethod, Family
from dlsched.core.files import (
    Json,
    decoded,
    entries_of,
    in_lines,
    json_pieces,
    parse_json,
    path_of,
    read_bytes,
    read_json,
    write_text,
)
from dlsched.core.garbage import uncollected
from dlsched.core.instance import InstanceFile, part_of
from dlsched.core.messages import field_path, printable
from dlsched.core.part import Part, plain
from dlsched.core.part_columns import PartColumns, validated
from dlsched.core.result import Result, Solution, Violation

if TYPE_CHECKING:
    from dlsched.results.reading import Claim
    from dlsched.results.verification import Verification


_PLAIN = {str, int, float, bool}


class _Families(Mapping[str, AnyFamily]):
    """Records of families by name; access to a record imports its family.

    Packages are asked what they declare where a name is none of dlsched's own, and where all names are listed.
    """

    def __getitem__(self, name: str) -> AnyFamily:
        if name not in self:
            raise KeyError(name)
        return listed.record_of(name) if name in listed.FAMILIES else _of_package(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in listed.FAMILIES or name in listed.installed())

    def __iter__(self) -> Iterator[str]:
        return iter(listed.names())

    def __len__(self) -> int:
        return len(listed.names())


FAMILIES: Mapping[str, AnyFamily] = _Families()
_RESERVED = {"advice", "result", "study", "whatif"}  # files that are no instances have their formats


@cache
def _of_package(name: str) -> AnyFamily:
    """Import the record that an installed package declares; SolverMissingError: it cannot be used, and why."""
    (package, target), *others = listed.installed()[name]
    where = printable(f"family {name} of package {package}")
    if others:
        found = printable(f"the same name in package {', '.join(other for other, _ in others)}")
        raise SolverMissingError(where=where, found=found, allowed="one package that declares it")
    try:
        record = load(target)
    except Exception as error:  # whatever the code of the package raises
        words = printable(f"{target} cannot be imported: {type(error).__name__}: {error}")
        raise SolverMissingError(words, where=where) from error
    if not isinstance(record, Family):
        raise SolverMissingError(where=where, found=f"{target}, a {type(record).__name__}", allowed="a Family")
    stated = {record.name, record.instance.family}
    if stated != {name} or not name.isidentifier() or name in _RESERVED:
        found = f"{' and '.join(sorted(stated))} in the record and its class of instances"
        allowed = f"the name of the entry point in both, a word other than {', '.join(sorted(_RESERVED))}"
        raise SolverMissingError(where=where, found=printable(found), allowed=allowed)
    return record


def usable() -> tuple[list[AnyFamily], list[str]]:
    """Import all families; return their records, and a sentence for each package whose family cannot be used."""
    records, refused = [], []
    for name in FAMILIES:
        try:
            records.append(FAMILIES[name])
        except SolverMissingError as error:
            refused.append(str(error))
    hidden = [(name, each) for name in listed.installed().keys() & listed.FAMILIES for each in listed.installed()[name]]
    for name, (package, _) in sorted(hidden):
        where = printable(f"family {name} of package {package}")
        refused.append(
            str(SolverMissingError(where=where, found="the name of one of dlsched's own", allowed="another"))
        )
    return records, refused


def _family_in(format_: object) -> str | None:
    """Name of the family whose instances have this format; None: there is none."""
    match str(format_).split("/"):
        case ["dlsched", name, "1"] if name in FAMILIES:
            return name
    return None


PARQUET = ".parquet"
"""Ending of the names of instances as Parquet."""
LARGE = 2**24
"""Bytes beyond which a file is read by some lines at a time, or by workers."""
_BLOCK = 2**20  # bytes of lines that are plain data at a time


def _reduced(record: AnyFamily) -> tuple[Callable[..., AnyFamily], tuple[object, ...]]:
    """How a record is pickled and copied: one of ``FAMILIES`` by its name, so that it is itself again."""
    if record.name in FAMILIES and FAMILIES[record.name] is record:
        return find_family, (record.name,)
    return partial(Family, **vars(record)), ()


copyreg.pickle(Family, _reduced)


def family_of(instance: InstanceFile) -> AnyFamily:
    """Return the record of an instance's family; UsageError for anything else."""
    if not isinstance(instance, InstanceFile):
        raise UsageError(
            where="instance", found=type(instance).__name__, allowed="an instance, as dlsched.read returns it"
        )
    return FAMILIES[instance.family]


def objective_name(instance: InstanceFile) -> str:
    """Return the name of an instance's objective in its family; empty if the family has only one."""
    return family_of(instance).objective_for(instance).name


def find_family(name: str | ModuleType) -> AnyFamily:
    """Return the family of that name, or of that module (UsageError: there is none)."""
    if isinstance(name, ModuleType):
        name = getattr(getattr(name, "FAMILY", None), "name", name.__name__)
    if name not in FAMILIES:
        raise UsageError(where="family", found=repr(name), allowed=", ".join(FAMILIES))
    return FAMILIES[name]


def require_own(family: AnyFamily, method: AnyMethod) -> None:
    """Refuse a method that is of another family; only of one that was imported there can be one."""
    if any(method is each for each in family.methods.values()):
        return
    for module in list(sys.modules.values()):
        record = getattr(module, "__dict__", {}).get("FAMILY")
        if isinstance(record, Family) and any(method is each for each in record.methods.values()):
            found = f"{method.name!r} of {record.name}"
            raise UsageError(where="method", found=found, allowed=f"one of {family.name}")


@contextlib.contextmanager
def reading() -> Iterator[None]:
    """Have errors of a file be those of an instance; no garbage is looked for."""
    with uncollected():
        try:
            yield
        except InstanceError:
            raise
        except InputError as error:
            raise InstanceError(error.head, more=error.more) from None


def read(path: str | os.PathLike[str]) -> Any:
    """Read an instance of any family (``-``: standard input): JSON, packed by gzip (``.gz``), or Parquet (``.parquet``).

    Raises
    ------
    InstanceError
        The file cannot be read or is not a valid instance; the message names the file and the field.
    SolverMissingError
        pyarrow, which Parquet needs, is not installed.
    """
    with reading():
        return _from_rows(os.fspath(path)) if path_of(path).endswith(PARQUET) else instance_of(read_bytes(path), path)


def instance_of(raw: bytes, path: str | os.PathLike[str]) -> InstanceFile:
    """Return the instance that a file of JSON holds; ``path`` is for messages. InstanceError: it is not valid."""
    with reading():
        if len(raw) > LARGE and (found := _by_lines(raw)):
            return found
        text = decoded(raw, path)
        return instance_from(parse_json(text, path), os.fspath(path), null="null" in text)


def _part(head: Mapping[str, object], field: str) -> type[Part] | None:
    """Return the class of the entries of a list in a file that begins with these fields; None: it holds no parts."""
    kind = _family_in(head.get("format"))
    fields = {} if kind is None else FAMILIES[kind].instance.model_fields
    return part_of(fields[field].annotation) if field in fields else None


def _from_rows(path: str) -> InstanceFile:
    """Read a Parquet file; blocks that are refused stay plain data, which are refused once more with all else that is wrong."""
    from dlsched.core.parquet import read_parquet

    data, field, blocks = read_parquet(path)
    part, entries = _part(data, field), list[object]()
    for block in blocks:
        try:
            entries += block if part is None else validated(part, block)
        except ValueError:
            entries += block
    return instance_from(cast(Json, {**data, field: entries}), path)


def _by_lines(raw: bytes) -> InstanceFile | None:
    """Read a large file by some lines at a time; None: it is not valid, or needs a closer look."""
    found = in_lines(raw, _BLOCK)
    if found is None:
        return None
    data: dict[str, object] = {**found[0]}
    columns: PartColumns | None = None
    try:
        for field, places in found[1].items():
            part = _part(data, field)
            blocks = (entries_of(raw[begin:end]) for begin, end in places)
            if part is not None and part.agree is not None and field == "jobs":
                columns = PartColumns.joined(map(partial(PartColumns.of_rows, part), blocks))
            else:
                data[field] = [*chain.from_iterable(blocks if part is None else map(partial(validated, part), blocks))]
        name = _family_in(data.pop("format", None))
        if name is None:
            return None
        kind: type[InstanceFile] = FAMILIES[name].instance
        if columns is None:
            return kind(**data)
        del data["jobs"]
        return kind.of_columns(columns, **data)
    except (InstanceError, ValueError, TypeError):
        return None


def read_or_same(instance: InstanceFile | str | os.PathLike[str]) -> InstanceFile:
    """Return an instance, read from its file if a path is given; UsageError for anything else."""
    loaded: InstanceFile = read(instance) if isinstance(instance, str | os.PathLike) else instance
    family_of(loaded)  # refuses anything that is no instance
    return loaded


def instance_from(data: Json, path: str, *, null: bool = True) -> InstanceFile:
    """Validate the content of an instance file; ``path`` is for messages, ``null`` False where no null can stand in it."""
    name = "standard input" if path == "-" else path
    if not isinstance(data, dict):
        raise InstanceError(
            where=f"{name}: the file", found="no object", allowed="an object with the fields of a format"
        )
    found = data.get("format")
    family = _family_in(found) if isinstance(found, str) else None
    if family is None:
        shown = "nothing" if "format" not in data else repr(found)[:60]
        allowed = ", ".join(f"dlsched/{each}/1" for each in FAMILIES)
        raise InstanceError(where=f"{name}: format", found=shown, allowed=allowed)
    kind: type[InstanceFile] = FAMILIES[family].instance
    if null:
        filled = {key: value for key, value in data.items() if value is not None or key not in kind.nullable}
        _refuse_null(filled, name, ())
    try:
        return kind(**{key: value for key, value in data.items() if key != "format"})
    except InstanceError as error:
        raise InstanceError(error.head, where=name, more=error.more) from None


def _refuse_null(data: dict[str, Json] | list[Json], name: str, where: tuple[str | int, ...]) -> None:
    """Refuse null: a field that does not apply is left out of a file."""
    kinds = set(map(type, data.values() if isinstance(data, dict) else data))
    if kinds <= _PLAIN:
        return
    entries: Iterable[tuple[str | int, Json]] = data.items() if isinstance(data, dict) else enumerate(data)
    # Depth first; lists of numbers were passed above without a look at each.
    for key, value in entries:
        if value is None:
            raise InstanceError(
                where=f"{name}: {field_path((*where, key))}", found="null", allowed="a value, or no such field"
            )
        if isinstance(value, list | dict):
            _refuse_null(value, name, (*where, key))


@uncollected()
def write(item: InstanceFile | Result[Solution], path: str | os.PathLike[str]) -> None:
    """Write an instance or a result; the file appears whole or not at all (``-``: standard output).

    JSON, packed by gzip if the name ends with ``.gz``; an instance as Parquet if it ends with ``.parquet``.

    Raises
    ------
    InputError
        The file cannot be written.
    SolverMissingError
        pyarrow, which Parquet needs, is not installed.
    """
    if not isinstance(item, InstanceFile | Result):
        raise UsageError(where="item", found=type(item).__name__, allowed="an instance or a result")
    if isinstance(item, Result):
        require_json(path)
    data = item.as_data() if isinstance(item, Result) else item.in_blocks()
    if not path_of(path).endswith(PARQUET):
        write_text(path, json_pieces(data))
        return
    from dlsched.core.parquet import write_parquet

    rows = next(field for field, value in data.items() if isinstance(value, Iterator))
    write_parquet(data, cast(type[Part], _part(data, rows)), path)


def require_json(path: str | os.PathLike[str]) -> None:
    """Refuse a path of a result whose ending stands for instances (UsageError)."""
    if path_of(path).endswith(PARQUET):
        raise UsageError(where="path", found=f"{PARQUET} for a result", allowed="JSON, such as .json or .json.gz")


def verify(instance: InstanceFile, result: "Result[Solution] | Claim") -> "Verification":
    """Check all that a result says against its instance: what is verified, recomputed, claimed, or false.

    Raises
    ------
    InputError
        The result belongs to another instance.
    """
    from dlsched.results.reading import Claim
    from dlsched.results.verification import require_same_instance, verify_claim

    family = family_of(instance)
    if isinstance(result, Result):
        require_same_instance(family, instance, result, "result")
        solution = None if result.solution is None else result.solution.as_data()
        result = Claim(solution, result.objective, result.method, result)
    if not isinstance(result, Claim):
        raise UsageError(
            where="result", found=type(result).__name__, allowed="a result, as solve or read_result returns it"
        )
    return verify_claim(family, instance, result)


def read_result(path: str | os.PathLike[str], instance: InstanceFile | None = None) -> Result[Solution]:
    """Read a result file, as ``write`` makes it (``-``: standard input).

    Parameters
    ----------
    path
        File of a complete result, ``dlsched/result/1``.
    instance
        The instance that was solved. With it ``solution`` is of the family's own type, and ``instance`` is
        the result's; without it ``solution`` holds the data of the file, and ``instance`` a name and a hash.

    Raises
    ------
    InputError
        The file cannot be read, is not a complete result, contradicts itself, or is a result of another instance. What it says
        is not checked; ``verify`` does that.
    """
    from dlsched.results.reading import claim_from
    from dlsched.results.verification import read_solution, require_same_instance

    name = path_of(path)
    claim = claim_from(read_json(path), name)
    if claim.result is None:
        raise InputError(where=f"{name}: format", found="nothing", allowed="dlsched/result/1")
    if instance is None:
        return claim.result
    family = family_of(instance)
    require_same_instance(family, instance, claim.result, name)
    solution = None if claim.solution is None else read_solution(family, instance, claim, name)
    return replace(claim.result, instance=instance, solution=solution)


def check(instance: InstanceFile, solution: Solution | Result[Solution] | Mapping[str, object]) -> list[Violation]:
    """Return the rules that a solution breaks; an empty list means feasible.

    Parameters
    ----------
    solution
        A solution, a result that holds one, or the data of a solution, as ``solution`` of a result file has them.

    Raises
    ------
    InputError
        The data are no solution of the family.
    UsageError
        The result holds no solution.
    """
    family = family_of(instance)
    answer = solution.solution if isinstance(solution, Result) else solution
    if isinstance(answer, Mapping):
        answer = family.read_solution(plain(dict(answer)), instance)
    if answer is None or not hasattr(answer, "as_data"):
        raise UsageError(where="solution", found=type(answer).__name__, allowed="a solution, or its data")
    return family.violations(instance, answer, "solution")


if TYPE_CHECKING:
    from dlsched import async_sgd, elastic_stream, matching_placement, ring_allocation, ring_embedding, srpt_mapping

    Given: TypeAlias = Any
    """What the implementation takes by name."""


@overload
def generate(family: Literal["ring_allocation"], **named: "Given") -> "ring_allocation.Instance": ...
@overload
def generate(family: Literal["elastic_stream"], **named: "Given") -> "elastic_stream.Instance": ...
@overload
def generate(family: Literal["matching_placement"], **named: "Given") -> "matching_placement.Instance": ...
@overload
def generate(family: Literal["srpt_mapping"], **named: "Given") -> "srpt_mapping.Instance": ...
@overload
def generate(family: Literal["ring_embedding"], **named: "Given") -> "ring_embedding.Instance": ...
@overload
def generate(family: Literal["async_sgd"], **named: "Given") -> "async_sgd.Instance": ...
@overload
def generate(family: str, **named: "Given") -> InstanceFile: ...


def generate(
    family: str,
    *,
    preset: str | None = None,
    jobs: int | None = None,
    gpus: int | None = None,
    max_gpus: int | None = None,
    seed: int = 0,
    **options: Value | None,
) -> InstanceFile:
    """Draw an instance; the same arguments give the same instance.

    Parameters
    ----------
    family
        Name of a family.
    preset
        What kind of instance; None: the family's first.
    jobs, gpus, max_gpus
        Numbers of jobs and of GPUs (units, workers), and the largest count for a job; None: the preset's.
    seed
        Of every draw.
    **options
        The family's own options, such as ``load``.

    Raises
    ------
    UsageError
        The family has no such preset or option, or a value is out of range.

    >>> generate("ring_allocation", jobs=3, gpus=8, seed=1).jobs[0].id
    'j0'
    """
    record = find_family(family)
    preset = preset or next(iter(record.presets))
    require_preset(record.presets, preset)
    values = {"jobs": jobs, "gpus": gpus, "max_gpus": max_gpus, **options}
    chosen = {name: plain(value) for name, value in values.items() if value is not None}
    takes = inspect.signature(record.generate).parameters
    for name, value in chosen.items():
        if name not in takes:
            raise UsageError(where=name, found=value, allowed=f"no such option for {family}")
    instance: InstanceFile = record.generate(preset=preset, seed=plain(seed), **chosen)
    return instance
