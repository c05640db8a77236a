"""Planning of streams in hindsight: prices give the jobs weights, and a search improves the weights.

``speeds`` tabulates the jobs' gains by units, ``sharing`` divides the units at one moment,
``fast_simulation`` simulates weights, ``policy`` applies the same rule in the real simulator,
``weight_search`` searches, and ``plan`` puts these together.
"""
