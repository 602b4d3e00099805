"""The client library: one surface, embedded or over HTTP, async or sync."""

from blackboard.client.board import Board
from blackboard.client.connect import connect, connect_sync
from blackboard.client.sync import SyncBoard

__all__ = ["Board", "SyncBoard", "connect", "connect_sync"]
