"""A queue as jobs of asynchronous SGD with parameter servers: jobs of one moment, or jobs that arrive over time."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Final

from dlsched.async_sgd.generator import assumed_update_s
from dlsched.async_sgd.instance import Instance, Job
from dlsched.async_sgd.streams import to_stream
from dlsched.cluster.published import IMAGENET_IMAGES, NETWORK_BYTES_PER_S, PublishedSteps, Step, published_steps
from dlsched.core.errors import UsageError
from dlsched.queueing.network import network_of
from dlsched.queueing.throughput import throughput_of
from dlsched.traces.cells import rounded
from dlsched.traces.gpu_counts import GPUS_OF_A_SERVER
from dlsched.traces.queue import Queue, QueuedJob, Sentence, Window, listed
from dlsched.traces.selection import WHOLE, ImportedInstance, choose, finished, lasted_s
from dlsched.traces.snapshot import admitted, at_moment, made_of

# Published models of jobs, by the number of GPUs up to each of ``GPUS``; the last one for more
GPUS: Final = (1, 4, 8)
MODELS: Final = ("ResNet-50", "Inception v3", "ResNet-152", "VGG-16")
USUAL: Final = "P100"  # whose step times are used if the model was not measured on the job's own GPU


def async_of(
    queue: Queue,
    *,
    gpus: int | None = None,
    at: str | None = None,
    estimates: bool = False,
    network_gbit: int = 10,
) -> ImportedInstance:
    """Make an instance of async_sgd of the jobs present at a moment; a GPU is a node.

    A job computes and exchanges like a published model. Its epochs left are such that it ends when
    ``snapshot`` says, on the GPUs that it holds or asks for. It may have any number of nodes up to these.

    ``queue``, ``gpus``, ``at``, ``estimates``: as ``allocation_of``; a waiting job needs one node. ``network_gbit``: speed
    of the links of parameter servers: 1, 10 or 25.
    """
    _require_network(network_gbit)
    present, total, audit = at_moment(queue, at, gpus, estimates=estimates)
    inside, left_out = admitted(present, total, lambda each: 1)
    jobs = [_job(each.job, each.left_s, network_gbit) for each in inside]
    # GPUs on which left-out slices run are no nodes of the instance.
    total -= len(present.outside)
    audit += [*left_out, *_assumed([each.job for each in inside], network_gbit)]
    instance = Instance(name=f"{queue.source}-now-{len(jobs)}x{total}", nodes=total, jobs=jobs)
    return made_of(queue, instance, inside, audit)


def async_stream_of(
    queue: Queue,
    *,
    gpus: int | None = None,
    gpus_of_node: int = GPUS_OF_A_SERVER,
    window: Window = WHOLE,
    carried: bool = False,
    restart_s: float | None = None,
    network_gbit: int = 10,
) -> ImportedInstance:
    """Make an instance of elastic_stream of jobs as in ``async_of``, which arrive when they did in the queue.

    ``queue``, ``gpus``, ``gpus_of_node``, ``window``, ``carried``: as ``choose``. ``restart_s``: seconds that a change
    of its nodes costs a job; None: 0. ``network_gbit``: as ``async_of``.
    """
    _require_network(network_gbit)
    chosen = choose(
        queue,
        gpus=gpus,
        gpus_of_node=gpus_of_node,
        window=window,
        carried=carried,
        answer="stream",
        least=lambda job: 1,
    )
    jobs = [_job(job, lasted_s(job), network_gbit) for job in chosen.jobs]
    # The jobs as those of one moment, whose seconds an epoch by nodes become the stream's speeds.
    static = Instance(name=f"{queue.source}-{len(jobs)}x{chosen.gpus}", nodes=chosen.gpus, jobs=jobs)
    arrivals_s = [chosen.relative(job.submit_s) for job in chosen.jobs]
    instance = to_stream(static, arrivals_s, restart_s=restart_s or 0.0)
    audit = [*chosen.audit, *_assumed(chosen.jobs, network_gbit), *restart_assumption(restart_s)]
    return finished(queue, chosen, instance, audit)


def restart_assumption(restart_s: float | None) -> list[str]:
    """The sentence of the audit on what a restart costs, where nothing is stated."""
    return ["A restart is assumed to cost 0 s: the trace does not say."] if restart_s is None else []


def _require_network(network_gbit: int) -> None:
    if network_gbit not in NETWORK_BYTES_PER_S:
        allowed = ", ".join(map(str, NETWORK_BYTES_PER_S))
        raise UsageError(where="network_gbit", found=network_gbit, allowed=allowed)


def _job(record: QueuedJob, seconds: float, network_gbit: int) -> Job:
    """A job that takes ``seconds`` on the GPUs of the record."""
    model, step = _step(record)
    job = Job(
        id=record.id,
        epochs=1.0,
        dataset_examples=float(IMAGENET_IMAGES),
        batch_examples=float(step.batch_samples),
        parameter_bytes=float(model.parameter_bytes),
        bandwidth_bytes_per_s=NETWORK_BYTES_PER_S[network_gbit],
        compute_s=step.step_s,
        update_s=rounded(assumed_update_s(model.parameter_bytes)),
        max_nodes=record.gpus,
    )
    batches = seconds * throughput_of(network_of(job), record.gpus)
    return job.model_copy(update={"epochs": batches * job.batch_examples / job.dataset_examples})


def _step(record: QueuedJob) -> tuple[PublishedSteps, Step]:
    """Return the model of a job, and its step on the job's GPU if it was measured there."""
    name = MODELS[bisect_left(GPUS, record.gpus)]
    model = next(each for each in published_steps() if each.model == name)
    by_gpu = {step.gpu: step for step in model.steps}
    own = (gpu for gpu in by_gpu if gpu.casefold() in record.gpu_type.casefold())
    return model, by_gpu[next(own, USUAL)]


def _assumed(jobs: Sequence[QueuedJob], network_gbit: int) -> list[str]:
    users = Counter(MODELS[bisect_left(GPUS, job.gpus)] for job in jobs)
    named = listed((model, users[model], " jobs") for model in MODELS)
    return [
        "A job has a parameter server of its own, which takes no GPU, and up to as many workers as it held GPUs or asks for; it "
        "lasts as long as in the trace on all of them.",
        Sentence(
            "The trace names no model; they are chosen by GPUs, an assumption of ours: ",
            *named,
            ". Steps are published ones, on the job's GPU where the model was measured on it, else on "
            f"{USUAL}; links of {network_gbit} Gbit/s, updates and ImageNet are assumed.",
        ),
    ]
