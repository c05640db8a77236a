"""Names that are known before anything is imported: those of the families, and what shells complete.

Importing a family takes longer than a shell may wait; so its names stand here once more, and a test holds them equal to
its record.
"""

FAMILIES = (
    "ring_allocation",
    "elastic_stream",
    "matching_placement",
    "srpt_mapping",
    "ring_embedding",
    "async_sgd",
)
