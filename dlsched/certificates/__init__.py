"""Certificates of bounds: data that anyone can verify in exact arithmetic, without a solver.

==============================  ======================================================================================
certificate                     what it proves
==============================  ======================================================================================
``PriceCertificate``            min sum_j cost_j(w_j), sum_j w_j <= C: for every price lambda >= 0 the optimum is at
                                least sum_j min_w (cost_j(w) + lambda w) - lambda C
``DualsCertificate``            min c x, rows A x {<=, =, >=} b, l <= x <= u: for every y with y <= 0 on <= rows and
                                y >= 0 on >= rows the optimum is at least y b + sum_k min(d_k l_k, d_k u_k), d = c - y A
``SrptCertificate``             min of a sum of completion times: SRPT of jobs with these sizes (seconds on one machine
                                that serves one job at a time) from their releases ends no later in sum than any schedule;
                                of a weighted sum: none is below the bound from least mean busy times
``LengthsCertificate``          no job ends sooner after its release than these seconds
``PricesCertificate``           min sum_j cost_j(x_j), units of all x_j at most C at any time: for all prices p(t) >= 0 of a
                                unit and second the optimum is at least sum_j min_x (cost_j(x) + int p(t) units_x(t) dt)
                                - C int p(t) dt, where each minimum may be replaced by anything below it
``PackingCertificate``          the same with rates of single jobs over time, less what those that fit together bring at
                                most: see ``certificates.packing_prices``
``CompletionsCertificate``      min of a weighted sum of flow times: branches over who completes when, with multipliers in
                                their leaves: see ``certificates.completion_orders``
==============================  ======================================================================================

Proof of the first two and of prices: for a feasible x, y (b - A x) <= 0 (in the others: lambda (sum_j w_j -
C), or the integral of p(t) times the units held less C). So adding it to the objective does not raise it,
and the sum is at least what it is with every column at its own minimum. If a family maximises, the prices of
its rows are >= 0 and the bound is an upper bound; the family's module ``certificate`` says what they prove.
Numbers are the exact values of the floats given; a sum is rounded down to a float once, at the end.
``value`` is what the certificate proves on its own.
"""

from dlsched.certificates.completion import busy_value, claimed, srpt_value
from dlsched.certificates.exact import ExactRow, exact_multipliers, exact_sum, price_value, rounded_down, rounded_up
from dlsched.certificates.kinds import (
    CompletionsCertificate,
    DualsCertificate,
    LengthsCertificate,
    PackingCertificate,
    PriceCertificate,
    PricesCertificate,
    SrptCertificate,
)

__all__ = [
    "CompletionsCertificate",
    "DualsCertificate",
    "ExactRow",
    "LengthsCertificate",
    "PackingCertificate",
    "PriceCertificate",
    "PricesCertificate",
    "SrptCertificate",
    "busy_value",
    "claimed",
    "exact_multipliers",
    "exact_sum",
    "price_value",
    "rounded_down",
    "rounded_up",
    "srpt_value",
]
