"""Run the benchmarks and print each figure beside its peer's, with the ratio."""

from __future__ import annotations

import argparse
import platform
import tempfile
from pathlib import Path

from bench import syncs, writing


def main() -> None:
    """Parse the sizes, run, print."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--runs", type=int, default=11, help="paired runs a figure")
    parser.add_argument("--records", type=int, default=200, help="records of the sync figures")
    parser.add_argument("--many", type=int, default=100_000, help="records of the large writer")
    options = parser.parse_args()
    print(f"{platform.python_implementation()} {platform.python_version()} on {platform.machine()}")
    with tempfile.TemporaryDirectory(prefix="handoff-bench-") as folder:
        for row in (
            *syncs.rows(Path(folder), options.records, options.runs),
            *writing.rows(Path(folder), options.many, options.runs),
        ):
            print(row)


if __name__ == "__main__":
    main()
