"""`budgetrun run`: learners on a stream of the user's own, which is read once and in bounded memory."""
