"""Tables of every instance: which groups have one, and what stands in their cells."""

from dataclasses import replace

from dlsched.study.figures.summary import summarise
from dlsched.study.reports.instance_tables import MOST_INSTANCES, instance_tables
from dlsched.study.rows import Row
from tests.study.by_hand import answer, dead


def of_file(row: Row, file: str) -> Row:
    return replace(row, preset="", source=file)


def test_cells_say_ratio_seconds_and_what_ended_the_search() -> None:
    rows = [
        of_file(answer("i0", "exact", 1.0, status="optimal", time_s=0.25), "a.json"),
        of_file(answer("i0", "mine", 1.5), "a.json"),
        of_file(dead("i0", "late"), "a.json"),
        of_file(answer("i1", "exact", 1.25, kind="bound", status="time_limit", time_s=10.0), "b.json"),
        of_file(replace(answer("i1", "low", 1.0, kind="bound"), objective=None, ratio=None, bound=80.0), "b.json"),
        of_file(dead("i1", "late", time_s=2.0), "b.json"),
    ]
    heading, words, table = instance_tables(summarise(rows))
    assert heading == "## Every instance of ring_allocation, files" and words.startswith("Ratio and seconds")
    assert table.splitlines()[0] == "| instance | reference | exact | mine | late | low |"
    assert table.splitlines()[2:] == [
        "| i0 | 100 | 1, 0.25 s | 1.50, 1 s | timeout | - |",
        "| i1 | 100 (bound) | \\<= 1.25, 10 s, time\\_limit | - | 2 s, timeout | 0.800, 1 s |",
    ]


def test_files_of_one_name_are_two_instances() -> None:
    rows = [of_file(answer("same", "mine", 1.5), "a.json"), of_file(answer("same", "mine", 2.0), "b.json")]
    _, _, table = instance_tables(summarise(rows))
    assert [line.split(" | ")[2] for line in table.splitlines()[2:]] == ["1.50, 1 s |", "2.00, 1 s |"]


def test_drawn_instances_and_many_have_none() -> None:
    assert not list(instance_tables(summarise([answer("i0", "mine", 1.5)])))
    many = [of_file(answer(f"i{index}", "mine", 1.5), "a.json") for index in range(MOST_INSTANCES + 1)]
    assert not list(instance_tables(summarise(many)))
    assert list(instance_tables(summarise(many[1:])))


def test_without_a_reference() -> None:
    _, _, table = instance_tables(summarise([of_file(answer("i0", "mine", None), "a.json")]))
    assert table.splitlines()[2] == "| i0 | - | 1 s |"


def test_instances_alike_in_all_but_their_number_are_two() -> None:
    rows = [
        replace(of_file(answer("same", "mine", ratio), "a.json"), instance_id=at) for at, ratio in ((1, 1.5), (2, 2.0))
    ]
    _, _, table = instance_tables(summarise(rows))
    assert len(table.splitlines()) == 4
