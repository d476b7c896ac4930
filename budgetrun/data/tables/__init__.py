"""Users' own data: any common format, data frames and arrays, as blocks of examples in bounded memory."""

from budgetrun.data.tables.opening import open_table
from budgetrun.data.tables.table import Chunk, Scan, Table

__all__ = ["Chunk", "Scan", "Table", "open_table"]
