"""git-handoff: carry an agent loop's state from machine to machine through git."""

from importlib.metadata import version

__version__ = version("git-handoff")
