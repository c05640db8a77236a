"""The shipped instances: valid, sourced, and their stated optima proven again; further proofs are with each family."""

import json
from pathlib import Path
from typing import Any

import pytest
from shipped import ROOT, files

import dlsched
from dlsched import FAMILIES
from dlsched.core.files import canonical_sha256, json_text, parse_json
from dlsched.core.gap import MEETING

MET = ("paper-sqrt-100x50x200-seed1",)
"""Where ``exact`` ends as its bound meets the answer held, and a better answer is known within that tolerance."""
LONG = (
    *("paper-energy-100x50x200-seed1", "energy-20x12x24-seed1", "mixed-8x6x5-seed1", "single-gpu-700x480-seed1"),
    *("paper-alpha1-100x50x200-seed1", "paper-alpha2-100x50x200-seed1", "paper-sqrt-100x50x200-seed1"),
    *(
        "recurring-200x64-seed1",
        "communication-heavy-100x64-seed1",
        "uneven-servers-100x64-seed1",
        "mixed-100x64-seed1",
    ),
    "published-60x64-seed2",
    *("mixed-6x4x3-seed1", "concave-10000x65536-seed9", "small-5x5x5-seed4"),
)
"""What takes seconds or minutes to prove."""
PRICED = 5e-3
"""Relative: prices, and plans made from them, depend on which of equally good vertices HiGHS returns, so on its version."""


@pytest.mark.parametrize("family", FAMILIES)
def test_there_are_enough(family: str) -> None:
    """At least twelve of each family, four of them or more with a proven optimum."""
    data = [json.loads(path.read_text(encoding="utf-8")) for path in files(family)]
    assert len(data) >= 12
    assert sum("optimum" in file["known"] for file in data) >= 4


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_the_example_is_shipped(family: Any) -> None:
    """The example of each family lies among its instances, solved."""
    example = family.example()
    assert dlsched.read(ROOT / family.name / f"{example.name}.json").sha256 == example.sha256


def shipped() -> list[Any]:
    """All files; proving some again takes long, so that is of a long campaign."""
    found = []
    for path in sorted(ROOT.glob("*/*.json")):
        stream = path.parent.name == "elastic_stream" and "optimum" not in json.loads(path.read_text("utf-8"))["known"]
        slow = stream or path.stem in LONG
        found.append(pytest.param(path, id=path.stem, marks=pytest.mark.long if slow else ()))
    return found


@pytest.mark.parametrize("family", FAMILIES)
def test_large_files_are_read_and_written_in_parts(family: str, monkeypatch: Any, tmp_path: Path) -> None:
    """Entry by entry and block by block: the same instances, bytes and hashes as at once."""
    paths = [path for path in files(family) if path.stat().st_size < 200_000]
    at_once = [dlsched.read(path) for path in paths]
    monkeypatch.setattr("dlsched.core.instance._BLOCK", 2)
    monkeypatch.setattr("dlsched.families.LARGE", 0)
    at_once_again = []
    monkeypatch.setattr("dlsched.families.parse_json", lambda *a: at_once_again.append(a[1]) or parse_json(*a))
    for path, instance in zip(paths, at_once, strict=True):
        same = dlsched.read(path)
        assert same == instance
        dlsched.write(same, tmp_path / "same.json")
        assert (tmp_path / "same.json").read_text("utf-8") == json_text(instance.as_data())
        assert same.sha256 == canonical_sha256(instance.canonical_data())
    # colons in a source hide whether a key is repeated
    assert 2 * len(at_once_again) < len(paths)


@pytest.mark.parametrize("path", shipped())
def test_what_is_known_is_proven_again(path: Path) -> None:
    """The exact method finds the stated optimum, or the stated bounds; its certificate holds; the README lists the file."""
    instance = dlsched.read(path)
    family = FAMILIES[instance.family]
    result = dlsched.solve(instance)
    if instance.known.optimum is not None:
        assert result.status == "optimal"
        near = MEETING if path.stem in MET else 1e-12
        assert result.objective == pytest.approx(instance.known.optimum, rel=near)
    else:
        assert result.status == "feasible"
        lower, upper = sorted((result.objective, result.bound))
        near = PRICED if instance.family in ("elastic_stream", "srpt_mapping") else 1e-12
        assert upper == pytest.approx(instance.known.upper, rel=near)
        assert lower == pytest.approx(instance.known.lower, rel=near)
    assert instance.known.proof and (instance.source or path.stem == family.example().name)
    verified = family.verify(instance, result.certificate)
    maximising = family.sense_for(instance) is dlsched.Sense.MAXIMIZE
    assert verified <= result.certificate.value if maximising else verified >= result.certificate.value
    assert f"`{path.name}`" in (path.parent / "README.md").read_text(encoding="utf-8")
