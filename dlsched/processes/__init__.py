"""Child processes: containment, so that nothing of them survives; their output, frames, memory and usage."""
