"""The log in one SQLite file, owned by one process."""
