"""Advice for a queue at one moment: a method decides which jobs start, stay, resize, stop or wait."""
