"""One module a subject; each yields the figures of its rows."""
