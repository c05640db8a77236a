"""Objects of JSON: files that are none, and quantities."""

from pathlib import Path

import pytest

from dlsched.core.errors import InputError
from dlsched.traces.cells import Damaged
from dlsched.traces.readers.kubernetes import fits, quantity, text_at
from dlsched.traces.readers.kubernetes_jobs import read_kueue


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *(("500m", 0.5), ("2", 2.0), (3, 3.0), ("+1", 1.0), (".5", 0.5)),
        *(("1k", 1000.0), ("1Ki", 1024.0), ("1.5Gi", 1.5 * 2**30), ("2e3", 2000.0)),
    ],
)
def test_quantities(value: str | int, expected: float) -> None:
    assert quantity(value) == expected


@pytest.mark.parametrize("value", ["", "four", "1,000", "1 k", "1kk", "e3", True, None, [], "1e999", "0x4", 1e300])
def test_what_is_no_quantity(value: object) -> None:
    with pytest.raises(Damaged, match="quantity"):
        quantity(value)  # type: ignore[arg-type]


def test_half_characters() -> None:
    """JSON may hold halves of characters, which no file can."""
    assert text_at({"a": {"b": "x\ud83dy"}}, "a", "b") == "x?y" and text_at({"a": "ü"}, "a") == "ü"


def test_names_of_resources() -> None:
    """A name, or a pattern."""
    for name, resource in (("nvidia.com/gpu", "nvidia.com/gpu"), ("amd.com/gpu", "*/gpu"), ("x/mig-1g.5gb", "x/mig-*")):
        assert fits(name, resource)
    assert not fits("nvidia.com/gpu.shared", "nvidia.com/gpu") and not fits("cpu", "*/gpu")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "found an empty file"),
        (b" \n", "found an empty file"),
        (b'{"items": [', "line 1, column 12: found JSON that breaks off"),
        (b'{"items": [{}\n,', "line 2, column"),
        (b"JobID|User\n1|2\n", "line 1, column 1: found JSON that breaks off or is wrong"),
        (b"[1, 2]", "items: found null, allowed: a list"),
        (b'{"items": 5}', "items: found 5, allowed: a list"),
        (b'{"items": []}', "found no job"),
        (b'"\xff\xfe"', "found bytes that are no text"),
        (b"[" * 100_000, "found JSON"),
        (b'{"items": ' + b"9" * 5000 + b"}", "found JSON that cannot be read"),
    ],
)
def test_files_that_hold_no_objects(content: bytes, said: str, tmp_path: Path) -> None:
    """Refused, with the place where they break off."""
    path = tmp_path / "workloads.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"workloads.json.*{said}"):
        read_kueue(path)


def test_what_powershell_writes(tmp_path: Path) -> None:
    """UTF-16 with its mark, and UTF-8 with one."""
    for encoding in ("utf-16", "utf-8-sig"):
        path = tmp_path / "workloads.json"
        path.write_text('{"items": []}', encoding=encoding)
        with pytest.raises(InputError, match="found no job that held GPUs"):
            read_kueue(path)
