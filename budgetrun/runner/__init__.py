"""Running a config: planning its runs, estimating their cost, and running those that are missing."""
