"""Reports and exports of a study: an HTML page, Markdown, LaTeX, and rows as CSV, JSON or Parquet."""
