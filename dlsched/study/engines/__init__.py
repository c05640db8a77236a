"""Engines run cells in processes of this machine or on a Dask cluster: take cells and yield outcomes."""
