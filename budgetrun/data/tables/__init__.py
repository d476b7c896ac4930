"""A user's own data: any common format, or a data frame or array, as chunks of examples in bounded memory."""

from budgetrun.data.tables.opening import open_table
from budgetrun.data.tables.table import Chunk, Scan, Table

__all__ = ["Chunk", "Scan", "Table", "open_table"]
