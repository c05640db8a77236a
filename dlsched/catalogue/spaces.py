"""Options of spaces of worst instances that families share."""

from dlsched.catalogue.option import Option

TABLES = Option(
    "tables",
    str,
    "X",
    "`any`: positive times. `monotone`: non-increasing. `sublinear`: and w c(w) non-decreasing. `convex`: and falling gains per "
    "GPU, between counts that are offered",
)
COUNTS = Option("counts", str, "X", "`powers` of two, or `all`")
