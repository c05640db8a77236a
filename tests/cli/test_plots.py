"""What ``dlsched compare --plot`` draws: a chart an instance, targets of odd names, answers twice, names twice."""

from pathlib import Path

import pytest

from dlsched import elastic_stream, ring_allocation, ring_embedding, srpt_mapping
from dlsched.cli.plots import draw
from dlsched.comparison.rows import Compared, compare_one
from dlsched.core.limits import Limits
from dlsched.core.verdict import Verdict
from dlsched.families import family_of

METHODS = {elastic_stream: ["equal", "doubling"], srpt_mapping: ["fifo", "least-work"], ring_embedding: ["fifo", "drf"]}


def named(instance, name):
    return type(instance).model_validate(instance.model_dump() | {"name": name})


def rows_of(instance, methods):
    chosen = [family_of(instance).method(name) for name in methods]
    return compare_one(instance, chosen, {}, Limits())[0]


@pytest.mark.parametrize("family", METHODS)
def test_families_with_a_chart(family, tmp_path, capsys):
    """One instance gives its chart and no profile."""
    instance = family.example()
    draw(rows_of(instance, METHODS[family]), [instance], str(tmp_path / "out.svg"))
    assert [path.name for path in tmp_path.iterdir()] == ["out.svg"]
    assert capsys.readouterr().err == f"plot: {tmp_path / 'out.svg'}\n"
    content = (tmp_path / "out.svg").read_text()
    assert "Performance profile" not in content
    assert METHODS[family][0] in content


def test_several_instances_have_files_of_their_own(tmp_path):
    """Names that no file can hold, or that would be one file's, are changed; the profile is drawn too."""
    example = ring_embedding.example()
    names = ["a/b\n$x$\x1b", "a_b__x__", "../" * 99, "plain"]
    instances = [*(named(example, name) for name in names), named(ring_allocation.example(), "counts")]
    rows = [
        row for instance in instances for row in rows_of(instance, ["fifo"] if instance.name != "counts" else ["equal"])
    ]
    draw(rows, instances, str(tmp_path / "out.png"))
    long = ("../" * 99).replace("/", "_")[:80]
    expected = {"out.png", "out-a_b__x__.png", "out-a_b__x__-2.png", f"out-{long}.png", "out-plain.png"}
    assert {path.name for path in tmp_path.iterdir()} == expected


def test_equal_names_are_left_out_and_said(tmp_path, capsys):
    """Rows know their instance by its name: two of one name cannot be told apart, so neither is drawn."""
    twins = [named(ring_allocation.example(), "twin\n"), named(ring_allocation.example(), "twin\n")]
    rows = [row for instance in twins for row in rows_of(instance, ["equal"])]
    draw(rows, twins, str(tmp_path / "out.png"))
    assert capsys.readouterr().err == "plot: left out twin\\n: 2 instances have that name\n"
    assert not list(tmp_path.iterdir())


def test_answers_of_one_name_are_numbered(tmp_path, monkeypatch):
    """Two answers from elsewhere that call themselves mine are two points; those to no instance given are none."""
    instance = named(ring_allocation.example(), "one")
    rows = [
        Compared("one", "mine", "foreign", "feasible", 2.0, verdict=Verdict(ratio=1.5)),
        Compared("one", "mine", "foreign", "feasible", 3.0, verdict=Verdict(ratio=float("inf"))),
        Compared("-", "stray", "foreign", "belongs to no instance that was given"),
        Compared("one", "lp", "bound", "feasible", bound=2.0),
    ]
    drawn = []
    monkeypatch.setattr("dlsched.plots.draw_comparison", lambda points, path, **_: drawn.extend(points) or Path(path))
    draw(rows, [instance], str(tmp_path / "out.png"))
    assert [(point.method, point.ratio) for point in drawn] == [("mine *", 1.5), ("mine * (2)", 1e100)]


def test_what_cannot_be_drawn_is_said(tmp_path, capsys):
    """No answer, or a cluster that is no picture: a line says so, and the table stands."""
    instance = srpt_mapping.example()
    draw([Compared(instance.name, "fifo", "heuristic", "time_limit")], [instance], str(tmp_path / "out.png"))
    assert capsys.readouterr().err == f"plot: no method found an answer to {instance.name}\n"
    vast = instance.model_dump() | {"servers": [{"id": "vast", "gpus": 200_000}]}
    instance = srpt_mapping.Instance.model_validate(vast)
    draw(rows_of(instance, ["fifo"]), [instance], str(tmp_path / "out.png"))
    assert "is not drawn: servers: found 200000 GPUs" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
