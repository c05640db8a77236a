"""Approximation guarantee of A-SRPT, as data.

*Theorem.* Strict virtual order, no waiting for better placements, any placement rule that starts the head as soon as its
GPUs are free, virtual sizes n~_i g_i alpha^low_i / G; n_i <= eta1 n~_i and n~_i <= eta2 n_i. Then

    sum c_i <= (eta2 (1 + eta1 rho G / m) + rho max(0, 1 - g_min / m)) OPT,   rho = max_i alpha^max_i / alpha^low_i

with m = G - g_max + 1.

*Proof.* Job k joins at v_k, its virtual completion. From v_k to its start some job that joined no later waits at the head, so
at least m GPUs are busy, with other jobs that joined by v_k only. Their real GPU-seconds are at most n_j g_j alpha^max_j <=
eta1 rho G times their virtual sizes, which the virtual machine has served by v_k, and that of k too: at most eta1 rho G v_k -
rho n_k g_k alpha^low_k in all. So start_k <= v_k (1 + eta1 rho G / m) - rho n_k alpha^low_k g_k / m. SRPT is optimal on the
virtual machine, and sizes eta2 times as large make its sum at most eta2 times as large: sum v_k <= eta2 OPT, as OPT is at
least SRPT's sum with true sizes. Last, n_k alpha_k <= rho n_k alpha^low_k, and n_k alpha^low_k sum to at most OPT.
``worst.closed_forms.strict_family`` reaches the factor where the largest job takes all GPUs and the smallest one of them.

Where jobs have begun before the clock starts, nothing is claimed: they did not wait for their virtual completion.
"""

from dlsched.core.family import Guarantee
from dlsched.srpt_mapping.checker import infeasible
from dlsched.srpt_mapping.instance import Instance

_ROUNDING = 1e-9


def factor(instance: Instance) -> float:
    """The theorem's factor for an instance."""
    rho = max(job.graph.uniform_s(instance.slowest) / job.graph.uniform_s(instance.fastest) for job in instance.jobs)
    eta1 = max(1.0, *(job.iterations / job.predicted for job in instance.jobs))
    eta2 = max(1.0, *(job.predicted / job.iterations for job in instance.jobs))
    gpus = [job.gpus for job in instance.jobs]
    busy = instance.total_gpus - max(gpus) + 1
    return eta2 * (1 + eta1 * rho * instance.total_gpus / busy) + rho * max(0.0, 1 - min(gpus) / busy)


STRICT = Guarantee[Instance](
    "at most eta2 (1 + eta1 rho G / m) + rho max(0, 1 - g_min / m) times the optimum, m = G - g_max + 1 (tight for a job "
    "of all GPUs); at most 1 + 3 rho with true predictions and jobs of at most half the GPUs",
    lambda instance: infeasible(instance) is None and all(job.begun is None for job in instance.jobs),
    lambda instance, optimum: factor(instance) * optimum * (1 + _ROUNDING),
)
