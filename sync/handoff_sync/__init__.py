"""git-handoff: carry an agent loop's state from machine to machine through git."""

__version__ = "0.1.0"
