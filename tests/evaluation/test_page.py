"""The page: what stands on it, hostile names, and the same bytes for the same figures."""

import re

import pytest
from study.reports.synthetic import HOSTILE

from dlsched.evaluation.answer import unit_of
from dlsched.evaluation.clusters import HAPPENED, Cluster
from dlsched.evaluation.measures import sizes_of
from dlsched.evaluation.page import PageContent, policies_table, render, sizes_table, users_table
from dlsched.evaluation.question import Question
from dlsched.traces.queue import Queue

from .by_hand import cluster

pytest.importorskip("matplotlib", reason="Matplotlib is not installed: there is no page")
pytest.importorskip("jinja2", reason="Jinja2 is not installed: there is no page")

SLOW = [3600.0 * hours for hours in (9, 10, 11, 9, 10, 11)]
FAST = [3600.0 * hours for hours in (4, 5, 6, 4, 5, 6)]


def told(*clusters: Cluster, names: tuple[str, ...] = ("fifo", "sjf"), title: str = "trace.txt") -> PageContent:
    """A page of clusters."""
    return PageContent(
        Question(Queue("slurm", title, (), (), dated=False), policies=names),
        clusters
        or (cluster({HAPPENED: SLOW, "fifo": SLOW, "sjf": FAST}, least_flow_s=14400.0, users=("ann", "bob") * 3),),
        windows=6,
        audit=("Jobs read: 6.",),
        command="dlsched whatif trace.txt",
        environment={"dlsched": "1"},
    )


def text_of(page: str) -> str:
    """What the page says, without styles and scripts."""
    body = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


def test_the_answer_comes_first_and_all_parts_are_there() -> None:
    """Sentence, bound, policies, sizes, users, audit, command."""
    said = text_of(render(told()))
    parts = (
        *("switching from", "at most 25 %", "waiting median", "Jain's index", "1 GPU", "ann"),
        *("Jobs read: 6.", "dlsched whatif trace"),
    )
    places = [said.index(part) for part in parts]
    assert places[:2] == sorted(places[:2]) and places[0] < min(places[2:])


def test_equal_figures_give_equal_bytes() -> None:
    """No clock, and no order of a hash."""
    assert render(told()) == render(told())


def test_a_page_of_many_jobs_is_small() -> None:
    """Of 20,000 jobs of 500 users under five policies, less than 1 MB: figures are drawn at so many points, not for each job."""
    names = tuple(f"policy-{number}" for number in range(5))
    flows_s = {
        name: [60.0 * (10 + 37 * index * (number + 1) % 9973) for index in range(20_000)]
        for number, name in enumerate((HAPPENED, *names))
    }
    users = [f"user{index % 500}" for index in range(20_000)]
    assert len(render(told(cluster(flows_s, users=users, least_flow_s=600.0), names=names)).encode()) < 1e6


def test_hostile_names_are_text() -> None:
    """Of the trace, of policies, of users, in the audit and in what failed: no markup of theirs is left."""
    names = tuple(HOSTILE[:4])
    flows = {HAPPENED: SLOW, **dict.fromkeys(names[:3], FAST)}
    one = cluster(flows, users=HOSTILE[:6], unanswered={names[3]: f"error: {HOSTILE[0]}"})
    page = render(told(one, names=names, title=HOSTILE[1].replace("/", "|")))
    outside = re.sub(r"<script\b.*?</script>", "", page, flags=re.DOTALL)
    for word in ("<script>alert", "<img", "\x1b"):
        assert word not in outside and "<script>alert" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_clusters_of_other_sizes_stand_beside_today() -> None:
    """A line each; a single one has no such table."""
    pages = told(cluster({HAPPENED: SLOW, "fifo": SLOW, "sjf": FAST}), cluster({"fifo": SLOW, "sjf": FAST}, gpus=4))
    said = text_of(render(pages))
    assert "Clusters of other sizes" in said and "has 4 GPUs" in said
    assert "Clusters of other sizes" not in text_of(render(told()))


def test_a_page_without_an_answer_is_a_page() -> None:
    """All policies failed: it says why."""
    one = cluster({"fifo": SLOW}, unanswered={"fifo": "timeout"})
    one.fates.clear()
    said = text_of(render(told(one)))
    assert "no policy has an answer" in said and "timeout" in said


def test_tables_hold_the_figures() -> None:
    """Cells of the policies, the sizes and the users, by hand."""
    one = cluster(
        {"fifo": SLOW, "sjf": FAST}, least_flow_s=14400.0, users=("ann", "ann", "ann", "bob", "", ""), run_s=3600
    )
    unit = unit_of(one)
    from dlsched.study.reports.page_parts import looks

    of_all = looks(["fifo", "sjf"])
    usual, best, bound = policies_table(one, of_all, unit).rows
    assert (usual[15].text, best[15].text) == ("0.997", "0.988")  # 10 and 9: 361 / 362; 5 and 4: 81 / 82
    assert [cell.text for cell in usual[:8]] == ["fifo", "–", "9.00", "9.00", *["10.0"] * 3, "10.0"]
    assert [best[1].text, best[1].note, best[14].text] == ["-5.00", "-5.00 to -5.00", "≤ 1.25"]
    assert [cell.text for cell in bound if cell.text != "–"] == ["the bound", "4.00"]
    assert [cell.text for cell in sizes_table(one, of_all, unit).rows[1]] == ["sjf", "4.00", "5.00"]
    users = users_table(one, of_all, unit)
    assert users is not None
    assert [cell.text for cell in users.rows[0]] == ["ann", "3", "50 %", "10.0", "5.00", "-50 %"]
    assert [cell.text for cell in users.rows[1]] == ["bob", "1", "17 %", "9.00", "4.00", "-56 %"]


def test_classes_of_sizes() -> None:
    """Up to a power of two each."""
    import numpy as np

    found, names = sizes_of(np.array([1, 2, 4, 5, 8, 9, 512]))
    shown = ["1 GPU", "2 GPUs", "3–4 GPUs", *["5–8 GPUs"] * 2, "9–16 GPUs", "257–512 GPUs"]
    assert [names[each] for each in found] == shown
    assert sizes_of(np.array([1]))[1] == ["1 GPU"]


def test_pools_stand_in_a_table_of_their_own() -> None:
    """Two of six jobs in one pool: their mean waits; a single pool has no table."""
    import numpy as np

    from dlsched.evaluation.page import waits_table
    from dlsched.study.reports.page_parts import looks

    of = np.array([True, True, False, False, False, False])
    one = cluster({"fifo": SLOW, "sjf": FAST}, run_s=3600)
    object.__setattr__(one, "pools", {"a": (2, of), "b": (6, ~of)})
    table = waits_table("pool", one.pools, one, looks(["fifo", "sjf"]), unit_of(one))
    assert table is not None
    # waits of 8 and 9 h, and of 10, 8, 9, 10 h
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["a", "2", "2", "8.50", "3.50"],
        ["b", "6", "4", "9.25", "4.25"],
    ]
    classes = waits_table("class", {"": (0, of), "high": (0, ~of)}, one, looks(["fifo", "sjf"]), unit_of(one))
    assert classes is not None and [column.head for column in classes.columns][:2] == ["class", "jobs"]
    assert [[cell.text for cell in row][:2] for row in classes.rows] == [["(none)", "2"], ["high", "4"]]
    assert waits_table("pool", {}, cluster({"fifo": SLOW}), looks(["fifo"]), unit_of(one)) is None
