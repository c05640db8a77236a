"""Strict reading, canonical hashing and whole writing of JSON."""

import hashlib
import io
import json
import os
import sys
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dlsched.cluster.speeds import SpeedTable
from dlsched.core.errors import InputError
from dlsched.core.files import (
    canonical_sha256,
    entries_of,
    in_lines,
    json_pieces,
    json_text,
    read_json,
    require_writable,
    whole_file,
    write_text,
)
from dlsched.core.messages import field_path
from dlsched.core.texts import text_of


def refused(tmp_path, content):
    """Message of the InputError for a file with this content."""
    path = tmp_path / "file.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_json(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "path"),
    [
        ('{"a": 1, "a": 1}', "a"),
        ('{"jobs": [{"id": 1}, {"id": 1, "x": 2, "x": 3}]}', "jobs[1].x"),
        ('{"jobs": [{"speed": {"1": 2, "1": 2}}]}', "jobs[0].speed.1"),
        ('[[{}, {"k": {"z": 1, "z": [1]}}]]', "[0][1].k.z"),
        ('{"a": {"b": 1, "b": 1}, "c": 1, "c": 2}', "c"),
        ('{"a"\t: 1, "b":\n{"c" : 1, "c"\n: 2}}', "b.c"),
        (r'{"a": {"b": 1, "\u0062": ":", "c": ":"}, "d\u003a": "\":"}', "a.b"),
    ],
)
def test_duplicate_keys_are_refused_with_their_path(tmp_path, content, path):
    """JSON readers drop all but one of repeated keys; here the path of the first is named."""
    message = refused(tmp_path, content)
    assert f": {path}: found the key twice, allowed: once" in message


def test_a_repeated_key_whose_first_value_is_lost_is_refused(tmp_path):
    """The inner repetition disappears with the outer one; the file is refused all the same."""
    assert "found the key twice" in refused(tmp_path, '{"a": {"b": 1, "b": 2}, "a": 3}')


@pytest.mark.parametrize(
    "data",
    [
        {"a": ":", "b :": [":", ' " : " \t:\n:', {"a:": 1.5}]},
        {"source": "https://example.org:80/a", "jobs": [{"id": "a :b"}, {"id": ":"}]},
        [{}, {}, ":", {"": {"": ""}}, ": :", '":', "\\:", None, True, 7, -0.0],
    ],
)
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (" , ", "\r\n:\t"), (",\n", ": ")])
def test_colons_inside_text_are_no_repetition(tmp_path, data, separators):
    """Wherever colons and blanks stand, what was written is read, in the same order and types."""
    path = tmp_path / "file.json"
    path.write_text(json.dumps(data, separators=separators))
    assert repr(read_json(path)) == repr(data)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "line 1 column 2: found no JSON"),
        ("", "found no JSON"),
        ('{"a": 1}\n{"b": 2}', "line 2 column 1"),
        (b'{"a": "\xff"}', "byte 7: found no UTF-8"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' + "1" * 5000 + "}", "number that cannot be read"),
    ],
)
def test_malformed_files_are_refused(tmp_path, content, words):
    """Each way of not being JSON has its message with the place."""
    assert words in refused(tmp_path, content)


def test_missing_file(tmp_path):
    """The system's reason is given."""
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_json(tmp_path / "none.json")
    with pytest.raises(InputError, match="cannot be read"):
        read_json(tmp_path)


def test_standard_input(monkeypatch):
    """``-`` reads standard input, and messages say so."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b'{"a": [1, 2.5]}')))
    assert read_json("-") == {"a": [1, 2.5]}
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"nope")))
    with pytest.raises(InputError, match="standard input: line 1"):
        read_json("-")


def test_canonical_hash_by_hand():
    """Sorted keys, no blanks, UTF-8 and not escapes, floats as repr."""
    text = '{"a":[1,2.5],"b":{"x":160.0,"ü":"é"}}'
    expected = hashlib.sha256(text.encode("utf-8")).hexdigest()
    assert canonical_sha256({"b": {"ü": "é", "x": 160.0}, "a": [1, 2.5]}) == expected


def test_json_text_by_hand():
    """A line for each field, and one for each entry of a list of objects; it reads back as it was."""
    assert json_text({"name": "x", "jobs": [{"id": "a"}, {"id": "b"}], "ends": [1, 2]}) == (
        '{\n "name": "x",\n "jobs": [\n  {"id": "a"},\n  {"id": "b"}\n ],\n "ends": [1, 2]\n}\n'
    )


def test_not_a_number_is_never_written():
    """NaN and infinities are not JSON."""
    for value in (float("nan"), float("inf")):
        with pytest.raises(ValueError):
            json_text({"a": value})


def test_written_files_are_whole(tmp_path):
    """The file has the content and ordinary permissions, and no temporary file is left."""
    path = tmp_path / "out.json"
    write_text(path, "first")
    write_text(path, "sécond")
    assert path.read_text(encoding="utf-8") == "sécond"
    assert os.listdir(tmp_path) == ["out.json"]
    mask = os.umask(0)
    os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~mask


def test_bytes_appear_whole_or_not_at_all(tmp_path):
    """Until the block ends the old file is there, and after an error in it too, with nothing beside it."""
    path = tmp_path / "out.bin"
    path.write_bytes(b"old")
    with whole_file(path) as stream:
        stream.write(b"\x00\xff")
        stream.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"\x00\xff"
    with pytest.raises(KeyError), whole_file(path) as stream:
        stream.write(b"half")
        raise KeyError("reading")
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"\x00\xff", [path])


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666])
def test_permissions_stay(tmp_path, mode):
    """Who may not read the old file may not read the new one; a new name says nothing of who may."""
    path = tmp_path / "out.json"
    path.write_text("old")
    path.chmod(mode)
    with whole_file(path) as stream:
        stream.write(b"new")
        assert [each.stat().st_mode & 0o777 for each in tmp_path.iterdir()] == [mode, mode]
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", mode)


@pytest.mark.parametrize("letter", ["x", "ü", "中"])
def test_names_as_long_as_they_may_be(tmp_path, letter):
    """255 bytes can be written, by way of a temporary file whose name is no longer; more are refused before work is done."""
    longest = letter * (255 // len(letter.encode()))
    require_writable(tmp_path / longest)
    write_text(tmp_path / longest, "whole")
    assert os.listdir(tmp_path) == [longest]
    for call in (lambda path: write_text(path, ""), require_writable):
        with pytest.raises(InputError, match=r"cannot be written: File name too long$"):
            call(tmp_path / (longest + letter))


def test_field_path():
    """Paths are written as people write them."""
    assert field_path(("jobs", 3, "speed_law", "theta", 0)) == "jobs[3].speed_law.theta[0]"
    assert field_path(()) == "the file"


def by_lines(text, size=1):
    """What a text holds, its lists read some lines at a time; None: it needs a closer look."""
    found = in_lines(text.encode(), size)
    if found is None:
        return None
    data, lists = found
    assert all(data[field] == [] for field in lists)
    try:
        for field, places in lists.items():
            data[field] = [each for begin, end in places for each in entries_of(text.encode()[begin:end])]
    except (ValueError, TypeError):
        return None
    return data


def test_lists_are_read_some_lines_at_a_time():
    """As dlsched writes them, whatever else is in the file; other layouts are parsed at once."""
    data = {
        "format": "f",
        "name": "a",
        "jobs": [{"id": 1}, {"id": 2, "x": {"1": [2.5], "jobs": []}}, {"id": 3}],
        "others": [[], {}],
        "more": [{"y": ",{"}],
        "z": -0.0,
    }
    for size in (1, 20, 1000):
        assert by_lines(json_text(data), size) == data
    assert len(in_lines(json_text(data).encode(), 1)[1]["jobs"]) == 3
    assert by_lines(json.dumps(data)) is None
    assert by_lines(json_text(data | {"known": {"jobs": []}})) is None


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "[]", "{", "{}", '{"a": 1', '{"a": 1} {', '{"a": 1},', '{"a" 1}', '{"a": }', '{1: 2}', '{"a": 1,}',
        '{"format": "f", "jobs": [{"id": 1},]}', '{"format": "f", "jobs": [{"id": 1} {"id": 2}]}',
        '{"format": "f", "jobs": [{"id": 1}', '{"format": "f", "jobs": [{"id": 1}}', '{"format": "f", "jobs": [1]}',
        '{"format": "f", "format": "f"}', '{"a": 1, "jobs": [{"id": 1, "id": 2}]}', '{"a": ":", "b": ": ", "a": 2}',
        '{"format": "f", "jobs": [{"id": 1, "id": 1}]}', '{"format": "f", "jobs": [{"id": 1, "id": 1},\n{"id": 2}]}',
        '{"format": "f", "jobs": [{"id": 1, "x": [{"y": 1, "y": 2}]},\n{"id": 2}]}',
        '{\n "format": "f",\n "jobs": [\n  {"id": 1, "id": 1}\n ]\n}', '{\n "jobs": [\n  {"id": 1},\n  {"id": 2',
        '{\n "jobs": [\n  1 2\n ]\n}',
        '{\n "jobs": [\n  1\n ],\n "jobs": [\n  2\n ]\n}', '{\n "jobs": [\n  1\n ],\n "jobs": []\n}',
        '{\n "jobs": [\n  {"id": 1},\n\n ]\n}', '{\n "jobs": [\n  {"id": null}\n ]\n}',
        '{\n "name": null,\n "jobs": [\n  1\n ]\n}', '{\n "jobs": [\n\n ]\n}',
        '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
)  # fmt: skip
def test_what_needs_a_closer_look_is_not_read_by_lines(text):
    assert by_lines(text) is None


def test_blocks_make_the_same_text_and_hash():
    entries = [{"id": "ü", "x": [1.0, {"b": 2, "a": 1e300}]}, {"id": "b"}, {"y": "\n"}]
    data = {"z": 1, "jobs": entries, "a": [], "m": [[1], [2]]}
    for blocks in ([entries], [entries[:1], entries[1:]], [entries[:2], entries[2:]]):
        assert "".join(json_pieces(data | {"jobs": iter(blocks)})) == json_text(data)
        assert canonical_sha256(data | {"jobs": iter(blocks)}) == canonical_sha256(data)
    whole = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert canonical_sha256(data) == hashlib.sha256(whole.encode()).hexdigest()


NUMBERS = (0.0, -0.0, 1e-4, 9.999e-5, 1e-5, 12.5, 1e15, 9999999999999998.0, 1e16, 1e300, 5e-324)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([*NUMBERS, "%s", "1e5", '"', "0.00001", "\u2028"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PLAIN))
def test_texts_are_those_of_json(entries):
    """Floats as Python writes them, and keys in order, whatever is beside them."""
    assert text_of(entries, ", ") == json.dumps(entries, ensure_ascii=False)[1:-1]
    ordered = json.dumps(entries, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert text_of(entries, ",", canonical=True) == ordered[1:-1]


def test_tables_stand_in_plain_data_as_objects():
    table = SpeedTable({9: 4.0, 10: 2.5, 11: 1e-5})
    assert text_of([{"t": table}], "") == '{"t": {"9": 4.0, "10": 2.5, "11": 1e-05}}'
    assert text_of([{"t": table}], "", canonical=True) == '{"t":{"10":2.5,"11":1e-05,"9":4.0}}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        text_of([1.0, float("nan")], ",")


def test_the_hash_of_a_long_list_is_that_of_its_text():
    """Wherever it stands, though its text is made in blocks; objects within objects, empty ones and none."""
    jobs = [{"id": f"é{number}", "%": number / 7} for number in range(4_001)]
    data = {"recipe": ["a", None, {"instance": {"z": {}, "jobs": jobs, "a": []}}], "b": 1.5}
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert canonical_sha256(data) == hashlib.sha256(text.encode()).hexdigest()
    assert canonical_sha256(data["recipe"][2]) == canonical_sha256(
        {"instance": {"z": {}, "jobs": iter([jobs]), "a": []}}
    )
