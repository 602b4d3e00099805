"""What can be asked, what comes back, and the table of operations."""
