"""Where cells run: in processes of this machine, or on a Dask cluster. Each takes cells and yields their outcomes."""
