"""`budgetrun bounds`: both sides of the papers' bounds, for each run of a results folder."""
