"""The vocabulary of dlsched: results, statuses, gaps, limits, errors, files, family records. Imports nothing else of it."""
