"""What clusters and jobs are like: all-reduce costs, speeds and losses fitted or published, arrivals, job graphs, networks.

===========================================  ==========================================================================
module                                       what it holds
===========================================  ==========================================================================
``all_reduce``                               what an all-reduce costs
``speed_law``, ``speed_table``               seconds of an epoch by count of GPUs, as a law and as a table
``speed_fit``, ``loss_curve``                laws of speed and of loss fitted to measurements
``training_job``                             fields and counts of a data-parallel job, which two families
share ``job_graph``, ``least_iteration``           pipeline and data-parallel stages; seconds of an
iteration, and the least ``spreading``, ``grouping``                  replicas shared out to servers: at
best, and by Heavy-Edge ``network``, ``forest``, ``routes``          nodes, links and paths; trees of them;
the way a ring takes ``topologies``, ``drawn_networks``           racks, fat trees and others; networks drawn
at random
``stage``                                    a pipeline stage, as instances hold it
``utility``                                  what total work is worth to a job
``arrivals``                                 times at which jobs arrive, drawn
``published`` and ``published_*``            published measurements, with their sources
===========================================  ==========================================================================
"""

from dlsched.cluster.all_reduce import Link, halving_doubling, ring
from dlsched.cluster.loss_curve import LossCurve, LossFit, fit_loss_curve
from dlsched.cluster.speed_fit import NotIdentifiable, SpeedFit, fit_speed_law
from dlsched.cluster.speed_law import SpeedLaw

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
