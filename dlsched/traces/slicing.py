"""Jobs on parts of GPUs: what becomes of them, which slices they take, and how the GPUs of servers are cut for them.

A job on one part of a GPU takes a MIG profile where its record names one, else thousandths of the GPU. A log does not say how
GPUs were cut: all GPUs of a server are taken to have the geometry of the profiles that its jobs had, or that of its model.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

from dlsched.catalogue.sources import SLICES
from dlsched.cluster.slicing import GEOMETRIES
from dlsched.core.errors import InputError, UsageError
from dlsched.srpt_mapping.instance import Server
from dlsched.traces.gpu_counts import most_held, profile_in
from dlsched.traces.queue import Queue, QueuedJob, QueueNode, Sentence, counted, figure, listed

PARTING: Final = frozenset({"srpt_mapping"})
"""Families whose jobs may take parts of GPUs."""
LEFT_OUT, WHOLE, PARTS = SLICES
TAKEN_WHOLE: Final = "Jobs on parts of GPUs (slices), with a whole GPU for each part"

_SHARES = "shares"
_WORD = re.compile(r"[0-9a-z]+")
_MODEL: Final = {name: name.casefold().partition("-")[0] for name in GEOMETRIES}
_PROFILES: Final = frozenset(profile for shape in GEOMETRIES.values() for profile in shape.profiles)


def treated(queue: Queue, slices: str | None = None, family: object = None) -> Queue:
    """The queue with jobs on parts of GPUs left out, on whole ones, or on their parts.

    ``slices``: which of these; None: parts if instances of the ``family`` can have them, else they are left out.
    UsageError: another word. InputError: no job is left.
    """
    how = slices or (PARTS if family in PARTING else LEFT_OUT)
    if how not in SLICES:
        raise UsageError(where="slices", found=repr(how), allowed=", ".join(SLICES))
    found = [job for job in queue.jobs if job.share < 1]
    if not found or how == WHOLE:
        return queue
    kept, audit = _parted(found) if how == PARTS else ({}, [])
    jobs = tuple(kept.get(job.id, job) for job in queue.jobs if job.share == 1 or job.id in kept)
    if not jobs:
        raise InputError(
            where=queue.path,
            found=f"{len(found):,} jobs, all on parts of GPUs",
            allowed="at least one on whole ones, or slices whole",
        )
    words = "Jobs on parts of GPUs (slices), left out, their GPU time counted by their part"
    notes = [*audit, *counted(words, len(found) - len(kept))]
    left = tuple(job for job in found if job.id not in kept)
    return replace(queue, jobs=jobs, slices=left, sliced=bool(kept), audit=(*queue.audit, *notes))


def require_parting(queue: Queue, family: str) -> None:
    """Refuse jobs on parts of GPUs that an instance of the family cannot have (UsageError)."""
    if queue.sliced and family not in PARTING:
        raise UsageError(where="slices", found=f"parts with {family}", allowed=f"{LEFT_OUT} or {WHOLE}")


def _parted(jobs: Sequence[QueuedJob]) -> tuple[dict[str, QueuedJob], list[str]]:
    """Jobs that take one slice, with their profile or share in thousandths, by id; and audit sentences."""
    kept: dict[str, QueuedJob] = {}
    why, rounded, media = Counter[str](), 0, 0
    for job in jobs:
        profile, _, engines = (job.profile or profile_in(job.gpu_type)).partition("+")  # media engines take no slots
        if job.gpus > 1:
            why["Jobs on several parts of GPUs, which no job of the family can have"] += 1
        elif profile and profile not in _PROFILES:
            why["Jobs on MIG profiles whose slots are not known"] += 1
        elif profile:
            kept[job.id] = job._replace(profile=profile)
            media += bool(engines)
        else:
            share = math.ceil(round(1000 * job.share, 6)) / 1000
            kept[job.id] = job._replace(share=share)
            rounded += share > job.share + 1e-9
    return kept, [
        *(sentence for words, count in why.items() for sentence in counted(words, count)),
        *counted("Jobs on MIG profiles with media engines (+me), treated as those without", media),
        *counted("Jobs whose part of a GPU is no whole thousandth, rounded up to one", rounded),
    ]


def slices_said(jobs: Sequence[QueuedJob], *, sliced: bool) -> list[str]:
    """What the audit says of jobs on parts of GPUs that are in an instance."""
    of_parts = [job for job in jobs if job.share < 1]
    if not sliced:
        return counted(TAKEN_WHOLE, len(of_parts))
    if not of_parts:
        return []
    ends = ", which are ", figure(math.fsum(job.parts for job in of_parts), ",.1f"), " GPUs together."
    return [Sentence("Jobs on parts of GPUs (slices), each on its part: ", figure(len(of_parts)), *ends)]


def needs_of(job: QueuedJob, pools: Collection[str], sliced: Collection[str]) -> dict[str, object]:
    """The pool of a job that has one, and the slice of one whose id is of ``sliced``."""
    fields: dict[str, object] = {"pool": job.gpu_type} if job.gpu_type in pools else {}
    if job.id in sliced:
        fields |= {"profile": job.profile} if job.profile else {"gpu_share": job.share}
    return fields


def cut(
    servers: Sequence[Server], jobs: Sequence[QueuedJob], nodes: Sequence[QueueNode]
) -> tuple[list[Server], frozenset[str], list[str]]:
    """The servers with their slicing, as the jobs need it; the ids of those that take slices; and audit sentences.

    ``nodes``: those that the source lists. Where servers are fewer than kinds of GPUs that jobs need, some take whole ones.
    """
    kind_of = _kinds([job for job in jobs if job.share < 1])
    kinds = [*dict.fromkeys(kind_of.values())]
    if not kinds:
        return list(servers), frozenset(), []
    seen: dict[str, Counter[str]] = {server.id: Counter() for server in servers}
    for job in jobs:
        for node in job.nodes:
            if node in seen and job.id in kind_of:
                seen[node][kind_of[job.id]] += 1
    types = {node.id: node.gpu_type for node in nodes}
    # What jobs had on a server decides, then its model; servers of which nothing is known are shared out by need.
    need = {kind: most_held((), [job for job in jobs if kind_of.get(job.id) == kind]) for kind in kinds}
    given = dict.fromkeys(kinds, 0)
    slicing: dict[str, str] = {}
    for server in servers:
        able = _able(types.get(server.id, ""), kinds)
        slicing[server.id] = max(seen[server.id], key=seen[server.id].__getitem__) if seen[server.id] else "none"
        if not seen[server.id] and able:
            slicing[server.id] = max(able, key=lambda kind: (need[kind] + 1) / (given[kind] + server.gpus))
        if slicing[server.id] != "none":
            given[slicing[server.id]] += server.gpus
    # each kind needs a server, as long as there are some
    for kind in sorted(kinds, key=need.__getitem__, reverse=True):
        of_kind = Counter(slicing.values())
        spare = [name for name, own in slicing.items() if own == "none" or of_kind[own] > 1]
        if not of_kind[kind] and spare:
            slicing[spare[-1]] = kind
    counts = Counter(slicing.values())
    words = listed((kind, counts[kind], "") for kind in kinds if counts[kind])
    sliced = frozenset(name for name, kind in kind_of.items() if counts[kind])
    whole = "Jobs on parts of GPUs that take a whole GPU, as no server is left to be sliced"
    return (
        [server.model_copy(update={"slicing": slicing[server.id]}) for server in servers],
        sliced,
        [
            Sentence("Servers whose GPUs are assumed to be sliced as jobs need it: ", *words, "."),
            *counted(whole, len(kind_of) - len(sliced)),
        ],
    )


def _kinds(jobs: Sequence[QueuedJob]) -> Mapping[str, str]:
    """Shares or the geometry that every job needs, by id: few geometries, such that profiles take few slots."""
    kind_of = {job.id: _SHARES for job in jobs if not job.profile}
    needs = Counter((job.profile, job.gpu_type) for job in jobs if job.profile)
    able = {
        need: [name for name in _able(need[1], [*GEOMETRIES]) if need[0] in GEOMETRIES[name].profiles] for need in needs
    }
    # of a model without such a profile, as some logs call GPUs what they are not
    able = {
        need: own or [name for name in GEOMETRIES if need[0] in GEOMETRIES[name].profiles] for need, own in able.items()
    }
    chosen: dict[tuple[str, str], str] = {}
    while len(chosen) < len(needs):
        left = [need for need in needs if need not in chosen]

        def gain(name: str, left: Sequence[tuple[str, str]] = left) -> tuple[int, int]:
            """How many of the jobs it holds, and less the slots that their profiles take."""
            own = [need for need in left if name in able[need]]
            slots = sum(needs[need] * GEOMETRIES[name].profiles[need[0]].size for need in own)
            return sum(needs[need] for need in own), -slots

        best = max(GEOMETRIES, key=gain)
        chosen |= {need: best for need in left if best in able[need]}
    return kind_of | {job.id: chosen[job.profile, job.gpu_type] for job in jobs if job.profile}


def _able(gpu_type: str, kinds: Sequence[str]) -> list[str]:
    """The kinds that GPUs of a type can be: shares, and geometries of its model, or of any if it names none."""
    words = _WORD.findall(gpu_type.casefold().replace("_", " "))
    if not words or (profile_in(gpu_type) and not {*words} & {*_MODEL.values()}):
        return list(kinds)
    return [kind for kind in kinds if kind == _SHARES or _MODEL[kind] in words]
