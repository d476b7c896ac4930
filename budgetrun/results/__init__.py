"""Results folders: the store that reads and writes them, and the reports on them."""
