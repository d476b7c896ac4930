"""Many Forgetrons that share one memory, as runs of a sweep."""
