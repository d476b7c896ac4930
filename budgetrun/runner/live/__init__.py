"""`budgetrun run`: learners on the user's own stream, in one pass and in bounded memory."""
