"""The vocabulary of dlsched: results, statuses, gaps, certificates, limits, errors, files. Imports nothing else of dlsched."""
