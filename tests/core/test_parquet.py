"""Instances as Parquet and packed by gzip: read back equal to the bit, refused where JSON would be, damage is an error."""

import gzip
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from pyarrow import parquet
from shipped import files

import dlsched
from dlsched import FAMILIES, InstanceError, SolverMissingError, UsageError
from dlsched.core import parquet as module
from dlsched.families import find_family
from dlsched.testing import CASES

ENDINGS = (".parquet", ".json.gz")


def json_of(instance: Any, folder: Path) -> str:
    """The instance as plain JSON, in which every bit of a float shows."""
    dlsched.write(instance, folder / "plain.json")
    return (folder / "plain.json").read_text(encoding="utf-8")


def assert_returns(instance: Any, folder: Path) -> None:
    """Assert that what is written and read is the same instance, with the same hash."""
    for ending in ENDINGS:
        dlsched.write(instance, folder / f"x{ending}")
        again = dlsched.read(folder / f"x{ending}")
        assert json_of(again, folder) == json_of(instance, folder)
        assert (again, again.sha256) == (instance, instance.sha256)


@pytest.mark.parametrize("family", FAMILIES)
def test_presets_and_examples_return(family: str, tmp_path: Path) -> None:
    """Of every family."""
    assert_returns(getattr(dlsched, family).example(), tmp_path)
    for preset in find_family(family).presets:
        assert_returns(dlsched.generate(family, preset=preset, seed=4), tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_shipped_instances_return(family: str, tmp_path: Path) -> None:
    """Of every family, as many as there are."""
    for path in files(family):
        assert_returns(dlsched.read(path), tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_random_instances_return(family: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """With fields that some jobs have and others lack."""
    folder = tmp_path_factory.mktemp("random")

    @settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
    @given(CASES[family].instances())
    def hold(instance: Any) -> None:
        assert_returns(instance, folder)

    hold()


def test_a_geometry_of_ones_own_returns(tmp_path: Path) -> None:
    """``slicing`` is a name or an object, which no type of Arrow is; such a column holds JSON."""
    slots = {"slots": 2, "profiles": [{"id": "half", "size": 1, "starts": [0, 1]}]}
    data = dlsched.srpt_mapping.example().as_data()
    del data["format"]
    data["servers"] = [
        data["servers"][0] | {"id": f"s{n}", "slicing": each} for n, each in enumerate([slots, "none"] * 9)
    ]
    assert_returns(dlsched.srpt_mapping.Instance(**data), tmp_path)
    assert "slicing" in parquet.read_schema(tmp_path / "x.parquet").names


def test_row_groups_and_batches_join(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nested values too, wherever a batch begins."""
    monkeypatch.setattr("dlsched.core.instance._BLOCK", 3)
    monkeypatch.setattr(module, "_GROUP", 2)
    monkeypatch.setattr(module, "_BLOCK", 4)
    for family, jobs in (("ring_embedding", 25), ("srpt_mapping", 25), ("ring_allocation", 19)):
        assert_returns(dlsched.generate(family, jobs=jobs, seed=2), tmp_path)
    assert parquet.ParquetFile(tmp_path / "x.parquet").num_row_groups == 4


def test_columns_have_the_types_of_the_fields(tmp_path: Path) -> None:
    """Others may read them without dlsched."""
    dlsched.write(dlsched.ring_allocation.example(), tmp_path / "x.parquet")
    schema = parquet.read_schema(tmp_path / "x.parquet")
    assert schema.field("epoch_time_s").type == pa.map_(pa.string(), pa.float64())
    assert (schema.field("id").type, schema.field("max_gpus").type) == (pa.string(), pa.int64())
    assert json.loads(schema.metadata[b"dlsched.fields"])["format"] == "dlsched/ring_allocation/1"
    dlsched.write(dlsched.generate("ring_embedding", jobs=300), tmp_path / "y.parquet")
    utility = parquet.read_schema(tmp_path / "y.parquet").field("utility").type
    assert {"kind", "scale", "cap"} <= {each.name for each in utility}


ROWS = [
    {"id": name, "epochs": 2.0, "epoch_time_s": [("1", 4.0), ("2", 3.0)]} for name in ("a", "b", "c")
]  # a map is a list of pairs
TYPES = pa.schema([("id", pa.string()), ("epochs", pa.float64()), ("epoch_time_s", pa.map_(pa.string(), pa.float64()))])
HEAD = {"format": "dlsched/ring_allocation/1", "name": "three", "gpus": 6}


def foreign(path: Path, rows: Any = ROWS, types: pa.Schema = TYPES, head: object = HEAD, field: str = "jobs") -> None:
    """Write a file as another program would."""
    about = {"dlsched.fields": head if isinstance(head, str) else json.dumps(head), "dlsched.rows": field}
    parquet.write_table(pa.Table.from_pylist(rows, types.with_metadata(about)), path)


def changed(name: str, *values: Any) -> list[dict[str, Any]]:
    """The rows with other values of one column."""
    return [row | {name: value} for row, value in zip(ROWS, values, strict=True)]


def test_files_of_others_are_read(tmp_path: Path) -> None:
    """Whole numbers, dictionaries of words and large lists are as good as what dlsched writes."""
    types = pa.schema([TYPES.field(0), ("epochs", pa.int32()), TYPES.field(2)])
    foreign(tmp_path / "x.parquet", changed("epochs", 2, 2, 2), types)
    ids = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), pa.array(["a", "b", "c"], pa.large_string()))
    table = parquet.read_table(tmp_path / "x.parquet").set_column(0, "id", ids)
    assert table.schema.field(0).type == pa.dictionary(pa.int8(), pa.large_string())
    parquet.write_table(table, tmp_path / "x.parquet")
    expected = {**HEAD, "jobs": [row | {"epoch_time_s": dict(row["epoch_time_s"])} for row in ROWS]}  # type: ignore[call-overload]
    (tmp_path / "x.json").write_text(json.dumps(expected), encoding="utf-8")
    assert dlsched.read(tmp_path / "x.parquet") == dlsched.read(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda path: foreign(path, changed("epochs", 1.0, float("nan"), -3.0)),
         r"jobs\[1\].epochs: found nan, allowed: a finite number \(and 1 more\)\n  jobs\[2\].epochs: found -3.0"),
        (lambda path: foreign(path, changed("id", "a", "b", "b")), r"jobs\[2\].id: found 'b', the id of jobs\[1\] too"),
        (lambda path: foreign(path, changed("id", "a", None, "b")), r"jobs\[1\].id: found nothing, allowed: this field is"),
        (lambda path: foreign(path, changed("id", *"abc"), TYPES.append(pa.field("x", pa.int8()))), "^$"),
        (lambda path: foreign(path, changed("x", 1, 2, 3), TYPES.append(pa.field("x", pa.int8()))),
         r"jobs\[0\].x: found an unknown field"),
        (lambda path: foreign(path, changed("epoch_time_s", [("1", 1.0)], [("1", None)], [("1", 1.0)])),
         r"jobs\[1\].epoch_time_s.1: found null"),
        (lambda path: foreign(path, changed("epoch_time_s", *[[("1", 1.0), ("1", 2.0)]] * 3)), "a key of a map twice"),
        (lambda path: foreign(path, []), "jobs: found an empty list"),
        (lambda path: foreign(path, head={**HEAD, "format": "f"}), "format: found 'f', allowed: dlsched/ring_allocation/1, "),
        (lambda path: foreign(path, head={**HEAD, "source": None}), "source: found null, allowed: a value, or no such field"),
        (lambda path: foreign(path, head="{"), "metadata: line 1 column 2: found no JSON"),
        (lambda path: foreign(path, head={**HEAD, "jobs": []}), "metadata: found no dlsched.fields and dlsched.rows"),
        (lambda path: foreign(path, field="workers"), r"jobs: found nothing, allowed: this field is required \(and 1 more\)"),
        (lambda path: parquet.write_table(pa.table({"a": [1]}), path), "metadata: found no dlsched.fields and dlsched.rows"),
        (lambda path: foreign(path, [], pa.schema([("a", pa.int8()), ("a", pa.int8())])), "column a: found the column twice"),
        (lambda path: path.write_bytes(b""), r"found no whole Parquet file \(Parquet file size is 0 bytes\), allowed: one"),
        (lambda path: path.write_text("{}"), "found no whole Parquet file"),
        (lambda path: None, "cannot be read: No such file or directory$"),
        (lambda path: path.mkdir(), "found no whole Parquet file"),
    ],
)  # fmt: skip
def test_wrong_files_are_refused(write: Callable[[Path], object], words: str, tmp_path: Path) -> None:
    """As JSON is, with the place; a column without a value is as if it were not there."""
    path = tmp_path / "x.parquet"
    write(path)
    if words == "^$":
        assert [job.id for job in dlsched.read(path).jobs] == ["a", "b", "c"]
        return
    with pytest.raises(InstanceError, match=words) as raised:
        dlsched.read(path)
    assert str(raised.value).startswith(str(path))
    assert raised.value.exit_code == 3


def test_many_wrong_rows_end_the_reading(tmp_path: Path) -> None:
    """Ten errors are shown; the rows behind them are not kept."""
    foreign(tmp_path / "x.parquet", [ROWS[0] | {"epochs": -1.0}] * 100_000)
    with pytest.raises(InstanceError, match=r"jobs\[0\].epochs: found -1.0, .* \(and at least 10 more\)"):
        dlsched.read(tmp_path / "x.parquet")


def test_damage_is_an_error(tmp_path: Path) -> None:
    """Wherever the file ends, and whatever byte of the data pages changes, which have check sums."""
    instance = dlsched.ring_embedding.example()
    for ending in ENDINGS:
        path = tmp_path / f"x{ending}"
        dlsched.write(instance, path)
        whole = path.read_bytes()
        pages = len(whole) - int.from_bytes(whole[-8:-4], "little") - 8 if ending == ".parquet" else len(whole)
        for place in itertools.chain(range(1, len(whole), 37), [len(whole) - 1]):
            path.write_bytes(whole[:place])
            with pytest.raises(InstanceError, match="found no whole"):
                dlsched.read(path)
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 85]) + whole[place + 1 :])
            try:
                assert dlsched.read(path) == instance or place >= pages
            except InstanceError as error:
                assert error.exit_code == 3


def test_packed_text_that_is_wrong_is_located(tmp_path: Path) -> None:
    """By its line and column, or its byte, once unpacked; and what is not packed is refused."""
    path = tmp_path / "x.json.gz"
    for raw, words in (
        (gzip.compress(b'{"a":'), "line 1 column 6: found no JSON"),
        (gzip.compress(b"\xff"), "byte 0: found no UTF-8"),
        (b"{}", r"found no whole gzip file \(Not a gzipped file"),
    ):
        path.write_bytes(raw)
        with pytest.raises(InstanceError, match=words):
            dlsched.read(path)


def test_results_are_packed(tmp_path: Path) -> None:
    """The same bytes for the same result, read and verified like others; Parquet is for instances."""
    instance = dlsched.ring_allocation.example()
    result = dlsched.solve(instance)
    for name in ("a.json.gz", "b.json.gz", "c.json"):
        dlsched.write(result, tmp_path / name)
    packed, again, plain = (each.read_bytes() for each in sorted(tmp_path.iterdir()))
    assert packed == again
    assert gzip.decompress(packed) == plain
    assert dlsched.verify(instance, dlsched.read_result(tmp_path / "a.json.gz", instance))
    with pytest.raises(UsageError, match=r"path: found .parquet for a result, allowed: JSON"):
        dlsched.write(result, tmp_path / "r.parquet")


def test_without_pyarrow_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 6, and no file; packed JSON needs nothing."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for act in (lambda path: dlsched.write(dlsched.ring_allocation.example(), path), dlsched.read):
        with pytest.raises(
            SolverMissingError, match=r"^Parquet needs pyarrow: pip install 'dlsched\[frames\]'$"
        ) as raised:
            act(tmp_path / "x.parquet")
        assert raised.value.exit_code == 6
    assert not list(tmp_path.iterdir())
    dlsched.write(dlsched.ring_allocation.example(), tmp_path / "x.json.gz")
