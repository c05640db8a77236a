"""Planning of streams in hindsight: jobs get weights from prices, and a search changes the weights.

``speeds`` has the jobs' gains by units, ``sharing`` divides units at one moment, ``fast_simulation``
simulates weights, ``policy`` is the same rule for the real simulator, ``weight_search`` the search, ``plan``
the whole.
"""
