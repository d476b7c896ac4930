"""`budgetrun run`: learners on the user's own stream, which is read once and in bounded memory."""
