"""Published speed measurements of PCS (CSV), Gavel (JSON) and AdaptDL (a folder of CSV files), and ring_allocation of them.

Each reader returns the speeds and the audit. Seconds per epoch are rounded to 6 significant digits. Malformed input raises
`ValueError` naming the file, and the line or the key; a file that cannot be opened raises `OSError`.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from dlsched.cluster.published import PublishedSpeed
from dlsched.core.errors import InputError
from dlsched.core.files import Json, parse_json
from dlsched.ring_allocation import Instance
from dlsched.traces.cells import rounded
from dlsched.traces.readers.text_tables import csv_rows, integer, real_number

IMAGENET_SAMPLES = 1_281_167

PCS_MODELS = {
    "Vggnet": "VGG",
    "Googlenet": "GoogLeNet",
    "Inception4": "Inception-v4",
    "Resnet50": "ResNet-50",
    "Deepspeech": "DeepSpeech",
    "Dcgan": "DCGAN",
    "Videoprediction": "Video prediction",
}
PCS_ROUNDING_US = 1.25  # a point rounded (or cut) to whole microseconds lies up to 1 us off its neighbours' line

# model: data set, samples of an epoch, what a sample is
GAVEL_DATASETS = {
    "ResNet-18": ("CIFAR-10", 50_000, "images"),
    "ResNet-50": ("ImageNet", IMAGENET_SAMPLES, "images"),
    "Transformer": ("Multi30k", 29_000, "sentence pairs"),
    "LM": ("WikiText-2", 2_088_628 // 35, "sequences of 35 of the 2,088,628 tokens (the script's bptt, assumed)"),
}

# file: model, data set, samples of an epoch, where that figure comes from
ADAPTDL_DATASETS: dict[str, tuple[str, str | None, int, str]] = {
    "bert": ("BERT", "SQuAD 1.1", 88_524, "88,524 features of its training set, assumed"),
    "cifar10": ("ResNet-18", "CIFAR-10", 50_000, "50,000 training images"),
    "deepspeech2": ("DeepSpeech2", None, 10_000, "10,000 utterances by our definition, as the data set is not stated"),
    "imagenet": ("ResNet-50", "ImageNet", IMAGENET_SAMPLES, "1,281,167 training images"),
    "ncf": ("NeuMF", "MovieLens-1M", 4_970_845, "994,169 ratings, each with 4 sampled negatives, assumed"),
    "yolov3": ("YOLOv3", "PASCAL VOC 2007+2012", 16_551, "16,551 trainval images, assumed"),
}


def listing(what: str, names: Sequence[str]) -> str:
    """Write a sentence of the audit that lists names; empty if there are none."""
    return f"{what}: {len(names)} ({', '.join(names)})." if names else ""


def read_pcs_speedups(path: Path | str) -> tuple[list[PublishedSpeed], list[str]]:
    """Read the CSV file of PCS: microseconds per iteration of a fixed global batch, at each GPU count.

    The file is linearly interpolated between the counts that were measured; only the points where the slope changes,
    and the two ends, are kept.

    Source: github.com/abdullahfsm/PCS (OSDI 2024), MIT; columns ``model,iters_expr,gpus,us_per_iter``.
    """
    path = Path(path)
    points: dict[str, dict[int, float]] = defaultdict(dict)
    totals: dict[str, tuple[int, int]] = {}
    toys: list[str] = []  # one entry a row
    # One table of microseconds by count for each model; every row of a model must state the same total.
    for line, row in csv_rows(path, ("model", "iters_expr", "gpus", "us_per_iter")):
        model, where = row["model"].strip(), f"{path}, line {line}"
        if not model:
            raise ValueError(f"{where}: model is empty")
        expression = re.fullmatch(r"\s*([1-9][0-9]{0,17})\s*//\s*([1-9][0-9]{0,17})\s*", row["iters_expr"])
        if expression is None:
            raise ValueError(f"{where}: iters_expr must read 'samples // batch', found {row['iters_expr']!r}")
        total = int(expression[1]), int(expression[2])
        gpus, us_per_iter = integer(row, "gpus", where), real_number(row, "us_per_iter", where, positive=True)
        if model.startswith("Toy"):
            toys.append(model)
            continue
        if totals.setdefault(model, total) != total:
            raise ValueError(f"{where}: iters_expr differs from earlier rows of {model}, found {row['iters_expr']!r}")
        if gpus in points[model]:
            raise ValueError(f"{where}: {model} on {gpus} GPUs is given twice")
        points[model][gpus] = us_per_iter

    speeds = []
    epochs: dict[str, list[str]] = {"imagenet": [], "hundredth": [], "iterations": []}
    # What an epoch is follows from the total: of ImageNet, a hundredth of it, or 1,000 iterations.
    for model, by_gpus in points.items():
        samples, batch = totals[model]
        named = re.fullmatch(r"(.+?)(?:Model)?([1-9][0-9]{0,17})", model)
        name = named[1] if named else model
        batch_samples = int(named[2]) if named else batch
        dataset = None
        if batch_samples != batch:  # the expression was copied from another model: it says nothing about this one
            rule, epoch_samples = "iterations", 1000 * batch_samples
            epoch = "its total of iterations is for another batch, so an epoch is 1,000 iterations by our definition"
        elif samples % IMAGENET_SAMPLES == 0:
            rule, epoch_samples, dataset = "imagenet", IMAGENET_SAMPLES, "ImageNet"
            epoch = f"its {samples:,} samples in all are {samples // IMAGENET_SAMPLES} epochs of ImageNet"
        else:
            rule, epoch_samples = "hundredth", max(1, samples // 100)
            epoch = f"its data set is not stated, so an epoch is a hundredth of its {samples:,} samples in all"
        epochs[rule].append(model)
        us_per_iter_at = _measured(by_gpus)
        times = {gpus: epoch_samples / batch_samples * us / 1e6 for gpus, us in us_per_iter_at.items()}
        source = (
            f"{path.name} of abdullahfsm/PCS (MIT): time per iteration of {batch_samples:,} samples on all GPUs "
            f"together, without the interpolated counts; {epoch}."
        )
        name = PCS_MODELS.get(name, name)
        speeds.append(_speed(path, name, None, batch_samples, dataset, epoch_samples, times, source))
    rows, kept = sum(map(len, points.values())), sum(len(speed.counts) for speed in speeds)
    audit = [
        listing(f"Invented models left out ({len(toys)} rows)", sorted(set(toys))),
        f"Interpolated rows dropped: {rows - kept} of {rows}; they lie on the line between their neighbours."
        if rows > kept
        else "",
        listing("Models whose total is a whole number of ImageNet epochs, assumed to be ImageNet", epochs["imagenet"]),
        listing("Models of unknown data, an epoch is a hundredth of their total samples", epochs["hundredth"]),
        listing("Models whose iters_expr is for another batch, an epoch is 1,000 iterations", epochs["iterations"]),
        f"Models without a stated GPU type: {len(speeds)}; it stays unknown." if speeds else "",
    ]
    return speeds, [sentence for sentence in audit if sentence]


def read_gavel_speeds(path: Path | str) -> tuple[list[PublishedSpeed], list[str]]:
    """Read a JSON file of Gavel: steps per second of each job type on each GPU type, alone and on several GPUs.

    The throughput at a scale is the sum over the GPUs, each of which steps through its own batch (Gavel's
    ``measure_throughput.py``), so that an epoch takes samples / batch / throughput seconds. Figures are kept as
    published, monotone or not.

    Source: github.com/stanford-futuredata/gavel (OSDI 2020), MIT.
    """
    path = Path(path)
    tables = _mapping(_json(path), f"{path}")
    spread = [gpu for gpu in tables if gpu.endswith("_unconsolidated")]
    speeds: list[PublishedSpeed] = []
    pairs = unfit = 0
    dropped: dict[str, list[str]] = {"single": [], "unknown": [], "few": [], "uneven": []}
    # Throughputs of co-located jobs are passed over; a table of a type of GPU becomes one speed for each job type.
    for gpu, table in tables.items():
        if gpu in spread:
            continue
        steps_per_s: dict[tuple[str, int], dict[int, float]] = defaultdict(dict)
        for key, entry in _mapping(table, f"{path}: {gpu}").items():
            where = f"{path}: {gpu}: {key}"
            parsed = re.fullmatch(r"\('(.+?)(?: \(batch size ([1-9][0-9]{0,17})\))?', ([1-9][0-9]{0,8})\)", key)
            if parsed is None:
                raise ValueError(f"{where}: a job type must read ('name (batch size n)', scale)")
            alone = _mapping(entry, where)
            if "null" not in alone:
                raise ValueError(f"{where}: null (the job alone) is missing")
            pairs += len(alone) - 1
            job_type, gpus = (parsed[1], int(parsed[2] or 0)), int(parsed[3])
            if gpus in steps_per_s[job_type]:
                raise ValueError(f"{where}: the job type is given twice")
            steps_per_s[job_type][gpus] = _throughput(alone["null"], f"{where}: null")
        for (model, batch_samples), by_gpus in steps_per_s.items():
            label = f"{gpu} {model}" + (f" (batch size {batch_samples})" if batch_samples else "")
            fitting = {gpus: by_gpus[gpus] for gpus in sorted(by_gpus) if by_gpus[gpus] > 0}
            if len(by_gpus) == 1:
                dropped["single"].append(label)
                continue
            if model not in GAVEL_DATASETS or not batch_samples:
                dropped["unknown"].append(label)
                continue
            unfit += len(by_gpus) - len(fitting)
            if len(fitting) < 2:
                dropped["few"].append(label)
                continue
            if list(fitting.values()) != sorted(fitting.values()):
                dropped["uneven"].append(label)
            dataset, epoch_samples, unit = GAVEL_DATASETS[model]
            times = {gpus: epoch_samples / batch_samples / rate for gpus, rate in fitting.items()}
            source = (
                f"{path.name} of stanford-futuredata/gavel (MIT): steps per second of the job alone, summed over GPUs "
                f"with {batch_samples} samples a step each; an epoch is {epoch_samples:,} {unit}."
            )
            speeds.append(_speed(path, model, gpu.upper(), batch_samples, dataset, epoch_samples, times, source))
    samples = {speed.model: GAVEL_DATASETS[speed.model] for speed in speeds}
    epochs = ", ".join(f"{count:,} {unit} for {model}" for model, (_, count, unit) in samples.items())
    audit = [
        listing("GPU types left out, as their GPUs are spread over servers", spread),
        f"Throughputs of co-located pairs left out: {pairs}; only jobs that run alone are read." if pairs else "",
        listing("Job types left out, as they were measured at a single GPU count", dropped["single"]),
        listing("Job types left out, as their data set or batch is unknown", dropped["unknown"]),
        f"GPU counts dropped: {unfit}; a throughput of 0.0 means that the job does not fit." if unfit else "",
        listing("Job types left out, as fewer than two GPU counts fit", dropped["few"]),
        listing("Job types slower on some larger GPU count, kept as published", dropped["uneven"]),
        f"Job types read: {len(speeds)}; an epoch is {epochs}." if speeds else "",
    ]
    return speeds, [sentence for sentence in audit if sentence]


def read_adaptdl_speeds(folder: Path | str) -> tuple[list[PublishedSpeed], list[str]]:
    """Read AdaptDL's measurements on T4 GPUs: a folder with one CSV file a model, step times by nodes, GPUs and batch.

    Keeps from each file the batch measured at most GPU counts (the largest of several), and for each GPU
    count the fastest row, whatever its number of nodes.

    Source: github.com/petuum/adaptdl, branch osdi21-artifact (Pollux, OSDI 2021), Apache-2.0;
    columns ``num_nodes,num_replicas,local_bsz,step_time,sync_time``.
    """
    folder = Path(folder)
    files = sorted(folder.glob("*.csv"))
    if not files:
        raise ValueError(f"{folder}: no CSV file found")
    unknown = [path.name for path in files if path.stem not in ADAPTDL_DATASETS]
    speeds, audit = [], [listing("Files left out, as their data set is unknown", unknown)]
    for path in files:
        if path.name in unknown:
            continue
        fastest: dict[int, dict[int, float]] = defaultdict(dict)  # batch on one GPU: GPUs: seconds
        of_batch: Counter[int] = Counter()
        # The fastest step of every batch and count, and how many rows each batch has.
        for line, row in csv_rows(path, ("num_nodes", "num_replicas", "local_bsz", "step_time")):
            where = f"{path}, line {line}"
            integer(row, "num_nodes", where)
            gpus, batch = integer(row, "num_replicas", where), integer(row, "local_bsz", where)
            step_time_s = real_number(row, "step_time", where, positive=True)
            fastest[batch][gpus] = min(step_time_s, fastest[batch].get(gpus, math.inf))
            of_batch[batch] += 1
        batch = max(fastest, key=lambda size: (len(fastest[size]), size))
        model, dataset, epoch_samples, epoch = ADAPTDL_DATASETS[path.stem]
        times = {gpus: epoch_samples / (gpus * batch) * step for gpus, step in sorted(fastest[batch].items())}
        source = (
            f"adaptdl_t4/{path.name} of petuum/adaptdl, branch osdi21-artifact (Apache-2.0): fastest step time at each "
            f"GPU count with {batch} samples on each GPU; an epoch is {epoch}."
        )
        speeds.append(_speed(path, model, "T4", batch, dataset, epoch_samples, times, source))
        audit.append(
            f"{path.name}: kept batch {batch} on each GPU ({of_batch[batch]} of {sum(of_batch.values())} rows) and "
            f"its fastest row at each of {len(times)} GPU counts ({of_batch[batch] - len(times)} slower ones dropped); "
            f"an epoch is {epoch}."
        )
    return speeds, [sentence for sentence in audit if sentence]


def _measured(by_gpus: Mapping[int, float]) -> dict[int, float]:
    """Keep the ends and the points off the line through their two neighbours; the others can be interpolated."""
    counts = sorted(by_gpus)
    kept = [counts[0]]
    for low, count, high in zip(counts, counts[1:], counts[2:], strict=False):
        line = by_gpus[low] + (by_gpus[high] - by_gpus[low]) * ((count - low) / (high - low))
        if abs(by_gpus[count] - line) > PCS_ROUNDING_US:
            kept.append(count)
    return {count: by_gpus[count] for count in dict.fromkeys((*kept, counts[-1]))}


def _speed(
    path: Path,
    model: str,
    gpu: str | None,
    batch_samples: int,
    dataset: str | None,
    epoch_samples: int,
    epoch_time_s: Mapping[int, float],
    source: str,
) -> PublishedSpeed:
    times = tuple(map(rounded, epoch_time_s.values()))
    try:
        return PublishedSpeed(model, gpu, batch_samples, dataset, epoch_samples, tuple(epoch_time_s), times, source)
    except ValueError as error:
        raise ValueError(f"{path}: {model}: {error}") from None


def _json(path: Path) -> Json:
    try:
        return parse_json(path.read_text(encoding="utf-8-sig"), path)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: {error}") from None


def _mapping(value: Json, where: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: must be a JSON object, found {type(value).__name__}")
    return value


def _throughput(value: Json, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e300:
        raise ValueError(f"{where}: steps per second must be a number >= 0, found {value!r}")
    return float(value)


def _import_speeds(
    source: str,
    read: Callable[[str], tuple[list[PublishedSpeed], list[str]]],
    path: str,
    *,
    gpus: int | None = None,
    epochs: float = 100.0,
) -> tuple[Instance, list[str]]:
    """Read tables of speeds as an instance of ring_allocation: one job a table."""
    speeds, audit = read(path)
    if not speeds:
        raise InputError(where=path, found="no table of speeds", allowed="at least one")
    audit = [*audit, f"Every job is given {epochs:g} epochs and weight 1: the file does not say."]
    total = gpus if gpus is not None else 4 * sum(speed.counts[0] for speed in speeds)
    if gpus is None:
        audit.append(f"The cluster is given {total} GPUs, four times the smallest counts together.")
    jobs = [
        {"id": name, "epochs": epochs, "epoch_time_s": dict(zip(speed.counts, speed.epoch_time_s, strict=True))}
        for name, speed in zip(_ids(speeds), speeds, strict=True)
    ]
    heads = sorted({speed.source.split(":")[0] for speed in speeds})
    text = f"imported from {'; '.join(heads)}. Audit: {' '.join(audit)}"
    return Instance(name=f"{source}-{len(jobs)}x{total}", source=text, gpus=total, jobs=jobs), audit


def _ids(speeds: Sequence[PublishedSpeed]) -> list[str]:
    """Model, GPU type and batch, as plain words, numbered where they repeat."""
    seen: Counter[str] = Counter()
    ids = []
    for speed in speeds:
        words = f"{speed.model}_{speed.gpu or 'gpu'}_{speed.batch_samples}"
        name = "".join(letter if letter.isalnum() else "_" for letter in words)
        seen[name] += 1
        ids.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return ids


import_pcs = partial(_import_speeds, "pcs", read_pcs_speedups)
import_gavel_speeds = partial(_import_speeds, "gavel-speeds", read_gavel_speeds)
import_adaptdl = partial(_import_speeds, "adaptdl", read_adaptdl_speeds)
