"""Compress runs.csv and bounds.csv of results folders where they are large, before they are committed.

Usage: python scripts/results/pack_results.py results/forgetron_table81 ...
"""

import argparse
import gzip
from pathlib import Path

LARGE = 30_000


def pack(table: Path) -> None:
    """Replace a table by one with ``.gz`` if it is above 30 KB; the same rows give the same bytes."""
    if not table.is_file() or table.stat().st_size <= LARGE:
        return
    with table.with_name(f"{table.name}.gz").open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(table.read_bytes())
    table.unlink()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    for folder in parser.parse_args().folders:
        for name in ("runs.csv", "bounds.csv"):
            pack(folder / name)
