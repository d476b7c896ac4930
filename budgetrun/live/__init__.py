"""`budgetrun run`: learners on one stream of the user's own, read once, in bounded memory, and continued after a stop."""
