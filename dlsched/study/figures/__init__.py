"""Figures of a study: a line for each method and group of instances, tables, and a summary sentence."""
