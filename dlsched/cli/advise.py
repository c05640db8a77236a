"""``dlsched advise``: one decision for what waits and runs at a moment, as actions."""

import csv
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlsched.cli import completion
from dlsched.cli.options import AsJson
from dlsched.cli.output import print_json, print_table
from dlsched.core.errors import UsageError
from dlsched.core.files import Json, json_text, require_writable, write_text
from dlsched.core.messages import printable
from dlsched.core.spreadsheet import csv_text

if TYPE_CHECKING:
    from dlsched.traces.queues.deciding import Advice
    from dlsched.traces.queues.queue import Queue

NAME = "advise"
ENDINGS = (".json", ".csv")
COLUMNS = ("job", "action", "gpus", "nodes", "time")


def run(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="What has recorded the queue.", autocompletion=completion.sources)
    ],
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file, with the jobs that run and wait.")],
    gpus: Annotated[
        int | None,
        typer.Option(metavar="N", help="GPUs of the cluster; those of the nodes, or the most in use at once."),
    ] = None,
    gpus_of_node: Annotated[int, typer.Option(metavar="N", help="GPUs of a node where the file does not say.")] = 8,
    family: Annotated[
        str, typer.Option(metavar="FAMILY", help="srpt_mapping, ring_allocation or elastic_stream.")
    ] = "srpt_mapping",
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy", "--method", metavar="NAME", help="A policy or method of the family, `dlsched methods`."
        ),
    ] = None,
    at: Annotated[str | None, typer.Option(metavar="T", help="The moment, date or seconds; the latest.")] = None,
    estimates: Annotated[bool, typer.Option("--estimates", help="Users' limits, not recorded lengths.")] = False,
    movable: Annotated[bool, typer.Option("--movable", help="Jobs that run may be given other GPUs.")] = False,
    restart: Annotated[float, typer.Option(metavar="S", help="Seconds that it costs each.")] = 0.0,
    scaling: Annotated[str | None, typer.Option(metavar="HOW", help="own or published speeds; published.")] = None,
    max_gpus: Annotated[
        int | None, typer.Option(metavar="N", help="GPUs to which a job may grow; what it has.")
    ] = None,
    states: Annotated[str | None, typer.Option(metavar="A,B", help="Jobs in these states only; all.")] = None,
    slices: Annotated[
        str | None,
        typer.Option(
            metavar="HOW", help="Jobs on parts of GPUs: leave-out, whole; leave-out.", autocompletion=completion.slices
        ),
    ] = None,
    nodes: Annotated[str | None, typer.Option(metavar="FILE", help="List of nodes; openb, pai, philly-raw.")] = None,
    jobs: Annotated[str | None, typer.Option(metavar="FILE", help="Table of jobs; pai.")] = None,
    columns: Annotated[
        str | None, typer.Option("--map", metavar="KEY=COLUMN,...", help="Which column is what; csv.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option(metavar="SIGN", help="What parts the cells; slurm, csv.")] = None,
    gpu_resource: Annotated[str | None, typer.Option(metavar="NAME", help="What a GPU is called; kueue.")] = None,
    out: Annotated[str | None, typer.Option("-o", metavar="OUT", help="Write the actions, .json or .csv.")] = None,
    as_json: AsJson = False,
) -> int:
    """Decide once: which jobs start, keep their GPUs, get others, stop or wait, at a moment of a recorded queue."""
    from dlsched.traces import SOURCES, read_queue
    from dlsched.traces.queues.deciding import decide
    from dlsched.traces.queues.snapshot import moment_of

    if out is not None:
        if Path(out).suffix not in ENDINGS:
            raise UsageError(f"-o: found {out!r}, allowed: a name that ends in {' or '.join(ENDINGS)}")
        require_writable(out)
    reading = {
        "states": states,
        "slices": slices,
        "nodes": nodes,
        "jobs": jobs,
        "columns": columns,
        "delimiter": delimiter,
        "gpu_resource": gpu_resource,
    }
    reader = SOURCES[source].reader if source in SOURCES else None
    for name, value in reading.items():
        if value is not None and reader is not None and name not in ("states", "slices", *reader.options):
            raise UsageError(f"{name}: found {value!r}, allowed: no such option for source {source}")
    queue = read_queue(source, file, False, **reading)
    advice = decide(
        queue,
        family=family,
        method=policy,
        gpus=gpus,
        gpus_of_node=gpus_of_node,
        at_s=None if at is None else moment_of(queue, at),
        estimates=estimates,
        movable=movable,
        restart_s=restart,
        scaling=scaling,
        max_gpus=max_gpus,
    )
    for sentence in advice.audit:
        print(f"audit: {printable(sentence)}", file=sys.stderr)
    data = as_data(queue, advice)
    if out is not None:
        write_text(out, json_text(data) if out.endswith(".json") else as_csv(data))
    if as_json:
        print_json(data)
    elif out is None:
        _print(data)
    return 0


def as_data(queue: "Queue", advice: "Advice") -> dict[str, Json]:
    """What the JSON holds; times as the queue has them: dates without a zone, or seconds."""

    def moment(time_s: float | None) -> Json:
        if time_s is None:
            return None
        return queue.moment(time_s) if queue.dated else time_s

    return {
        "format": "dlsched/advice/1",
        "source": queue.source,
        "file": queue.path,
        "family": advice.family,
        "method": advice.method,
        "at": moment(advice.at_s),
        "gpus": advice.gpus,
        "free_gpus": advice.free,
        "actions": [
            {
                "job": each.job,
                "action": each.action,
                "gpus": each.gpus,
                "nodes": dict(each.nodes),
                "time": moment(each.time_s),
            }
            for each in advice.actions
        ],
        "audit": list(advice.audit),
    }


def as_csv(data: dict[str, Json]) -> str:
    """A row an action; nodes as ``name:GPUs`` with spaces between them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([csv_text(cell) for cell in row] for row in _rows(data))
    return text.getvalue()


def _rows(data: dict[str, Json]) -> list[list[str]]:
    rows = []
    for each in _actions(data):
        nodes = each["nodes"]
        assert isinstance(nodes, dict)
        where = " ".join(f"{name}:{gpus}" for name, gpus in nodes.items())
        time = "" if each["time"] is None else str(each["time"])
        rows.append([str(each["job"]), str(each["action"]), str(each["gpus"]), where, time])
    return rows


def _actions(data: dict[str, Json]) -> list[dict[str, Json]]:
    actions = data["actions"]
    assert isinstance(actions, list)
    return [each for each in actions if isinstance(each, dict)]


def _print(data: dict[str, Json]) -> None:
    """Print what changes, and count what does not."""
    rows = _rows(data)
    changes = [row for row in rows if row[1] not in ("keep", "wait")]
    kept, waiting = (sum(row[1] == action for row in rows) for action in ("keep", "wait"))
    print(f"{data['at']}: GPUs free: {data['free_gpus']} of {data['gpus']}; {data['method']} of {data['family']}")
    if changes:
        print_table(COLUMNS, changes, right=("gpus",))
    print(
        f"Jobs that change: {len(changes)}; that keep what they hold: {kept}; that wait: {waiting} "
        "(-o OUT.json or OUT.csv writes all)"
    )
