"""``dlsched whatif``: what other policies would have made of the queue of a trace, on one page."""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlsched.catalogue.import_options import READING, of_queues
from dlsched.catalogue.option import Value
from dlsched.catalogue.sources import QUEUES
from dlsched.cli import completion
from dlsched.cli.output import print_table
from dlsched.cli.signatures import taking
from dlsched.cli.study.run import INCOMPLETE, run_watched
from dlsched.core.errors import UsageError
from dlsched.core.files import require_writable
from dlsched.core.messages import Refused, printable

if TYPE_CHECKING:
    from dlsched.whatif.page import PageContent

DEFAULT, TIME_S = "srpt_mapping", 60.0
MAKING = ("gpus_of_node", "communication", "scaling")
OWN = of_queues("from", "to", *READING, *MAKING, "estimates")
LARGEST_SOLUTION = 1 << 30
"""Bytes of a schedule as JSON: the figures are made of all of it."""


@taking(
    OWN,
    before="store",
    words={
        "from": "Submissions from here on.",
        "to": "Submissions before it.",
        "estimates": "Policies are told what users said that jobs take.",
        "gpus_of_node": "GPUs of a server; 8.",
        "scaling": "own or published speeds; elastic_stream, own.",
    },
)
def run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What the workload manager has recorded.")],
    source: Annotated[
        str,
        typer.Option(
            metavar="SOURCE", help=f"What kind of file: {', '.join(QUEUES)}.", autocompletion=completion.queues
        ),
    ],
    out: Annotated[str, typer.Option("-o", "--out", metavar="FILE.html", help="The page to write.")],
    gpus: Annotated[
        str | None,
        typer.Option(metavar="N[,N]", help="GPUs of the cluster, of today first; else what the trace shows."),
    ] = None,
    policies: Annotated[
        str | None,
        typer.Option(metavar="NAME,NAME", help="Policies of the family, or file.py:function, the usual one first."),
    ] = None,
    window: Annotated[
        str | None, typer.Option(metavar="T", help="Cut the trace into windows of this length, such as 24h.")
    ] = None,
    family: Annotated[
        str,
        typer.Option(metavar="FAMILY", help="srpt_mapping, or elastic_stream.", autocompletion=completion.families),
    ] = DEFAULT,
    store: Annotated[
        str | None, typer.Option("-s", "--store", metavar="STORE", help="Where results are kept; beside the page.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes that run policies; by default one for each processor.")
    ] = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="S", help="Seconds of a policy, and of the bound, on a window.")
    ] = TIME_S,
    **own: Value | None,
) -> int:
    """Run the queue of a trace under other policies, and write one page: what switching would have saved, and the bound.

    Results are kept: Ctrl-C ends it with what has ended, and the same command goes on.
    """
    from dlsched.study.leader import require_engine
    from dlsched.study.plans.plan import CellLimits
    from dlsched.study.reporting import environment_words
    from dlsched.study.reports.html.embedding import require_report
    from dlsched.study.study import Study
    from dlsched.traces import read_queue
    from dlsched.traces.clocks import queue_window
    from dlsched.whatif.clusters import clusters_of
    from dlsched.whatif.page import PageContent, write_page
    from dlsched.whatif.question import POLICIES, Question, audit_of, methods_of, pieces, plan_of

    require_report()
    if out != "-":
        for other, what in ((file, "the queue"), (store, "the store")):
            if other is not None and Path(other).absolute() == Path(out).absolute():
                raise UsageError(where="out", found=f"{printable(out)}, which is {what}", allowed="another file")
        require_writable(out)
    elif store is None:
        raise UsageError(where="store", found="none", allowed="its path, as the page is written to standard output")
    if not time_limit > 0:
        raise UsageError(where="time-limit", found=time_limit, allowed="a number > 0")
    require_engine(workers)
    path = Path(out).with_suffix(".study.sqlite") if store is None else Path(store)
    if path.exists():
        Study(path).close()  # what is no store is refused before the queue is read
    else:
        require_writable(path)
    names = tuple(_listed(policies)) or POLICIES.get(family, ())
    methods_of(names, family)
    sizes, window_s = _numbers(gpus), None if window is None else _seconds(window)
    queue = read_queue(source, file, **own)
    from_, to = (None if own[end] is None else str(own[end]) for end in ("from_", "to"))
    estimates = bool(own["estimates"])
    question = Question(
        queue,
        policies=names,
        family=family,
        gpus=sizes,
        window=queue_window(queue, from_, to),
        window_s=window_s,
        estimates=estimates,
        limits=CellLimits(time_s=time_limit),
        options={name: own[name] for name in MAKING if own[name] is not None},
    )
    made = pieces(question)
    command = _command(
        file,
        out,
        {
            **{"--source": source, "--family": None if family == DEFAULT else family, "--gpus": gpus},
            **{"--policies": policies, "--window": window},
            **{option.flag: own[option.python] for option in OWN},
            "--time-limit": None if time_limit == TIME_S else f"{time_limit:g}",
        },
    )
    plan = plan_of(question, made, command)
    audit = audit_of(made)
    for sentence in audit:
        print(f"audit: {printable(sentence)}", file=sys.stderr)
    study = run_watched(plan, path, "whatif", workers, largest_solution=LARGEST_SOLUTION)
    if study is None:
        return INCOMPLETE
    with study:
        told = PageContent(
            title=os.path.basename(queue.path),
            clusters=clusters_of(study, made, names),
            policies=names,
            windows=sum(piece.gpus == made[0].gpus for piece in made),
            family=family,
            audit=audit,
            command=command,
            environment=environment_words(study.about.environment),
            estimates=estimates,
        )
    write_page(told, out)
    if out != "-":
        _print(told)
        print(f"page: {printable(out)}")
    return 0


def _command(file: str, out: str, options: Mapping[str, Value | None]) -> str:
    """The command that writes the page again."""
    given = [
        word
        for name, value in options.items()
        if value is not None
        for word in ((name,) if value is True else (name, str(value)))
    ]
    return shlex.join(["dlsched", "whatif", file, *given, "-o", out])


def _seconds(text: str) -> float:
    from dlsched.study.plans.instance_entries import duration_s

    try:
        return duration_s(float(text) if text.replace(".", "", 1).isdigit() else text)
    except Refused as refusal:
        raise UsageError(where="window", found=refusal.found, allowed=refusal.allowed) from None


def _numbers(text: str | None) -> tuple[int | None, ...]:
    if text is None:
        return (None,)
    found = []
    for word in _listed(text):
        if not word.isascii() or not word.isdigit() or not 1 <= int(word) <= 10**9 or int(word) in found:
            raise UsageError(
                where="gpus", found=repr(text), allowed="different integers >= 1 with commas, such as 400,480"
            )
        found.append(int(word))
    return tuple(found)


def _listed(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _print(told: "PageContent") -> None:
    """The answer, and the policies on the cluster of today."""
    from dlsched.whatif.page import unit_of

    for sentence in told.sentences:
        print(printable(sentence.replace("`", "")))
    unit, today = unit_of(told.clusters), told.clusters[0]
    rows = [
        (name, unit.text(float(fate.waiting_s.mean())), unit.text(float(fate.flow_s.mean())), _percent(fate.used.share))
        for name, fate in today.fates.items()
    ]
    rows += [(name, why, "-", "-") for name, why in today.unanswered.items()]
    columns = ("policy", f"mean waiting, {unit.name}", f"mean flow, {unit.name}", "used")
    print()
    print_table(columns, rows, right=columns[1:])


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
