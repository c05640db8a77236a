"""``whatif``: what other policies would have made of the queue of a trace, in one call; the command line shares its parts."""

import math
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from dlsched.catalogue.families import Value
from dlsched.catalogue.sources import OF_EVALUATIONS, READING
from dlsched.core.arrays import BoolArray
from dlsched.core.display import Table
from dlsched.core.errors import UsageError
from dlsched.core.files import path_of
from dlsched.core.garbage import uncollected
from dlsched.core.imports import needing
from dlsched.core.limits import Progress, ProgressCallback, watched
from dlsched.core.messages import Refused, printable, several
from dlsched.core.quantities import percent
from dlsched.evaluation.answer import unit_of
from dlsched.evaluation.clusters import HAPPENED, clusters_of
from dlsched.evaluation.page import PageContent, render, write_page
from dlsched.evaluation.question import (
    FIRST_COME,
    LIMITS,
    Question,
    Size,
    audit_of,
    methods_of,
    pieces,
    plan_of,
    sizes_of,
    usual_first,
)
from dlsched.study.leader import StudyProgress
from dlsched.study.leader import run as run_study
from dlsched.study.plans.instance_entries import duration_s
from dlsched.study.plans.plan import CellLimits, Plan
from dlsched.study.study import Study, environment_words
from dlsched.traces import read_queue
from dlsched.traces.queue import Queue, anonymous, queue_window

if TYPE_CHECKING:
    import pandas as pd


ENDS = ("from_", "to")
PARTS = (
    *("dependencies_s", "begin_times_s", "array_limits_s"),
    *("users_limits_s", "not_explained_s", "not_order_s", "order_s", "rest_s"),
)
"""What the waiting is due to, in the answer as JSON."""
LARGEST_SOLUTION = 1 << 30  # bytes of a schedule as JSON: the figures are made of all of it


def question_of(
    queue: Queue,
    *,
    policies: tuple[str, ...],
    family: str,
    gpus: tuple[Size, ...],
    window_s: float | None,
    estimates: bool,
    time_s: float,
    options: Mapping[str, Value | None],
    hidden: bool = False,
) -> Question:
    """Return the question on a queue; ``options``: ends of its window, and those of making; ``hidden``: users are numbered."""
    from_, to = (None if options.get(end) is None else str(options[end]) for end in ENDS)
    return Question(
        anonymous(queue) if hidden else queue,
        policies=policies or usual_first(family, queue.source),
        usual=() if policies else FIRST_COME,
        family=family,
        gpus=gpus,
        window=queue_window(queue, from_, to),
        window_s=window_s,
        estimates=estimates,
        limits=CellLimits(time_s=time_s),
        options={name: options[name] for name in OF_EVALUATIONS if options.get(name) is not None},
    )


@uncollected()
def content_of(
    question: Question,
    command: str,
    run: Callable[[Plan], Study | None],
    tell: Callable[[Sequence[str]], None] = lambda audit: None,
) -> PageContent | None:
    """Run the study of a question, and return what stands on the page; None where ``run`` returns no study.

    ``command`` asks the question again; ``tell`` gets the audit before the study runs.
    """
    windows = pieces(question)
    plan, audit = plan_of(question, windows, command), audit_of(windows)
    tell(audit)
    study = run(plan)
    if study is None:
        return None
    with study:
        return PageContent(
            question,
            clusters=clusters_of(study, windows, question.policies, question.usual),
            windows=sum((piece.size, piece.pool) == (0, windows[0].pool) for piece in windows),
            audit=audit,
            command=command,
            environment=environment_words(study.about.environment),
        )


def today_of(content: PageContent) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the table of the policies on the cluster of today: its columns and its rows."""
    today = content.clusters[0]
    unit = unit_of(today)
    left = [figure for figure in ("fragment", "lost") if any(figure in fate.parts for fate in today.fates.values())]
    rows: list[tuple[str, ...]] = [
        (
            *(name, unit.text(float(fate.waiting_s.mean())), unit.text(float(fate.flow_s.mean()))),
            *(percent(part.share) for part in (fate.used, *(fate.parts[each] for each in left if each in fate.parts))),
        )
        for name, fate in today.fates.items()
    ]
    width = 4 + len(left)
    rows = [(*row, *["-"] * (width - len(row))) for row in (*rows, *today.unanswered.items())]
    return ("policy", f"mean waiting, {unit.name}", f"mean flow, {unit.name}", "used", *left), rows


def data_of(content: PageContent) -> dict[str, object]:
    """Return the answer as docs/formats.md has it: means a job on the cluster of today, in seconds."""
    today = content.clusters[0]
    base, best = today.baseline, today.best

    def waits(of: BoolArray | slice) -> dict[str, float]:
        return {_key(name, base): float(fate.waiting_s[of].mean()) for name, fate in today.fates.items()}

    def row(of: BoolArray) -> dict[str, object]:
        return {**{f"{policy}_waiting_s": wait_s for policy, wait_s in waits(of).items()}, **parts(of)}

    def parts(of: BoolArray | slice) -> dict[str, float | None]:
        shares = today.shares_of(of)
        if shares is None:
            return dict.fromkeys(PARTS)
        of_users_s = (shares.dependencies_s, shares.begin_s, shares.arrays_s, shares.users_s)
        not_order_s = shares.users_s + (shares.unexplained_s or 0.0)
        of_order_s = (shares.unexplained_s, not_order_s, shares.order_s, shares.rest_s)
        return dict(zip(PARTS, (*of_users_s, *of_order_s), strict=True))

    left = {
        _key(name, base): {figure: part.share for figure, part in fate.parts.items()}
        for name, fate in today.fates.items()
        if fate.parts
    }
    return {
        "format": "dlsched/whatif/1",
        "jobs": len(today.jobs.ids),
        "gpus": today.gpus,
        "usual": base,
        "best": best,
        "waiting_s": waits(slice(None)) | ({} if base is None else {base: today.mean_s(base)}),
        **parts(slice(None)),
        "bound_flow_s": today.least_flow_s,
        "pools": [
            {"name": name, "gpus": gpus, "jobs": int(of.sum())} | row(of) for name, (gpus, of) in today.pools.items()
        ],
        "classes": [{"name": name, "jobs": int(of.sum())} | row(of) for name, of in today.classes.items()],
        "largest_wait_s": {_key(name, base): float(fate.waiting_s.max()) for name, fate in today.fates.items()},
        "clusters": [
            {
                "gpus": each.gpus,
                "waiting_s": {_key(name, base): each.mean_s(name) for name in each.fates},
                "pools": {name: gpus for name, (gpus, _) in each.pools.items()},
            }
            for each in content.clusters
        ],
        "sentences": [sentence.replace("`", "") for sentence in content.sentences],
        **({"slices": left} if left else {}),
    }


def _key(name: str, usual: str | None) -> str:
    return {HAPPENED: "happened", usual: "usual"}.get(name, name)


def seconds_of(window: float | str) -> float:
    """Return the seconds of a window, given as such or as a text such as ``24h``; UsageError: it is neither."""
    text = window if isinstance(window, str) else repr(window)
    try:
        return duration_s(float(text) if text.replace(".", "", 1).isdigit() else text)
    except Refused as refusal:
        raise UsageError(where="window", found=refusal.found, allowed=refusal.allowed) from None


@dataclass(frozen=True, repr=False, eq=False)
class WhatIf:
    """What other policies would have made of a queue.

    Parameters
    ----------
    content
        What stands on the page.
    """

    content: PageContent

    @property
    def sentences(self) -> list[str]:
        """The answer in words: what switching saves, how far it is from the best possible, which cluster is enough."""
        return [sentence.replace("`", "") for sentence in self.content.sentences]

    @property
    def audit(self) -> list[str]:
        """Sentences on what was read, left out and assumed."""
        return list(map(str, self.content.audit))

    def data(self) -> dict[str, object]:
        """Return the answer as ``dlsched whatif --json`` prints it: means a job, in seconds."""
        return data_of(self.content)

    def frame(self) -> "pd.DataFrame":
        """Return a data frame of pandas, one row for each policy on each cluster: seconds, and the share that was used.

        Raises
        ------
        SolverMissingError
            Pandas is not installed.
        """
        with needing("a data frame needs pandas", "frames"):
            import pandas as pd

        return pd.DataFrame(
            [
                {
                    "gpus": cluster.gpus,
                    "policy": name,
                    "mean_waiting_s": float(fate.waiting_s.mean()),
                    "mean_flow_s": float(fate.flow_s.mean()),
                    "used": fate.used.share,
                    **{figure: part.share for figure, part in fate.parts.items()},
                }
                for cluster in self.content.clusters
                for name, fate in cluster.fates.items()
            ]
        )

    def html(self) -> str:
        """Return the page; SolverMissingError: Jinja2 or Matplotlib is not installed."""
        return render(self.content)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page; SolverMissingError: Jinja2 or Matplotlib is not installed; InputError: it cannot be written."""
        write_page(self.content, path)

    def __repr__(self) -> str:
        """Say in one line what was asked."""
        return f"WhatIf({printable(self.content.title)} on {several(self.content.clusters[0].gpus, 'GPU')})"

    def __str__(self) -> str:
        """Return the answer in words."""
        return "\n".join(map(printable, self.sentences))

    def _repr_html_(self) -> str:
        """Return the answer, and the policies on the cluster of today, for notebooks."""
        columns, rows = today_of(self.content)
        sentences = "".join(f"<p>{escape(printable(sentence))}</p>" for sentence in self.sentences)
        return sentences + Table(columns, rows, columns[1:]).html()


def whatif(
    trace: str | os.PathLike[str] | Queue,
    source: str | None = None,
    *,
    gpus: int | str | Sequence[int | str] | None = None,
    policies: Sequence[str] | None = None,
    family: str = "srpt_mapping",
    window: float | str | None = None,
    estimates: bool = False,
    store: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    time_limit: float = LIMITS.time_s,
    progress: ProgressCallback | None = None,
    verbose: bool = False,
    anonymous: bool = False,
    **options: Value | None,
) -> WhatIf:
    """Run the queue of a trace under other policies: what switching would have saved, and the bound.

    Parameters
    ----------
    trace
        What the workload manager has recorded: a file, or a queue that was read.
    source
        What kind of file, such as ``slurm``.
    gpus
        GPUs of the cluster, of today first, or ``pool=N``: as today, but for this pool; None: what the trace shows.
    policies
        Of the family, or ``file.py:function``, the usual one first; None: the family's own list.
    family
        ``srpt_mapping``, or ``elastic_stream``.
    window
        Seconds, or a text such as ``24h``, of the windows into which the trace is cut; None: one.
    estimates
        Whether policies are told what users said that jobs take.
    store
        File in which results are kept, so that the same call goes on; None: they are not kept.
    workers
        Processes that run policies; None: one for each processor.
    time_limit
        Seconds of a policy, and of the bound, on a window.
    progress
        Called with a ``Progress`` after each of them; ``nodes`` counts.
    verbose
        Print a line a second on standard error.
    anonymous
        Whether users and jobs are numbered, on the page and in the store; names of nodes, pools and files stay.
    **options
        As of ``dlsched whatif``, with ``_`` for ``-``: ``from_`` and ``to``, and those of reading and making.

    Raises
    ------
    UsageError
        An argument is out of range.
    InputError
        The file cannot be read.
    KeyboardInterrupt
        Ctrl-C; what has ended is in the ``store``, if there is one.
    """
    if not isinstance(time_limit, int | float) or not 0 < time_limit < math.inf:
        raise UsageError(where="time limit", found=repr(time_limit), allowed="a number > 0")
    window_s = None if window is None else seconds_of(window)
    methods_of(policies or (), family)
    counts = sizes_of(gpus if isinstance(gpus, list | tuple | range) else (gpus,))
    known = (*ENDS, *OF_EVALUATIONS, *(() if isinstance(trace, Queue) else READING))
    for name, value in options.items():
        if name not in known:
            raise UsageError(where=name, found=repr(value), allowed="no such option")
    if isinstance(trace, Queue):
        queue = trace
    elif source is None:
        raise UsageError(where="source", found="none", allowed="what kind of file the trace is")
    else:
        queue = read_queue(source, path_of(trace, "trace"), **options, family=family)
    question = question_of(
        queue,
        policies=tuple(policies or ()),
        family=family,
        gpus=counts,
        window_s=window_s,
        estimates=estimates,
        time_s=time_limit,
        options=options,
        hidden=anonymous,
    )
    file = os.path.basename(queue.path)
    words = f"dlsched.whatif({file!r}, {source!r}, family={family!r}, policies={list(question.policies)!r})"
    with (
        watched(None, progress, verbose=verbose, what=f"what if: {file}", words=lambda now: now.doing) as (_, callback),
        tempfile.TemporaryDirectory() as folder,
    ):

        def run(plan: Plan) -> Study:
            path_of_store = Path(folder, "whatif.study.sqlite") if store is None else Path(store)
            heard = None if callback is None else lambda now: callback(_standing(now))
            return run_study(plan, path_of_store, workers=workers, progress=heard, largest_solution=LARGEST_SOLUTION)

        content = content_of(question, words, run)
    assert content is not None  # ``run`` always returns a study
    return WhatIf(content)


def _standing(now: StudyProgress) -> Progress:
    failed = f", {now.failed} failed" if now.failed else ""
    return Progress(0.0, None, None, now.ended, f"{now.ended} of {now.cells} runs{failed}")
