"""What clusters and jobs are like: all-reduce costs, speeds and losses fitted or published, arrivals, job graphs, networks."""

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
