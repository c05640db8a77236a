"""``dlsched import`` and ``advise``: an audited instance of a public file, and one decision for a recorded queue."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlsched.catalogue.families import Value
from dlsched.catalogue.sources import OPTIONS, READING_OPTIONS, SOURCES, of_queues
from dlsched.cli import completion
from dlsched.cli.options import AsJson, OutPath, taking
from dlsched.cli.output import print_audit, print_json, print_table
from dlsched.core.display import write_csv
from dlsched.core.errors import InputError, UsageError
from dlsched.core.files import Json, json_text, require_writable, write_text
from dlsched.families import write

if TYPE_CHECKING:
    from dlsched.advice import Advice
    from dlsched.traces.queue import Queue


@taking(OPTIONS.values(), before="happened")
def run_import(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file; the folder of AdaptDL, of PAI.")],
    source: Annotated[
        str,
        typer.Option(
            metavar="SOURCE", help=f"What kind of file: {', '.join(SOURCES)}.", autocompletion=completion.sources
        ),
    ],
    happened: Annotated[
        str | None, typer.Option(metavar="RESULT", help="Write what really happened, for check and compare.")
    ] = None,
    out: OutPath = None,
    **own: str | float | None,
) -> int:
    """Read a file as an instance; say what was dropped, repaired or assumed (on standard error, and in `source`)."""
    from dlsched.traces import import_instance, import_made
    from dlsched.traces.recorded_schedule import UNKNOWN

    if happened is None:
        instance, audit = import_instance(source, file, **own)
    else:
        imported = import_made(source, file, **own)
        instance, audit = imported.instance, imported.audit
        if imported.happened is None:
            raise InputError(imported.unknown or f"{UNKNOWN} {instance.family} has no such answer.", where=file)
        claim = {"instance": {"name": instance.name, "sha256": instance.sha256}, "method": "what happened"}
        write_text(happened, json_text({**claim, "solution": imported.happened.as_data()}))
    print_audit(audit)
    write(instance, out or "-")
    return 0


DECIDING = ("gpus_of_node", "estimates", "restart_s", "scaling", "max_gpus")
OWN = of_queues("gpus_of_node", "at", "estimates", "restart", "scaling", "max_gpus", *READING_OPTIONS)
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
def run_advise(
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
    options: dict[str, Any] = {name: own[name] for name in DECIDING if own[name] is not None}
    advice = decide(
        queue,
        family=family,
        method=policy,
        gpus=gpus,
        at_s=None if own["at"] is None else moment_of(queue, str(own["at"])),
        movable=movable,
        **options,
    )
    print_audit(advice.audit)
    data, rows = _data(queue, advice), _rows(queue, advice)
    if out is not None:
        text = io.StringIO()
        write_csv(text, COLUMNS, rows)
        write_text(out, json_text(data) if out.endswith(".json") else text.getvalue())
    if as_json:
        print_json(data)
    elif out is None:
        _print(data, rows)
    return 0


def _moment(queue: "Queue", time_s: float | None) -> str | float | None:
    """A time as the queue has it: a date without a zone, or seconds."""
    return queue.moment(time_s) if queue.dated and time_s is not None else time_s


def _data(queue: "Queue", advice: "Advice") -> dict[str, Json]:
    """What the JSON holds."""
    return {
        "format": "dlsched/advice/1",
        "source": queue.source,
        "file": queue.path,
        "family": advice.family,
        "method": advice.method,
        "at": _moment(queue, advice.at_s),
        "gpus": advice.gpus,
        "free_gpus": advice.free,
        "actions": [
            {
                "job": each.job,
                "action": each.action,
                "gpus": each.gpus,
                "nodes": dict(each.nodes),
                "time": _moment(queue, each.time_s),
            }
            for each in advice.actions
        ],
        "audit": list(advice.audit),
    }


def _rows(queue: "Queue", advice: "Advice") -> list[tuple[str, ...]]:
    """A row an action; nodes as ``name:GPUs`` with spaces between them."""
    rows: list[tuple[str, ...]] = []
    for each in advice.actions:
        where = " ".join(f"{name}:{gpus}" for name, gpus in dict(each.nodes).items())
        time = "" if each.time_s is None else str(_moment(queue, each.time_s))
        rows.append((each.job, each.action, str(each.gpus), where, time))
    return rows


def _print(data: dict[str, Json], rows: list[tuple[str, ...]]) -> None:
    """Print what changes, and count what does not."""
    changes = [row for row in rows if row[1] not in ("keep", "wait")]
    unchanged, waiting = (sum(row[1] == action for row in rows) for action in ("keep", "wait"))
    print(f"{data['at']}: GPUs free: {data['free_gpus']} of {data['gpus']}; {data['method']} of {data['family']}")
    if changes:
        print_table(COLUMNS, changes, right=("gpus",))
    print(
        f"Jobs that change: {len(changes)}; unchanged: {unchanged}; waiting: {waiting} "
        "(-o OUT.json or OUT.csv writes all)"
    )
