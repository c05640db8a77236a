"""Advice for a queue at one moment: which jobs start, stay, change GPUs, stop or wait, as a method or a policy decides."""
