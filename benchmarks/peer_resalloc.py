"""The relaxation of ``scale_peers.py`` in resalloc: one resource, and a utility of its own that is linear between corners.

resalloc (github.com/cvxgrp/resalloc) is on no index: ``PYTHONPATH`` has to name a checkout of it.
"""

import numpy as np
import torch
from resalloc.fungible import AllocationProblem


class Hulls:
    """Utility of the share t of the GPUs of its hull that each job gets; rows of segments are filled up with zeros."""

    def __init__(self, jobs, lengths, slopes):
        first = np.flatnonzero(np.diff(jobs, prepend=-1))
        row = np.repeat(np.arange(len(first)), np.diff([*first, len(jobs)]))
        at = torch.tensor(row), torch.tensor(np.arange(len(jobs)) - first[row])
        self.gain, self.length = torch.zeros((2, len(first), int(at[1].max()) + 1), dtype=torch.float64)
        self.length[at], self.gain[at] = torch.tensor(lengths), torch.tensor(-slopes)
        self.total = self.length.sum(dim=1, keepdim=True)
        self.before = self.length.cumsum(dim=1) - self.length

    def filled(self, t):
        """GPUs in each segment."""
        return torch.minimum((t.reshape(-1, 1) * self.total - self.before).clamp(min=0), self.length)

    def __call__(self, t):
        """Gain of each job."""
        return (self.filled(t) * self.gain).sum(dim=1).reshape(t.shape)

    def initial_prices(self, problem):
        """Start at the mean gain of a GPU; the first price is that of getting nothing."""
        return torch.tensor([0.0, self(torch.ones_like(self.total)).sum() / self.total.sum()], dtype=torch.float64)

    def argmax(self, slopes, problem):
        """Share at which the gain falls below the slope."""
        return ((self.gain * self.total > slopes) * self.length).sum(dim=1, keepdim=True) / self.total


def solve(jobs, lengths, slopes, spare):
    """Return answer, price, and no seconds elsewhere; the mean job gains 1, as resalloc ends at a gap of .001 a job."""
    unit = -(slopes @ lengths) / len(np.unique(jobs))
    hulls = Hulls(jobs, lengths, slopes / unit)
    problem = AllocationProblem(
        torch.ones_like(hulls.total), torch.tensor([spare], dtype=torch.float64), hulls, job_demands=hulls.total
    )
    prices, _ = problem.solve()
    filled = hulls.filled(problem.make_feasible(problem.X)[:, 1])
    return filled[hulls.length > 0].numpy(), prices[1].item() * unit, 0.0
