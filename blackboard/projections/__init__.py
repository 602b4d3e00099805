"""What is true now: pure folds of the log into a board."""
