"""Copy the texts of configs into the manifests of finished results; then type: budgetrun report results.

A sweep does the same, but reads all data. The runs stay as they are, so nothing else of a config may have changed.

Usage: python scripts/results/refresh_manifests.py [results/NAME ...]     (without folders: all of results/)
"""

import argparse
from pathlib import Path

from budgetrun import config as configs
from budgetrun.config.report import manifest_entries
from budgetrun.results.store.write import Store, differing_keys

TOP = Path(__file__).resolve().parents[2]


def refresh(folder: Path) -> None:
    """Write the manifest of a folder anew, from the config of the same name."""
    store, config = Store(folder), configs.load(TOP / "configs" / f"{folder.name}.yaml")
    manifest = store.manifest()
    new = config.resolved()
    if differing := differing_keys(new, manifest["config"]):
        raise SystemExit(
            f"{folder}: the config differs in {', '.join(differing)}; repeat: budgetrun sweep {folder.name}"
        )
    described = {"source": config.source, "description": config.description, "config": new, "config_text": config.text}
    store.write_manifest(manifest | described | manifest_entries(config.report))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="default: all of results/")
    every = (path.parent for path in (TOP / "results").glob("*/manifest.json"))
    for one in parser.parse_args().folders or sorted(every):
        refresh(one)
