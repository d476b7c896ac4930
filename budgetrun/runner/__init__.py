"""Running configs: plan the runs, estimate their cost, and run those that are missing."""
