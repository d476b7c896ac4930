"""Results folders: the store that writes and reads them, and the reports that are made of them."""
