"""Models of clusters and jobs: all-reduce costs, fitted and published speeds, loss curves, arrivals, job graphs, networks.

===================================  ==================================================================================
module                               content
===================================  ==================================================================================
``all_reduce``                       seconds of an all-reduce
``speeds``                           seconds of an epoch by count of GPUs, as a law and as a table
``curve_fits``                       fits of the speed law and of the loss curve to measurements
``training_job``                     fields and counts of a data-parallel job, shared by two families
``job_graph``                        pipeline and data-parallel stages; lower bound on the seconds of an iteration
``replica_placement``                splits of replicas over servers, and the fastest of them
``spreading``                        the same by rules: Heavy-Edge, chain order, swaps, best fit
``network``                          nodes, links and paths, trees of them; routes between servers
``topologies``                       racks, fat trees and other topologies; random networks
``slicing``                          MIG: profiles of a GPU, and the slots that they take
``utility``                          utility of a job's total work
``arrivals``                         random arrival times
``published``                        published measurements, with their sources
===================================  ==================================================================================
"""

from importlib import import_module
from typing import TYPE_CHECKING

from dlsched.cluster.all_reduce import Link, halving_doubling, ring
from dlsched.cluster.speeds import SpeedLaw

if TYPE_CHECKING:
    from dlsched.cluster.curve_fits import LossCurve, LossFit, NotIdentifiable, SpeedFit, fit_loss_curve, fit_speed_law

__all__ = [
    "Link",
    "LossCurve",
    "LossFit",
    "NotIdentifiable",
    "SpeedFit",
    "SpeedLaw",
    "fit_loss_curve",
    "fit_speed_law",
    "halving_doubling",
    "ring",
]


def __getattr__(name: str) -> object:
    """Import the fits when they are first used: to solve takes none."""
    if name not in __all__:
        raise AttributeError(f"module 'dlsched.cluster' has no attribute {name!r}")
    return getattr(import_module("dlsched.cluster.curve_fits"), name)
