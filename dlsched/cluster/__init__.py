"""Models of clusters and jobs: all-reduce costs, fitted and published speeds, loss curves, arrivals, job graphs, networks.

===========================================  ==========================================================================
module                                       content
===========================================  ==========================================================================
``all_reduce``                               seconds of an all-reduce
``speed_law``, ``speed_table``               seconds of an epoch by count of GPUs, as a law and as a table
``speed_fit``, ``loss_curve``                fits of the speed law and of the loss curve to measurements
``training_job``                             fields and counts of a data-parallel job, shared by two families
``job_graph``, ``least_iteration``           pipeline and data-parallel stages; lower bound on the seconds of an iteration
``spreading``, ``grouping``                  splits of replicas over servers: fastest, and by Heavy-Edge
``network``, ``forest``, ``routes``          nodes, links and paths; trees of them; routes between servers
``topologies``, ``drawn_networks``           racks, fat trees and other topologies; random networks
``stage``                                    a pipeline stage, as instances hold it
``utility``                                  utility of a job's total work
``arrivals``                                 random arrival times
``published`` and ``published_*``            published measurements, with their sources
===========================================  ==========================================================================
"""

from dlsched.cluster.all_reduce import Link, halving_doubling, ring
from dlsched.cluster.curve_fits import LossCurve, LossFit, NotIdentifiable, SpeedFit, fit_loss_curve, fit_speed_law
from dlsched.cluster.speeds import SpeedLaw

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
