"""The log in a database: tables, append, read, load. Nothing here decides.

`contract.py` says what a store is, `open_store` finds the one that a URL names.
"""

from blackboard.store.urls import identity, open_store

__all__ = ["identity", "open_store"]
