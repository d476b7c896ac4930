"""Compress runs.csv of results folders where it is large, before they are committed; its checksum stays valid.

Usage: python scripts/results/pack_results.py results/forgetron_table81 ...
"""

import argparse
import gzip
from pathlib import Path

LARGE = 50_000


def pack(folder: Path) -> None:
    """Replace ``runs.csv`` by ``runs.csv.gz`` if it is above 50 KB; the same runs give the same bytes."""
    table = folder / "runs.csv"
    if not table.is_file() or table.stat().st_size <= LARGE:
        return
    with (folder / "runs.csv.gz").open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(table.read_bytes())
    table.unlink()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    for one in parser.parse_args().folders:
        pack(one)
