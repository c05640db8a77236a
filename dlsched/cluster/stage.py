"""A pipeline stage of a training job, as an instance holds it."""

from dlsched.core.instance import Count, NonNegative, Positive
from dlsched.core.part import Part


class Stage(Part):
    """A pipeline stage of a job.

    Parameters
    ----------
    replicas
        Data-parallel copies, one GPU each.
    compute_s
        Seconds that one replica computes in an iteration, forward and backward of its share of the batch; > 0.
    output_bytes
        Bytes that an iteration of the whole job moves from this stage to the next, and as many back; 0 for the last.
    parameter_bytes
        Bytes that the replicas all-reduce in an iteration.
    """

    replicas: Count
    compute_s: Positive
    output_bytes: NonNegative
    parameter_bytes: NonNegative
