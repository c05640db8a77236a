"""What the command line and ``whatif`` share: the question from its arguments, and the page's content from its study."""

import os
from collections.abc import Callable, Mapping, Sequence

from dlsched.catalogue.import_options import OF_EVALUATIONS
from dlsched.catalogue.option import Value
from dlsched.core.errors import UsageError
from dlsched.core.messages import Refused
from dlsched.core.quantities import percent
from dlsched.evaluation.clusters import clusters_of
from dlsched.evaluation.page import PageContent, unit_of
from dlsched.evaluation.question import Question, audit_of, pieces, plan_of
from dlsched.study.plans.instance_entries import duration_s
from dlsched.study.plans.plan import CellLimits, Plan
from dlsched.study.reporting import environment_words
from dlsched.study.study import Study
from dlsched.traces.clocks import queue_window
from dlsched.traces.queue import Queue

LARGEST_SOLUTION = 1 << 30
"""Bytes of a schedule as JSON: the figures are made of all of it."""


def question_of(
    queue: Queue,
    *,
    policies: tuple[str, ...],
    family: str,
    gpus: tuple[int | None, ...],
    ends: Mapping[str, Value | None],
    window_s: float | None,
    estimates: bool,
    time_s: float,
    options: Mapping[str, Value | None],
) -> Question:
    """Return the question on a queue; ``ends`` of its window, and of ``options`` those of making instances."""
    from_, to = (None if ends[end] is None else str(ends[end]) for end in ("from_", "to"))
    return Question(
        queue,
        policies=policies,
        family=family,
        gpus=gpus,
        window=queue_window(queue, from_, to),
        window_s=window_s,
        estimates=estimates,
        limits=CellLimits(time_s=time_s),
        options={name: options[name] for name in OF_EVALUATIONS if options.get(name) is not None},
    )


def content_of(
    question: Question,
    command: str,
    run: Callable[[Plan], Study | None],
    tell: Callable[[Sequence[str]], None] = lambda audit: None,
) -> PageContent | None:
    """Run the study of a question, and return what stands on the page; None where ``run`` returns no study.

    Parameters
    ----------
    question, command
        What is asked, and what asks it again.
    run
        Runs the study.
    tell
        Gets the audit before the study runs.
    """
    made = pieces(question)
    names = question.policies
    plan, audit = plan_of(question, made, command), audit_of(made)
    tell(audit)
    study = run(plan)
    if study is None:
        return None
    with study:
        return PageContent(
            title=os.path.basename(question.queue.path),
            clusters=clusters_of(study, made, names),
            policies=names,
            windows=sum(piece.gpus == made[0].gpus for piece in made),
            family=question.family,
            audit=audit,
            command=command,
            environment=environment_words(study.about.environment),
            estimates=question.estimates,
            submitted=submitted(question),
        )


def submitted(question: Question) -> str:
    """Write the first and last submission of the window, as dates where the trace has dates."""
    queue = question.queue
    times_s = [job.submit_s for job in queue.jobs if question.window.holds(job.submit_s)]
    ends = [queue.moment(end_s).replace("T", " ") for end_s in (min(times_s), max(times_s))] if times_s else []
    return f"{' to '.join(ends)}{'' if queue.dated else ' s'}" if ends else ""


def today_of(content: PageContent) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the table of the policies on the cluster of today: its columns and its rows."""
    unit, today = unit_of(content.clusters), content.clusters[0]
    rows: list[tuple[str, ...]] = [
        (name, unit.text(float(fate.waiting_s.mean())), unit.text(float(fate.flow_s.mean())), percent(fate.used.share))
        for name, fate in today.fates.items()
    ]
    rows += [(name, why, "-", "-") for name, why in today.unanswered.items()]
    return ("policy", f"mean waiting, {unit.name}", f"mean flow, {unit.name}", "used"), rows


def seconds_of(window: float | str) -> float:
    """Return the seconds of a window, given as such or as a text such as ``24h``; UsageError: it is neither."""
    text = window if isinstance(window, str) else repr(window)
    try:
        return duration_s(float(text) if text.replace(".", "", 1).isdigit() else text)
    except Refused as refusal:
        raise UsageError(where="window", found=refusal.found, allowed=refusal.allowed) from None
