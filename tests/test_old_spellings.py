"""Old names of arguments and options, and the old order of others: they work for one more release and say so."""

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended

import dlsched
from dlsched import ring_allocation

TRACE = Path(__file__).parent / "traces" / "data"
DUMP = """\
JobIDRaw|User|Partition|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|AllocTRES
1|ann|gpu|COMPLETED|2025-03-03T00:00:00|2025-03-03T00:00:00|2025-03-03T01:00:00|3600|90|cpu=8,gres/gpu=2,node=1
2|bob|gpu|RUNNING|2025-03-03T00:01:00|2025-03-03T01:00:00|Unknown|600|90|cpu=8,gres/gpu=4,node=1
"""


def test_inches_are_width(tmp_path: Path) -> None:
    """The old name of the argument draws the same figure, with a warning; the new one draws it without."""
    pytest.importorskip("matplotlib")
    found = dlsched.compare(ring_allocation.example(), ["exact", "doubling"])
    with pytest.warns(
        DeprecationWarning, match=r"^Comparison\.plot: width_in= is now width=, and goes in the next rel"
    ):
        old = found.plot(width_in=3.3)  # type: ignore[call-arg]
    assert old.get_figwidth() == found.plot(width=3.3).get_figwidth() == pytest.approx(3.3)


@pytest.mark.parametrize("old", [("--plot-width", "3.5"), ("--plot-width=3.5",)])
def test_compare_has_width(old: tuple[str, ...], tmp_path: Path, cli: Callable[..., Ended]) -> None:
    """One line on standard error names the new option."""
    pytest.importorskip("matplotlib")
    dlsched.write(ring_allocation.example(), tmp_path / "a.json")
    given = ("compare", tmp_path / "a.json", "--methods", "equal", "--plot", tmp_path / "a.svg")
    said = "dlsched: --plot-width is now --width; the old spelling goes in the next release"
    ended = cli(*given, *old)
    assert (ended.code, ended.err.splitlines()[0]) == (0, said)
    assert 'width="252pt"' in (tmp_path / "a.svg").read_text(encoding="utf-8")  # 3.5 x 72
    new = cli(*given, "--width", "3.5")
    assert new.code == 0 and "spelling" not in new.err


@pytest.mark.parametrize("command", ["import", "advise"])
def test_the_file_comes_first(command: str, tmp_path: Path, cli: Callable[..., Ended]) -> None:
    """SOURCE FILE gives what FILE --source SOURCE gives, wherever options stand; a file with a source's name is a file."""
    for name in ("dump.txt", "slurm"):
        (tmp_path / name).write_text(DUMP, encoding="utf-8")
    new = cli(command, tmp_path / "dump.txt", "--source", "slurm", "--gpus", 8)
    said = f"dlsched: {command} SOURCE FILE is now {command} FILE --source SOURCE; the old spelling goes in the next release"
    assert new.code == 0 and said not in new.err
    for old in (("slurm", tmp_path / "dump.txt", "--gpus", 8), ("--gpus", 8, "slurm", tmp_path / "dump.txt")):
        ended = cli(command, *old)
        assert (ended.code, ended.out) == (0, new.out)
        assert ended.err.splitlines() == [said, *new.err.splitlines()]
    assert cli(command, tmp_path / "slurm", "--source=slurm", "--gpus", 8).out.count("spelling") == 0
