"""Streams in hindsight: every job weighs what prices say it is worth, and a search changes the weights.

``speeds`` has what jobs gain by units, ``sharing`` who gets them at one moment, ``fast_simulation`` that of weights, ``policy``
the same rule for the real one, ``weight_search`` the search, ``plan`` the whole.
"""
