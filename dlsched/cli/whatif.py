"""``dlsched whatif``: what other policies would have made of the queue of a trace, on one page."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlsched.catalogue.families import Value
from dlsched.catalogue.sources import OF_EVALUATIONS, QUEUES, READING_OPTIONS, of_queues
from dlsched.cli import completion
from dlsched.cli.options import Workers, names_in, taking
from dlsched.cli.output import print_audit, print_json, print_table
from dlsched.cli.study_runs import INCOMPLETE, run_watched
from dlsched.core.errors import UsageError
from dlsched.core.files import require_writable
from dlsched.core.messages import printable

if TYPE_CHECKING:
    from dlsched.evaluation.page import PageContent

DEFAULT, TIME_S = "srpt_mapping", 60.0
OWN = of_queues("from", "to", *READING_OPTIONS, *OF_EVALUATIONS, "estimates")


@taking(
    OWN,
    before="store",
    words={
        "from": "Submissions from here on.",
        "to": "Submissions before it.",
        "estimates": "Policies know only the run times that users requested.",
        "gpus_of_node": "GPUs of a server where no nodes are known, or others than --gpus; 8.",
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
        typer.Option(
            metavar="N[,N]",
            help="GPUs of the cluster, of today first, or POOL=N of one pool; else what the trace shows.",
        ),
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
        str | None, typer.Option("-s", "--store", metavar="STORE", help="Store of the results; beside the page.")
    ] = None,
    workers: Workers = None,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="S", help="Seconds of a policy, and of the bound, on a window.")
    ] = TIME_S,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Number users and jobs, on the page and in the store.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False,
    **own: Value | None,
) -> int:
    """Run the queue of a trace under other policies, and write one page: what switching would have saved, and the bound.

    Results are kept: Ctrl-C ends it with what has ended, and the same command goes on.
    """
    from dlsched.core.arguments import require_engine
    from dlsched.evaluation.page import write_page
    from dlsched.evaluation.question import methods_of, sizes_of
    from dlsched.evaluation.whatif import LARGEST_SOLUTION, content_of, data_of, question_of, seconds_of
    from dlsched.study.reports.page import require_report
    from dlsched.traces import read_queue

    require_report()
    _require_output(out, store)
    if not time_limit > 0:
        raise UsageError(where="time-limit", found=time_limit, allowed="a number > 0")
    require_engine(workers)
    path = _store_of(out, store)
    names = tuple(names_in(policies))
    methods_of(names, family)
    sizes = (None,) if gpus is None else sizes_of(names_in(gpus), gpus)
    window_s = None if window is None else seconds_of(window)
    question = question_of(
        read_queue(source, file, **own, family=family),
        policies=names,
        family=family,
        gpus=sizes,
        window_s=window_s,
        estimates=bool(own["estimates"]),
        time_s=time_limit,
        options=own,
        hidden=anonymous,
    )
    command = _command(
        file,
        out,
        {
            **{"--source": source, "--family": None if family == DEFAULT else family, "--gpus": gpus},
            **{"--policies": policies, "--window": window},
            **{option.flag: own[option.python] for option in OWN},
            "--anonymous": anonymous or None,
            "--time-limit": None if time_limit == TIME_S else f"{time_limit:g}",
        },
    )
    content = content_of(
        question,
        command,
        lambda plan: run_watched(plan, path, "whatif", workers, largest_solution=LARGEST_SOLUTION),
        print_audit,
    )
    if content is None:
        return INCOMPLETE
    write_page(content, out)
    if as_json:
        print_json(data_of(content))
    elif out != "-":
        _print(content)
        print(f"page: {printable(out)}")
    return 0


def _require_output(out: str, store: str | None) -> None:
    """Refuse a page that could not be written."""
    if out != "-":
        require_writable(out)
    elif store is None:
        raise UsageError(where="store", found="none", allowed="its path, as the page is written to standard output")


def _store_of(out: str, store: str | None) -> Path:
    """Return the path of the store, beside the page if none is named; what is no store is refused before the queue is read."""
    from dlsched.study.study import Study

    path = Path(out).with_suffix(".study.sqlite") if store is None else Path(store)
    if path.exists():
        Study(path).close()
    else:
        require_writable(path)
    return path


def _command(file: str, out: str, options: Mapping[str, Value | None]) -> str:
    """The command that writes the page again."""
    words_of_options = [
        word
        for name, value in options.items()
        if value is not None
        for word in ((name,) if value is True else (name, str(value)))
    ]
    return shlex.join(["dlsched", "whatif", file, *words_of_options, "-o", out])


def _print(page: "PageContent") -> None:
    """The answer, and the policies on the cluster of today."""
    from dlsched.evaluation.whatif import today_of

    for sentence in page.sentences:
        print(printable(sentence.replace("`", "")))
    columns, rows = today_of(page)
    print()
    print_table(columns, rows, right=columns[1:])
