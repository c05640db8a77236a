"""Reading and writing JSON: strict, with located messages, canonical bytes for the hash, files that appear whole or not."""

import contextlib
import gzip
import hashlib
import json
import math
import os
import re
import secrets
import stat
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

from dlsched.core.errors import InputError, UsageError
from dlsched.core.messages import field_path, shown
from dlsched.core.ranges import LARGEST_COUNT
from dlsched.core.texts import text_of

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""What a JSON file may hold."""

GZ = ".gz"
"""Ending of the names of files that gzip packs."""
_NAMED = 50  # letters of a file's name in that of its temporary file, which must not get too long

UNFINISHED: set[str] = set()
"""Temporary files that may exist now: code that ends the program at once removes them first."""


class _RepeatedKey(dict[str, Json]):
    """A JSON object that has ``key`` more than once."""

    key = ""


def read_json(path: str | os.PathLike[str]) -> Json:
    """Parse a JSON file (``-``: standard input); InputError: it is unreadable, no UTF-8, no JSON, or repeats a key."""
    return parse_json(decoded(read_bytes(path), path), path)


def path_of(path: object, where: str = "path") -> str:
    """Return a path that a user gave as text; UsageError: it is none."""
    if isinstance(path, str | os.PathLike) and isinstance(text := os.fspath(path), str):
        return text
    raise UsageError(where=where, found=type(path).__name__, allowed="a path")


def decoded(raw: bytes, path: str | os.PathLike[str]) -> str:
    """Return bytes as text; ``path`` is for messages. InputError: they are not UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        where = f"{_shown(path)}: byte {error.start}"
        raise InputError(where=where, found="no UTF-8", allowed="UTF-8 text") from None


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """Return what a file holds (``-``: standard input; ``.gz``: packed); InputError: it cannot be read."""
    name = _shown(path)
    if path_of(path) == "-" and sys.stdin is None:
        raise InputError("standard input: cannot be read: it is closed")
    try:
        raw = sys.stdin.buffer.read() if path_of(path) == "-" else Path(path).read_bytes()
        return gzip.decompress(raw) if name.endswith(GZ) else raw
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(where=name, found=f"no whole gzip file ({error})", allowed="one, or another ending") from None
    except OSError as error:
        raise InputError(f"{name}: cannot be read: {error.strerror or error}") from None


def parse_json(text: str, path: str | os.PathLike[str]) -> Json:
    """Parse the text of a JSON file; ``path`` is for messages. InputError: it is not JSON, or an object repeats a key."""
    name = _shown(path)
    repeated: list[str] = []

    def unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        marked = _RepeatedKey(found)
        times = Counter(key for key, _ in pairs)
        marked.key = next(key for key in found if times[key] > 1)
        repeated.append(marked.key)
        return marked

    try:
        data: Json = json.loads(text)
        if not _all_keys(text, _keys(data)):  # a third of the time of a look at every pair
            data = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise InputError(
            where=f"{name}: line {error.lineno} column {error.colno}", found=f"no JSON ({error.msg})", allowed="JSON"
        ) from None
    except RecursionError:
        raise InputError(
            where=name, found="lists or objects nested too deeply", allowed="the fields of the format"
        ) from None
    except ValueError as error:  # an integer of more digits than Python converts
        raise InputError(
            where=name, found=f"a number that cannot be read ({error})", allowed="numbers in range"
        ) from None
    if repeated:
        raise InputError(where=f"{name}: {_repeated_path(data)}", found="the key twice", allowed="once")
    return data


def _shown(path: str | os.PathLike[str]) -> str:
    return "standard input" if path_of(path) == "-" else path_of(path) or "''"


_LIST = re.compile(rb'\n "(\w+)": \[\n')


def in_lines(text: bytes, size: int) -> tuple[dict[str, Json], dict[str, list[tuple[int, int]]]] | None:
    """Parse an object as ``json_pieces`` writes it, but for its lists; return it with these empty, and where they are.

    The places of a list are of blocks of whole lines, each ``size`` bytes or a little longer, for ``entries_of``.
    None: the text is written in another way, or needs a closer look, as it has null or a key twice.
    """
    if b"null" in text:
        return None
    outside, lists, end = list[bytes](), dict[str, list[tuple[int, int]]](), 0
    while opening := _LIST.search(text, end):
        outside.append(text[end : opening.end()])
        begin, end = opening.end(), text.find(b"\n ]", opening.end())
        if end < 0:
            return None
        lists[opening[1].decode()] = places = list[tuple[int, int]]()
        while begin <= end:
            stop = text.find(b",\n", begin + size, end)
            places.append((begin, end if stop < 0 else stop))
            begin = places[-1][1] + len(",\n")
    try:
        head = b"".join([*outside, text[end:]]).decode()
        data: Json = json.loads(head)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not lists or not _all_keys(head, _keys(data)):
        return None
    # a list is the one of its name if the name stands nowhere else
    return (data, lists) if all(data.get(key) == [] and head.count(f'"{key}"') == 1 for key in lists) else None


def entries_of(lines: bytes) -> list[Json]:
    """Parse some lines of a list; ValueError or TypeError: they hold no entries, or a key twice."""
    from pydantic_core import from_json  # many commands write files and read none

    text = lines.decode()
    found: list[Json] = from_json(f"[{text}]", cache_strings="keys")
    flat = "[" not in text and text.count("{") == len(found)
    keys = sum(map(dict.__len__, cast(list[dict[str, Json]], found))) if flat else _keys(found)
    if not found or not _all_keys(text, keys):
        raise ValueError("no entries, or a key twice")
    return found


def _keys(data: Json) -> int:
    """Number of keys of an object and of all in it."""
    entries = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    inside = sum([_keys(each) for each in entries if type(each) is dict or type(each) is list])
    return inside + len(data) if isinstance(data, dict) else inside


def _all_keys(text: str, keys: int) -> bool:
    """Whether counting colons proves that no object repeats a key, if all together have that many different ones.

    A quote or a blank precedes the colon of each pair, so there are at most as many pairs as such colons. Colons inside
    strings only make the proof fail.
    """
    return keys == text.count(":") or keys == sum(text.count(before + ":") for before in '" \t\n\r')


def _repeated_path(data: Json) -> str:
    """Path of the first repeated key, in the order of the file."""
    stack: list[tuple[tuple[str | int, ...], Json]] = [((), data)]
    # Depth first, in the order of the file
    while stack:
        where, value = stack.pop()
        if isinstance(value, _RepeatedKey):
            return field_path((*where, value.key))
        if isinstance(value, dict):
            stack.extend(((*where, key), item) for key, item in reversed(value.items()))
        elif isinstance(value, list):
            stack.extend(((*where, index), item) for index, item in reversed(list(enumerate(value))))
    return "an object"  # its own key was repeated too, so the parser dropped the object


_BLOCK = 2_000  # entries of a list whose text is in memory at a time
_FEW = 64  # entries of an object or a list whose text is made one by one
_DEPTH = 4  # of the lists in an instance, in the recipe of one


def canonical_sha256(data: Mapping[str, object]) -> str:
    """SHA-256 of the UTF-8 JSON with sorted keys, separators ``,`` and ``:``, floats as Python's repr.

    An iterator among the values yields a list in blocks, of which one is in memory at a time, or their JSON without brackets.
    """
    digest = hashlib.sha256()
    for piece in _canonical(data, _DEPTH):
        digest.update(piece)
    return digest.hexdigest()


def _canonical(value: object, depth: int) -> Iterator[bytes]:
    """Canonical JSON in pieces: what stands in an object, ``depth`` levels down, one by one, and long lists in blocks."""
    if type(value) is list and len(value) > _BLOCK:
        entries = value
        value = (entries[start : start + _BLOCK] for start in range(0, len(entries), _BLOCK))
    if isinstance(value, Iterator):
        for place, block in enumerate(value):
            yield b"," if place else b"["
            yield block if isinstance(block, bytes) else text_of(block, ",", canonical=True).encode()
        yield b"]"
    elif isinstance(value, Mapping) and depth and (depth == _DEPTH or len(value) <= _FEW):
        for number, key in enumerate(sorted(value)):
            yield f"{',' if number else '{'}{json.dumps(key, ensure_ascii=False)}:".encode()
            yield from _canonical(value[key], depth - 1)
        yield b"}" if value else b"{}"
    elif type(value) is list and value and depth and len(value) <= _FEW:
        for number, entry in enumerate(value):
            yield b"," if number else b"["
            yield from _canonical(entry, depth - 1)
        yield b"]"
    else:
        yield text_of([value], "", canonical=True).encode()


def json_text(data: Mapping[str, object]) -> str:
    """JSON that people can read and diff: a line for each field, and for each entry of a list of objects."""
    return "".join(json_pieces(data))


def json_pieces(data: Mapping[str, object]) -> Iterator[str]:
    """Yield ``json_text`` in pieces; an iterator among the values yields a list in blocks, as ``canonical_sha256`` takes them."""
    for number, (key, value) in enumerate(data.items()):
        yield f"{',' if number else '{'}\n {json.dumps(key)}: "
        if not isinstance(value, Iterator) and not (isinstance(value, list) and value and isinstance(value[0], dict)):
            yield text_of([value], "")
            continue
        for place, block in enumerate(value if isinstance(value, Iterator) else [value]):
            yield ("," if place else "[") + "\n  " + text_of(block, ",\n  ")
        yield "\n ]"
    yield "\n}\n" if data else "{\n\n}\n"


def require_writable(path: str | os.PathLike[str]) -> None:
    """Refuse, before long work, a path whose folder is missing or read-only, or that is a folder or read-only (InputError)."""
    if path_of(path) != "-":
        _target(path)


def _target(path: str | os.PathLike[str]) -> tuple[str, int | None]:
    """Return the path, links resolved, at which a file would be written, and an existing file's mode."""
    try:
        target = os.path.realpath(path)
    except OSError as error:
        raise _unwritable(path, f"the current folder: {error.strerror or error}") from None
    mode = None
    try:
        mode = os.stat(target).st_mode
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from None
    folder = os.path.dirname(target)
    if mode is not None and stat.S_ISDIR(mode):
        raise _unwritable(path, "it is a folder")
    if not os.path.isdir(folder):
        raise _unwritable(path, f"there is no folder {folder}")
    replaced = mode is None or stat.S_ISREG(mode)  # the folder gets a new file
    if not (mode is None or os.access(target, os.W_OK)) or (replaced and not os.access(folder, os.W_OK)):
        raise _unwritable(path, "no permission")
    return target, mode


def _unwritable(path: str | os.PathLike[str], why: str) -> InputError:
    return InputError(f"{_shown(path)}: cannot be written: {why}")


def write_text(path: str | os.PathLike[str], text: str | Iterator[str]) -> None:
    """Write text, or its pieces, as ``whole_file`` and ``packed`` do (``-``: standard output)."""
    pieces = iter([text]) if isinstance(text, str) else text
    if path_of(path) == "-":
        for piece in pieces:
            sys.stdout.write(piece)
        return
    with whole_file(path) as stream, packed(stream, path) as file:
        file.writelines(piece.encode("utf-8") for piece in pieces)


def packed(
    stream: BinaryIO, path: str | os.PathLike[str]
) -> contextlib.AbstractContextManager[BinaryIO | gzip.GzipFile]:
    """Return what compresses into the stream if the file's name asks for it, the same bytes for the same bytes."""
    if not os.fspath(path).endswith(GZ):
        return contextlib.nullcontext(stream)
    return gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=stream, mtime=0)


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file; it gets its final name if the block ends without an error, else it is removed.

    ``-`` is standard output; links are followed; an existing file keeps its permissions; devices and pipes are written to
    directly. InputError: the file cannot be written.
    """
    if path_of(path) == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target, mode = _target(path)
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:_NAMED]}.{secrets.token_hex(4)}")
    # Registered before it exists, so that a signal between the two leaves no file behind.
    UNFINISHED.add(temporary)
    try:
        if mode is not None and not stat.S_ISREG(mode):
            with open(target, "wb") as stream:
                yield stream
            return
        with open(temporary, "xb") as stream:
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))  # the new file has the permissions of the old one
            yield stream
        os.replace(temporary, target)
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        UNFINISHED.discard(temporary)


Where = tuple[str | int, ...]


def read_object(data: object, fields: set[str], where: Where) -> dict[str, Json]:
    """Return an object that has only these fields; InputError: it is no object, or has another field."""
    if not isinstance(data, dict):
        raise InputError(where=field_path(where), found=shown(data), allowed="an object")
    other = next((key for key in data if key not in fields), None)
    if other is not None:
        allowed = ", ".join(sorted(fields))
        raise InputError(where=field_path((*where, other)), found="an unknown field", allowed=f"only {allowed}")
    return data


def read_list(entry: Mapping[str, object], field: str, where: Where) -> list[Any]:
    """Return a list; InputError for anything else."""
    value = entry.get(field)
    if not isinstance(value, list):
        raise InputError(where=field_path((*where, field)), found=shown(value), allowed="a list")
    return value


def read_number(entry: Mapping[str, object], field: str, where: Where) -> float:
    """Return a finite number; InputError for anything else."""
    value = entry.get(field)
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            if math.isfinite(value):
                return float(value)
        except OverflowError:
            pass
    raise InputError(where=field_path((*where, field)), found=shown(value), allowed="a finite number")


def read_integer(entry: Mapping[str, object], field: str, where: Where) -> int:
    """Return an integer of any size; InputError for anything else."""
    value = entry.get(field)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(where=field_path((*where, field)), found=shown(value), allowed="an integer")
    return value


def read_whole(entry: Mapping[str, object], field: str, where: Where) -> int:
    """Return an integer of at most 2**53 in size; InputError for anything else."""
    value = read_integer(entry, field, where)
    if abs(value) > LARGEST_COUNT:
        raise InputError(where=field_path((*where, field)), found=shown(value), allowed="an integer up to 2**53")
    return value


def read_name(entry: Mapping[str, object], field: str, where: Where) -> str:
    """Return a string; InputError for anything else."""
    value = entry.get(field)
    if not isinstance(value, str):
        raise InputError(where=field_path((*where, field)), found=shown(value), allowed="a string")
    return value
