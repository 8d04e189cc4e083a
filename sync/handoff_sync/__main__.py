"""``python -m handoff_sync`` is the console script."""

from handoff_sync.cli import main

main()
