"""Light records of what users can name: options, sources, solvers. They import nothing heavy; what does the work is a target."""
