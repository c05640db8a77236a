"""Figures of papers, run anew as studies: the plan, the paper's numbers where they are known, the figure, what differs."""
