"""Instances as Parquet: a row for each entry of the longest list, the other fields as JSON in the metadata of the schema."""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaValue

from dlsched.core.errors import InputError
from dlsched.core.files import Json, parse_json, whole_file
from dlsched.core.imports import needing
from dlsched.core.messages import cut, printable

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 2_000  # rows that are plain data at a time
_GROUP = 25  # blocks of a row group
_FIELDS, _ROWS, _TEXT = b"dlsched.fields", b"dlsched.rows", b"dlsched.json"
"""Keys of metadata: the fields beside the rows, and the name of the list of rows; of a column: that it holds JSON."""
_LEAVES = {"string": "string", "integer": "int64", "number": "float64", "boolean": "bool_"}
"""Arrow's names of types by those of JSON Schema."""


def write_parquet(data: Mapping[str, object], part: type[BaseModel], path: str | os.PathLike[str]) -> None:
    """Write data whose one iterator yields a list of parts in blocks; the file appears whole or not at all."""
    with needing("Parquet needs pyarrow", "frames"):
        import pyarrow as pa
        from pyarrow import parquet
    field, blocks = next((key, value) for key, value in data.items() if isinstance(value, Iterator))
    schema = part.model_json_schema()
    types = {name: _type(each, schema.get("$defs", {})) for name, each in schema["properties"].items()}
    columns = [
        pa.field(name, each or pa.string(), True, None if each else {_TEXT: b""}) for name, each in types.items()
    ]
    fields = json.dumps({key: value for key, value in data.items() if key != field}, allow_nan=False)
    arrow = pa.schema(columns, {_FIELDS: fields, _ROWS: field})

    def table(block: Iterable[BaseModel]) -> "pa.Table":
        rows = (each.model_dump(mode="json", exclude_defaults=True).items() for each in block)
        plain = [{key: value if types[key] else json.dumps(value) for key, value in row} for row in rows]
        return pa.Table.from_pylist(plain, arrow)

    tables = map(table, blocks)
    with whole_file(path) as stream, parquet.ParquetWriter(stream, arrow, write_page_checksum=True) as writer:
        while group := list(islice(tables, _GROUP)):
            writer.write_table(pa.concat_tables(group))


def _type(schema: JsonSchemaValue, kinds: JsonSchemaValue) -> "pa.DataType | None":
    """Return Arrow's type of a JSON Schema; objects of several kinds are one struct. None: there is no such type."""
    import pyarrow as pa

    either = [each for each in schema.get("anyOf") or schema.get("oneOf") or [schema] if each.get("type") != "null"]
    either = [kinds[each["$ref"].rpartition("/")[2]] if "$ref" in each else each for each in either]
    if all("properties" in each for each in either):
        members = {key: _type(value, kinds) for each in either for key, value in each["properties"].items()}
        return pa.struct(members) if all(members.values()) else None
    if either != [schema]:
        return _type(either[0], kinds) if len(either) == 1 else None
    inner = schema.get("additionalProperties") or schema.get("items") or next(iter(schema.get("prefixItems", ())), None)
    if isinstance(inner, dict):
        each = _type(inner, kinds)
        return each and (pa.list_(each) if schema["type"] == "array" else pa.map_(pa.string(), each))
    return getattr(pa, _LEAVES[schema["type"]])() if schema.get("type") in _LEAVES else None


def read_parquet(path: str) -> tuple[dict[str, Json], str, Iterator[list[object]]]:
    """Return the fields beside the rows, the name of the list of rows, and blocks of its rows, read as they are asked for.

    InputError: the file cannot be read, is no Parquet, is damaged, or has no such fields.
    """
    with needing("Parquet needs pyarrow", "frames"):
        import pyarrow as pa
        from pyarrow import parquet

    @contextlib.contextmanager
    def whole() -> Iterator[None]:
        """Turn what pyarrow and the system raise into errors that name the file."""
        try:
            yield
        except (pa.ArrowException, OSError, ValueError, ArithmeticError) as error:
            if isinstance(error, OSError) and error.errno:
                raise InputError(f"{path}: cannot be read: {os.strerror(error.errno)}") from None
            why = cut(printable(str(error)), 200)
            raise InputError(where=path, found=f"no whole Parquet file ({why})", allowed="one") from None

    with whole():
        file = parquet.ParquetFile(pa.OSFile(path), page_checksum_verification=True)
        columns = file.schema_arrow
    texts = {key: value.decode("utf-8", "replace") for key, value in (columns.metadata or {}).items()}
    fields, field = parse_json(texts.get(_FIELDS, "null"), f"{path}: metadata"), texts.get(_ROWS, "")
    if not isinstance(fields, dict) or not field or field in fields:
        keys = f"{_FIELDS.decode()} and {_ROWS.decode()}"
        raise InputError(where=f"{path}: metadata", found=f"no {keys}", allowed="these, as dlsched writes them")
    for name in columns.names:
        if columns.names.count(name) > 1:
            raise InputError(where=f"{path}: column {name}", found="the column twice", allowed="once")

    def rows() -> Iterator[list[object]]:
        with whole():
            for batch in file.iter_batches(_BLOCK):
                yield _plain(batch.to_struct_array())

    return fields, field, rows()


def _plain(values: "pa.Array") -> list[object]:
    """Return an array as plain data; structs are objects without what is null in them. InputError: a map has a key twice."""
    import pyarrow as pa

    kind = values.type
    entries: list[object]
    if pa.types.is_struct(kind):
        names = [each.name for each in kind]
        members = [_plain(each) for each in values.flatten()]
        for place, each in enumerate(kind):
            if _TEXT in (each.metadata or {}):
                members[place] = [text and parse_json(str(text), each.name) for text in members[place]]
        rows = zip(*members, strict=True)
        entries = [{key: each for key, each in zip(names, row, strict=True) if each is not None} for row in rows]
    elif pa.types.is_map(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        ends = values.offsets.to_pylist()
        spans = [slice(start - ends[0], end - ends[0]) for start, end in pairwise(ends)]
        if pa.types.is_map(kind):
            keys, items = (_plain(each[ends[0] : ends[-1]]) for each in (values.keys, values.items))
            maps = [dict(zip(keys[span], items[span], strict=True)) for span in spans]
            if sum(map(len, maps)) != len(keys):
                raise InputError(found="a key of a map twice", allowed="once")
            entries = [*maps]
        else:
            inner = _plain(values.values[ends[0] : ends[-1]])
            entries = [inner[span] for span in spans]
    else:
        return values.to_pylist()  # type: ignore[no-any-return]
    return [each if there else None for each, there in zip(entries, values.is_valid().to_pylist(), strict=True)]
