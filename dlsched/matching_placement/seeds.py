"""The cheapest way to give every job its smallest number of workers, as a transportation problem."""

import numpy as np

from dlsched.core.errors import SolverError
from dlsched.matching_placement.arrays import Arrays, Counts


def seeds(arrays: Arrays) -> Counts:
    """Return min_i workers for every job, shape (S, G), of a feasible instance.

    Minimises sum_ig T_i Pi_i / (min_i^2 rho_ig) c_ig with sum_g c_ig = min_i and sum_i c_ig <= s_g: of a job on one type
    that is its compute time, and on several types an upper bound of it (the harmonic mean is below the mean).

    Raises
    ------
    SolverError
        HiGHS finds no optimum; a feasible instance has one.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    job, kind = np.nonzero(arrays.rates)
    size = arrays.least[job]
    cost = arrays.work[job] / (arrays.rates[job, kind] * size.astype(np.float64) ** 2)
    columns, one = np.arange(len(job)), np.ones(len(job))
    answer = linprog(
        cost / cost.max(),
        A_ub=csr_array((one, (kind, columns)), shape=(arrays.types, len(job))),
        b_ub=arrays.stock,
        A_eq=csr_array((one, (job, columns)), shape=(arrays.jobs, len(job))),
        b_eq=arrays.least,
        method="highs-ds",  # a vertex, which is integral
    )
    if answer.status != 0:
        raise SolverError(f"HiGHS found no cheapest seeds: {answer.message}")
    counts = np.zeros((arrays.jobs, arrays.types), dtype=np.int64)
    counts[job, kind] = np.rint(answer.x).astype(np.int64)
    return counts
