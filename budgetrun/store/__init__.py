"""Results folders: writing them so that no finished run is lost, and reading them."""

from budgetrun.store.write import COLUMNS, Store

__all__ = ["COLUMNS", "Store"]
