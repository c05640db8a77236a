"""Every configuration of a job: the vectors of how many workers of each type it may get."""

import numpy as np

from dlsched.algorithms.count_vectors import all_vectors, number_of_vectors
from dlsched.matching_placement.arrays import Arrays, Counts


def count_configurations(arrays: Arrays, job: int) -> int:
    """Number of configurations of a job, without listing them; cost O(G max_i)."""
    return number_of_vectors(arrays.stock[arrays.able(job)], int(arrays.least[job]), int(arrays.most[job]))


def configurations(arrays: Arrays, job: int) -> Counts:
    """List the configurations of a job, shape (N, G), in lexicographic order."""
    able = arrays.able(job)
    rows = all_vectors(arrays.stock[able], int(arrays.least[job]), int(arrays.most[job]))
    counts = np.zeros((len(rows), arrays.types), dtype=np.int64)
    counts[:, able] = rows
    return counts
