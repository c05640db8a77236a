"""A study for people and for other programs: a page, Markdown, LaTeX, and rows."""
