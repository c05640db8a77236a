"""Options of ``dlsched import``, of which ``whatif``, ``advise`` and the traces of plans take some."""

from dlsched.catalogue.option import Option, by_name

SLICES = ("leave-out", "whole")
"""What becomes of jobs on parts of GPUs; the first is the default."""

OPTIONS = by_name(
    Option("gpus", int, "N", "GPUs of the cluster"),
    Option("epochs", float, "X", "Epochs that every job has left", "tables, 100"),
    Option("max_gpus", int, "N", "GPUs to which a job may grow", "philly, published scaling"),
    Option("gpu_type", str, "TYPE", "V100, P100 or K80", "gavel, V100"),
    Option("restart", float, "S", "Seconds that a restart costs", "streams, 0", "restart_s"),
    Option("from", str, "T", "Arrivals from here on", "traces", "from_"),
    Option("to", str, "T", "Arrivals before it", "date or seconds"),
    Option("family", str, "FAMILY", "Family of the instance", "traces and queues"),
    Option("states", str, "A,B", "Keep the jobs in these states", "queues, all"),
    Option("slices", str, "HOW", "leave-out or whole: jobs on parts of GPUs", "queues, leave-out", choices=SLICES),
    Option("estimates", bool, "", "Policies see the users' limits, not the lengths", "queues"),
    Option("carried", bool, "", "With the jobs that had not ended at --from", "queues"),
    Option("gpus_of_node", int, "N", "GPUs of a server", "queues, 8"),
    Option("communication", str, "HOW", "none or published stages", "srpt_mapping, none"),
    Option(
        "scaling",
        str,
        "HOW",
        "own, published or asynchronous",
        "elastic_stream, own; ring_allocation, published",
    ),
    Option("at", str, "T", "The moment, date or seconds", "ring_allocation, matching_placement, async_sgd, the latest"),
    Option("pinned", bool, "", "Jobs that run keep their GPUs", "ring_allocation"),
    Option("slot", float, "S", "Seconds of a slot", "ring_embedding, 3600", "slot_s"),
    Option("utility", str, "KIND", "capped, sqrt or log", "ring_embedding, capped"),
    Option("sizes", str, "HOW", "trace, or drawn as in paper, paper-sqrt, paper-log", "ring_embedding, trace"),
    Option("seed", int, "N", "Seed of what is drawn", "ring_embedding, 0"),
    Option(
        "bandwidth",
        float,
        "B/S",
        "Of every ring, 1.25e9, or worker, 1.25e10",
        "ring_embedding, matching_placement",
        "bandwidth_bytes_per_s",
    ),
    Option("server_link", float, "B/S", "From servers to their racks", "ring_embedding, 1.25e10", "server_bytes_per_s"),
    Option("rack_link", float, "B/S", "From racks to the core", "ring_embedding, 5e10", "rack_bytes_per_s"),
    Option("rack", int, "N", "Servers of a rack", "ring_embedding, 8", "servers_of_rack"),
    Option("gradient", float, "BYTES", "That rings exchange", "matching_placement, 0", "gradient_bytes"),
    Option(
        "network",
        int,
        "GBIT/S",
        "Of parameter servers, 1, 10 or 25",
        "async_sgd and streams of it, 10",
        "network_gbit",
    ),
    Option("nodes", str, "FILE", "List of nodes", "openb, pai, philly-raw"),
    Option("jobs", str, "FILE", "Table of jobs", "pai"),
    Option("map", str, "KEY=COLUMN,...", "Which column is what", "csv", "columns"),
    Option("delimiter", str, "SIGN", "What parts the cells", "slurm, csv"),
    Option("gpu_resource", str, "NAME", "What a GPU is called", "kueue, volcano"),
)

READING = ("states", "slices", "nodes", "jobs", "map", "delimiter", "gpu_resource")
"""Those with which the file of a queue is read, whatever becomes of it."""
