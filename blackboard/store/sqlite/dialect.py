"""The statements in SQLite's dialect, compiled when first imported."""

from sqlalchemy.dialects import sqlite

from blackboard.store.statements import Statements

SQL = Statements(sqlite.dialect(paramstyle="qmark"))
