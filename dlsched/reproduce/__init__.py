"""Reproductions of papers' figures as studies: plans, the papers' numbers if known, figures, differences."""
