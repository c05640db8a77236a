"""Figures of studies for papers, drawn with Matplotlib at the width of a column; the numbers are those of the page."""
