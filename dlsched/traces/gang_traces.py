"""The traces of Philly, Gavel and Tiresias as gangs: jobs on exactly the GPUs that their users asked for.

Each importer raises as ``import_instance`` does; a malformed row is a `ValueError` that names its line.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from dlsched.srpt_mapping.instance import Instance, Stage
from dlsched.traces.gangs import Gang, arriving_gangs, chain, instance_of, iteration_s, packed, require_servers
from dlsched.traces.gavel import measured, read_gavel
from dlsched.traces.philly import PHILLY_SOURCE, philly_window, read_philly
from dlsched.traces.queue import Request, seconds_window
from dlsched.traces.rows import counted, csv_rows, integer, number, rounded

Imported = tuple[Instance, list[str]]

# the published model of a job of Philly on at most this many GPUs; the last model, on more
PHILLY_GPUS = (1, 2, 4, 8, 16, 32)
PHILLY_MODELS = ("ResNet-50", "VGG-16", "ResNet-152", "BERT-base", "BERT-large", "GPT-2 355M", "GPT-2 1.2B")

GAVEL_GPU = "V100"
GAVEL_MODELS = {
    "ResNet-18": "ResNet-50",
    "ResNet-50": "ResNet-50",
    "LM": "GPT 126M",
    "Transformer": "BERT-base",
    "Recommendation": "VGG-16",
    "A3C": "ResNet-50",
    "CycleGAN": "ResNet-152",
}

TIRESIAS_COLUMNS = ("num_gpu", "submit_time", "iterations", "model_name", "duration")
TIRESIAS_MODELS = {
    "alexnet": "VGG-16",
    "vgg11": "VGG-16",
    "vgg16": "VGG-16",
    "vgg19": "VGG-16",
    "googlenet": "ResNet-50",
    "inception3": "ResNet-50",
    "inception4": "ResNet-152",
    "resnet50": "ResNet-50",
    "resnet101": "ResNet-152",
    "resnet152": "ResNet-152",
}


def import_philly_gangs(
    path: str, *, gpus: int | None = None, from_: str | None = None, to: str | None = None
) -> Imported:
    """Read ``philly_jobs.csv`` of petuum/adaptdl as an instance of srpt_mapping, with its audit."""
    require_servers(gpus)
    window, file = philly_window(from_, to), Path(path)
    requests, audit = read_philly(file)
    kept, said = arriving_gangs(file, requests, window)
    gangs = [_of_philly(request) for request in kept]
    nameless = sum(gang.group is None for gang in gangs)
    users = Counter(gang.model for gang in gangs)
    words = ["1 GPU", *(f"up to {most}" for most in PHILLY_GPUS[1:]), "more"]
    models = [f"{model} on {word} ({users[model]:,} jobs)" for model, word in zip(PHILLY_MODELS, words, strict=True)]
    audit += [
        *said,
        f"The trace names no model; they are chosen by GPUs, an assumption of ours: {', '.join(models)}. Not by length, "
        "which would tell it to predictors. Batches, seconds and bytes are the models'.",
        "The trace has no users: the virtual cluster stands for them, and with the number of GPUs it is the group.",
    ]
    if nameless:
        audit.append(f"Jobs without a virtual cluster, which have no user and no group: {nameless:,}.")
    return instance_of("philly-gangs", file, PHILLY_SOURCE, gangs, window, gpus, audit)


def _of_philly(request: Request) -> Gang:
    model = PHILLY_MODELS[bisect_left(PHILLY_GPUS, request.gpus)]
    user = request.virtual_cluster.strip() or None
    return packed(request, request.size, model, group=f"{user}-{request.gpus}" if user else None, user=user)


def import_gavel_gangs(
    path: str, *, gpus: int | None = None, from_: str | None = None, to: str | None = None
) -> Imported:
    """Read a ``.trace`` file of Gavel as an instance of srpt_mapping, with its audit.

    A job takes ``total_steps`` over the steps per second of its type on V100 at ``scale_factor``, or at the largest
    measured count below it.
    """
    require_servers(gpus)
    window, file = seconds_window(from_, to), Path(path)
    requests, audit = read_gavel(file, GAVEL_GPU)
    kept, said = arriving_gangs(file, requests, window)
    lengths = [measured(request, GAVEL_GPU) for request in kept]
    gangs = [
        packed(request, seconds, GAVEL_MODELS[_word(request)], group=f"{request.job_type} on {request.gpus}")
        for request, (_, seconds) in zip(kept, lengths, strict=True)
    ]
    below = sum(count < request.gpus for request, (count, _) in zip(kept, lengths, strict=True))
    audit += [
        *said,
        _nearest(map(_word, kept), GAVEL_MODELS, "Seconds and bytes are theirs, and so are batches."),
        f"Lengths are total_steps at Gavel's speeds on {GAVEL_GPU}.",
    ]
    if below:
        audit.append(
            f"Jobs whose type was not measured at their scale_factor: {below:,}; they last as long as at the largest count "
            "measured below it."
        )
    audit.append("The trace has no users; a group is a job type and a number of GPUs.")
    origin = "stanford-futuredata/gavel (MIT), lengths by its gavel_simulation_throughputs.json"
    return instance_of("gavel-gangs", file, origin, gangs, window, gpus, audit)


def _word(request: Request) -> str:
    """Job type of Gavel without its batch size."""
    return request.job_type.partition(" (")[0]


def import_tiresias(path: str, *, gpus: int | None = None, from_: str | None = None, to: str | None = None) -> Imported:
    """Read ``tiresias_60_jobs.csv`` as an instance of srpt_mapping, with its audit."""
    require_servers(gpus)
    window, file = seconds_window(from_, to), Path(path)
    requests, audit = read_tiresias(file)
    kept, said = arriving_gangs(file, requests, window)
    gangs = [_of_tiresias(request) for request in kept]
    fitted = sum(gang.iterations != gang.request.iterations for gang in gangs)
    audit += [
        *said,
        _nearest((request.job_type for request in kept), TIRESIAS_MODELS, "Bytes are theirs."),
        "Iterations are the trace's; a stage computes for what its all-reduce leaves of duration / iterations.",
    ]
    if fitted:
        audit.append(
            f"Jobs of several stages, or with nothing left, whose published seconds and fitting iterations count: {fitted:,}."
        )
    audit.append("The trace has no users; a group is a model of the trace and a number of GPUs.")
    return instance_of("tiresias", file, "SymbioticLab/Tiresias (Apache-2.0)", gangs, window, gpus, audit)


def read_tiresias(path: Path) -> tuple[list[Request], list[str]]:
    """Read the jobs in the order of the file, and say what the rows were."""
    requests = []
    seen: set[tuple[str, ...]] = set()
    rows = 0
    for line, row in csv_rows(path, TIRESIAS_COLUMNS):
        where = f"{path}, line {line}"
        gpus, iterations = integer(row, "num_gpu", where), integer(row, "iterations", where, digits=15)
        submit_s, duration_s = number(row, "submit_time", where), number(row, "duration", where)
        if row["model_name"] not in TIRESIAS_MODELS:
            allowed = ", ".join(TIRESIAS_MODELS)
            raise ValueError(f"{where}: model_name must be one of {allowed}, found {row['model_name']!r}")
        rows += 1
        seen.add(tuple(row.values()))
        if duration_s > 0:
            requests.append(Request(submit_s, gpus, duration_s, row["model_name"], iterations=iterations))
    return requests, counted(rows, len(requests), len(seen))


def _of_tiresias(request: Request) -> Gang:
    """Make a job with the trace's iterations and seconds, or published seconds if its stages require it."""
    model, group = TIRESIAS_MODELS[request.job_type], f"{request.job_type} on {request.gpus}"
    stages = chain(model, request.gpus)
    assert request.iterations is not None
    others_s = iteration_s(stages) - stages[0].compute_s
    compute_s = rounded(request.size / request.iterations - others_s)
    if len(stages) > 1 or compute_s <= 0:
        return packed(request, request.size, model, group=group)
    stage = Stage(**{**stages[0].model_dump(), "compute_s": compute_s})
    return Gang(request, (stage,), float(request.iterations), model, group)


def _nearest(words: Iterable[str], models: Mapping[str, str], ending: str) -> str:
    """Write which published model stands for which word of the trace."""
    said = [f"{word} as {models[word]} ({count:,} jobs)" for word, count in sorted(Counter(words).items())]
    return f"The nearest published models, by our choice, unscaled: {', '.join(said)}. {ending}"
