"""``dlsched.whatif``: the answer of the command line, in one call."""

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended

import dlsched
from dlsched.traces import read_queue
from evaluation.dumps import write_sacct

pytest.importorskip("matplotlib", reason="Matplotlib is not installed: there is no page")
pytest.importorskip("jinja2", reason="Jinja2 is not installed: there is no page")


def test_it_says_what_the_command_line_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., Ended]
) -> None:
    """The same sentences and the same figures, from a path and from a queue; progress counts the runs."""
    monkeypatch.chdir(tmp_path)
    write_sacct(tmp_path / "sacct.txt", 20, 16)
    heard: list[dlsched.Progress] = []
    found = dlsched.whatif(
        "sacct.txt", "slurm", gpus=16, policies=["fifo", "fifo-backfill"], workers=1, progress=heard.append
    )
    words = ("--gpus", 16, "--policies", "fifo,fifo-backfill", "-o", "page.html", "--workers", "1")
    said = cli("whatif", "sacct.txt", "--source", "slurm", *words).out
    assert found.sentences and said.startswith("\n".join(found.sentences) + "\n")
    assert heard[-1].nodes == 3 and heard[-1].doing == "3 of 3 runs"
    queue = read_queue("slurm", "sacct.txt")
    again = dlsched.whatif(queue, gpus=16, policies=["fifo", "fifo-backfill"], store="kept.sqlite", workers=1)
    assert str(again) == str(found) and (tmp_path / "kept.sqlite").exists()
    assert ">fifo</td>" in found._repr_html_() and repr(found) == "WhatIf(sacct.txt on 16 GPUs)"
    found.write("again.html")
    first, last = (line.split("|")[4].replace("T", " ") for line in (tmp_path / "sacct.txt").read_text().split()[1::19])
    assert f"<dt>Submitted</dt><dd>{first} to {last}</dd>" in (tmp_path / "again.html").read_text()
    assert (tmp_path / "again.html").read_text().startswith("<!doctype html>")
    pytest.importorskip("pandas")
    frame = found.frame()
    assert set(frame["policy"]) == {"what happened", "fifo", "fifo-backfill"} and set(frame["gpus"]) == {16}


def test_the_call_of_its_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of Python that docs/whatif.md shows first."""
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    write_sacct(tmp_path / "sacct.txt", 12, 128)
    page = (Path(__file__).parents[2] / "docs" / "whatif.md").read_text(encoding="utf-8")
    exec(compile(page.split("```python\n")[1].split("```")[0], "docs/whatif.md", "exec"), {})
    assert (tmp_path / "answer.html").exists()


def test_wrong_usage_is_refused_before_the_trace_is_read() -> None:
    """The file need not exist; what the command line refuses its own tests say."""
    for given, said in (({}, "source: found none"), ({"source": "slurm", "policies": ["none"]}, "policies: found")):
        with pytest.raises(dlsched.UsageError, match=said):
            dlsched.whatif("nowhere.txt", **given)  # type: ignore[arg-type]


def test_what_is_left_of_gpus_where_jobs_take_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The figures of ``test_fragments.test_shares_and_whole_gpus``; used are 2 x .6 x 4 + .5 x 2 + 2 of 14 GPU-seconds."""
    monkeypatch.chdir(tmp_path)
    Path("queue.csv").write_text("submit,n,run_s\n0,0.6,4\n0,0.6,4\n1,0.5,2\n2,2,1\n")
    options = {"columns": "arrival=submit,gpus=n,duration=run_s", "gpus_of_node": 2, "gpus": 2, "workers": 1}
    found = dlsched.whatif("queue.csv", "csv", policies=["fifo"], **options)  # type: ignore[arg-type]
    (fate,) = (fate for name, fate in found.content.clusters[0].fates.items() if name == "fifo")
    assert fate.used.share == pytest.approx(7.8 / 14)
    slices = found.data()["slices"]
    assert isinstance(slices, dict)
    assert slices["usual"] == pytest.approx(
        {
            "fragment": 4.45 / 14,
            "fragment_of_free": 4.45 / 6.2,
            "gpus_touched": 1,
            "gpus_touched_at_once": 1,
            "lost": 5.4 / 14,
        }
    )
    assert (
        "Of the GPU time, 39 % under fifo lay in free parts of GPUs that no waiting job could use." in found.sentences
    )
    assert ">lost</th>" in found._repr_html_() and "fragment of free" in found.html()
