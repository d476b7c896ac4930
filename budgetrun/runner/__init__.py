"""Running a config: which runs there are, what they cost, and making those that are missing."""
