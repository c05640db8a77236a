"""Comparisons: methods on instances against the best that is proven, as rows, tables and figures."""
