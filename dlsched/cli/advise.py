"""``dlsched advise``: one decision for what waits and runs at a moment, as actions."""

import csv
import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlsched.catalogue.declaration import Value
from dlsched.catalogue.import_options import READING, of_queues
from dlsched.cli import completion
from dlsched.cli.options import AsJson, taking
from dlsched.cli.output import print_json, print_table
from dlsched.core.errors import UsageError
from dlsched.core.files import Json, json_text, require_writable, write_text
from dlsched.core.messages import printable
from dlsched.core.table import csv_text

if TYPE_CHECKING:
    from dlsched.advice import Advice
    from dlsched.traces.queue import Queue

NAME = "advise"
DECIDING = ("gpus_of_node", "estimates", "restart_s", "scaling", "max_gpus")
OWN = of_queues("gpus_of_node", "at", "estimates", "restart", "scaling", "max_gpus", *READING)
ENDINGS = (".json", ".csv")
COLUMNS = ("job", "action", "gpus", "nodes", "time")


@taking(
    OWN,
    before="out",
    words={
        "gpus_of_node": "GPUs of a node where the file does not say; 8.",
        "at": "The moment, date or seconds; the latest.",
        "estimates": "Users' limits, not recorded lengths.",
        "restart": "Seconds that it costs a job that runs to be given other GPUs; 0.",
        "scaling": "own or published speeds; published.",
        "max_gpus": "GPUs to which a job may grow; what it has.",
    },
)
def run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file, with the jobs that run and wait.")],
    source: Annotated[
        str, typer.Option(metavar="SOURCE", help="What has recorded the queue.", autocompletion=completion.sources)
    ],
    gpus: Annotated[
        int | None,
        typer.Option(metavar="N", help="GPUs of the cluster; those of the nodes, or the most in use at once."),
    ] = None,
    family: Annotated[
        str, typer.Option(metavar="FAMILY", help="srpt_mapping, ring_allocation or elastic_stream.")
    ] = "srpt_mapping",
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy", "--method", metavar="NAME", help="A policy or method of the family, `dlsched methods`."
        ),
    ] = None,
    movable: Annotated[bool, typer.Option("--movable", help="Jobs that run may be given other GPUs.")] = False,
    out: Annotated[str | None, typer.Option("-o", metavar="OUT", help="Write the actions, .json or .csv.")] = None,
    as_json: AsJson = False,
    **own: Value | None,
) -> int:
    """Decide once: which jobs start, keep their GPUs, get others, stop or wait, at a moment of a recorded queue."""
    from dlsched.advice import decide
    from dlsched.traces import read_queue
    from dlsched.traces.snapshot import moment_of

    if out is not None:
        if Path(out).suffix not in ENDINGS:
            raise UsageError(where="-o", found=repr(out), allowed=f"a name that ends in {' or '.join(ENDINGS)}")
        require_writable(out)
    queue = read_queue(source, file, False, **own)
    given: dict[str, Any] = {name: own[name] for name in DECIDING if own[name] is not None}
    advice = decide(
        queue,
        family=family,
        method=policy,
        gpus=gpus,
        at_s=None if own["at"] is None else moment_of(queue, str(own["at"])),
        movable=movable,
        **given,
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
