"""Ready to be sharded: every key and every statement begins with the board.

The statements are those that `Statements` makes, and a store that does everything sends no other: so a
database that spreads its rows by board needs one place for each of them.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple

import asyncpg
import pytest
from sqlalchemy import Alias, ColumnElement, Delete, Dialect, Insert, Select, Table, UniqueConstraint
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql import ClauseElement, FromClause, Join, operators, visitors
from sqlalchemy.sql.elements import BinaryExpression, BindParameter

from blackboard.config import Settings
from blackboard.errors import BoardTooNew
from blackboard.store import open_store
from blackboard.store.contract import CommandTaken, Store
from blackboard.store.postgresql.address import parse
from blackboard.store.postgresql.connecting import connect
from blackboard.store.postgresql.dialect import PostgresqlStatements
from blackboard.store.statements import Statement, Statements
from blackboard.store.tables import METADATA
from tests.contract.test_store_reads import token
from tests.store.support import BOARD, Log, everything, filled, loaded

Tables = Table | Alias
"""What stands in a FROM."""

WHOLE_TABLES = {
    "tokens": "few, and asked for by digest before any board is known: a copy on every shard",
    "formats": "a row a release: a copy on every shard",
    "revisions": "a row a migration: a copy on every shard",
}
"""Tables that do not belong to boards, and what a sharded database does with them."""

EVERY_BOARD = {"boards": "lists all boards: asks every shard, for an operator who looks and for `db`"}
"""Statements that name no board."""

NOT_SENT = {"append", "add_board", "stands"}
"""Statements that SQLite has use for: here an append is one."""

AROUND = {
    r"BEGIN ISOLATION LEVEL READ COMMITTED|BEGIN.*;|COMMIT;?|ROLLBACK;?": "of one board, or a token",
    r"LISTEN .*|UNLISTEN .*|SELECT pg_notify.*|SELECT 1": "hints: no table",
    r"SELECT c\.relname FROM pg_catalog.*|SELECT (version_num|revision, works_from) FROM .*": "when opening",
    r"SELECT\s+current_setting.*|SELECT pg_backend_pid\(\)": "what the server tells of itself",
}
"""What is sent beside the statements, by what it looks like."""


def real_name(table: Tables) -> str:
    return str(getattr(getattr(table, "element", table), "name", ""))


def leading(table: Tables) -> str:
    return "id" if real_name(table) == "boards" else "board"


def test_every_key_begins_with_the_board() -> None:
    for table in METADATA.tables.values():
        if table.name in WHOLE_TABLES:
            continue
        keys = [list(table.primary_key.columns)]
        keys += [list(key.columns) for key in table.constraints if isinstance(key, UniqueConstraint)]
        keys += [list(index.columns) for index in table.indexes]
        assert [key[0].name for key in keys] == [leading(table)] * len(keys), table.name
        assert not table.foreign_keys, f"{table.name} reaches across shards"


def test_no_table_counts_by_itself() -> None:
    for table in METADATA.tables.values():
        assert table.primary_key.columns, table.name
        assert all(column.server_default is None for column in table.columns), table.name
        assert all(column.autoincrement is not True for column in table.columns), table.name


class Made(NamedTuple):
    element: ClauseElement
    sql: str


def recorded(kind: type[Statements], *args: Dialect) -> dict[str, Made]:
    """Every statement that a set of statements makes, by its name there."""
    elements: dict[str, ClauseElement] = {}

    class Recording(kind):  # type: ignore[misc, valid-type]  # of the kind that is asked for
        def _make(self, element: ClauseElement) -> Statement:
            made: Statement = super()._make(element)
            elements[made.sql] = element
            return made

    made = Recording(*args)
    named: dict[str, Any] = dict(vars(made))
    for size in (1, 8, 64, 512):
        named[f"at {size}"] = made.at(size)
    for columns in [("kind",), ("actor",), ("kind", "actor")]:
        named[f"filtered {columns}"] = made.filtered(*columns)
    for columns in [(), ("kind",), ("actor",), ("kind", "actor")]:
        named[f"of_key {columns}"] = made.of_key(*columns)
    found: dict[str, Made] = {}
    for name, value in named.items():
        for statement in value if isinstance(value, list) else [value]:
            if isinstance(statement, Statement):
                found[f"{name} {len(found)}"] = Made(elements[statement.sql], statement.sql)
    assert {made.sql for made in found.values()} == set(elements), "a statement has no name"
    return found


EVERY = {
    **{f"sqlite {name}": made for name, made in recorded(Statements, sqlite.dialect()).items()},
    **{f"postgresql {name}": made for name, made in recorded(PostgresqlStatements).items()},
}


def conjunction(clause: ColumnElement[bool] | None) -> Iterator[ColumnElement[bool]]:
    if clause is None:
        return
    if getattr(clause, "operator", None) is operators.and_:
        for part in clause.clauses:
            yield from conjunction(part)
    else:
        yield clause


def tables_of(source: FromClause) -> Iterator[Tables]:
    """The tables of a FROM, also by other names; what is a statement of its own is looked at by itself."""
    if isinstance(source, Table) or (isinstance(source, Alias) and isinstance(source.element, Table)):
        yield source
    elif isinstance(source, Join):
        yield from tables_of(source.left)
        yield from tables_of(source.right)


def conditions_of(source: FromClause) -> list[ColumnElement[bool]]:
    if not isinstance(source, Join):
        return []
    on = list(conjunction(source.onclause))
    return on + conditions_of(source.left) + conditions_of(source.right)


def bound(tables: set[Tables], conditions: list[ColumnElement[bool]]) -> set[Tables]:
    """Which of these tables are held to one board by these conditions, directly or by way of another."""
    equal = [
        each for each in conditions if isinstance(each, BinaryExpression) and each.operator is operators.eq
    ]
    held: set[Tables] = set()
    for _ in tables:
        for table in tables:
            board = table.c[leading(table)]
            for each in equal:
                sides = [each.left, each.right]
                if not any(side is board for side in sides):
                    continue
                other = sides[1] if sides[0] is board else sides[0]
                there = [known.c[leading(known)] for known in held]
                if isinstance(other, BindParameter) or any(other is column for column in there):
                    held.add(table)
    return held


def unbound(element: ClauseElement) -> set[str]:
    """The tables of boards that some part of a statement reads or changes without naming the board."""
    loose: set[str] = set()
    for part in visitors.iterate(element):
        tables: set[Tables]
        conditions: list[ColumnElement[bool]]
        if isinstance(part, Select):
            tables = set()
            conditions = list(conjunction(part.whereclause))
            for source in part.get_final_froms():
                tables |= set(tables_of(source))
                conditions += conditions_of(source)
        elif isinstance(part, Delete):
            tables, conditions = set(tables_of(part.table)), list(conjunction(part.whereclause))
        else:
            continue
        mine = {table for table in tables if real_name(table) not in WHOLE_TABLES}
        loose |= {real_name(table) for table in mine - bound(mine, conditions)}
    return loose


@pytest.mark.parametrize("name", sorted(EVERY))
def test_every_statement_names_its_board(name: str) -> None:
    statement = EVERY[name].element
    found = unbound(statement)
    if name.split()[1] in EVERY_BOARD:
        assert found == {"boards", "events"}  # each board's head by its own key
    else:
        assert found == set()
    if isinstance(statement, Insert):
        (table,) = tables_of(statement.table)
        if real_name(table) not in WHOLE_TABLES:
            assert re.search(rf"INSERT INTO {real_name(table)} \({leading(table)}, ", EVERY[name].sql)


@pytest.mark.parametrize("table", ["events", "saved_boards"])
def test_a_statement_that_names_no_board_is_found_out(table: str) -> None:
    """The test of the test: the same statements without their first condition."""
    some = METADATA.tables[table]
    assert unbound(some.select().where(some.c.seq == 1)) == {table}
    assert unbound(some.delete().where(some.c.seq == 1)) == {table}
    assert unbound(some.select().where(some.c.board == "b", some.c.seq == 1)) == set()


def recording(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What is sent from now on, by whichever connection."""
    sent: set[str] = set()

    def wrapped(method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def call(connection: asyncpg.Connection, query: str, *args: Any, **rest: Any) -> Any:
            sent.add(query)
            return await method(connection, query, *args, **rest)

        return call

    for name in ("execute", "fetch", "fetchrow", "fetchval"):
        monkeypatch.setattr(asyncpg.Connection, name, wrapped(getattr(asyncpg.Connection, name)))
    return sent


async def everything_done(store: Store) -> None:
    """Each method of the store, in each of its ways."""
    await store.listen(lambda _board: None)
    log, _ = await filled(store, 100, keys=3)
    async with store.lock(BOARD) as locked:
        await locked.append(log.write("task/0"))
    await store.append(log.writes(2))
    for verify in (False, True):
        await loaded(store, verify=verify)
    for _ in range(2):
        found = await loaded(store)
        await store.snapshot(found.board, found.tip)
        await store.append(log.write("task/0"))
    await loaded(store, at=7)
    await store.tip(BOARD)
    await everything(store)
    for number in (1, 5, 50, 500):
        await store.events(BOARD, range(1, number + 1))
    for kind in (None, "entry.written"):
        for agent in (None, "executor"):
            for key in (None, "task/0"):
                await store.rows(BOARD, kind=kind, agent=agent, key=key)
    await store.entry(BOARD, "task/0", 1)
    await store.entry_as_of(BOARD, "task/0", 2)
    await store.command(BOARD, "agent:executor", "command-2")
    with pytest.raises(CommandTaken):
        await store.append(log.say("again", command_id="command-2"))
    await store.boards()
    await store.append(Log("new").open(board_format=99))
    with pytest.raises(BoardTooNew):
        await store.load("new")
    await store.put_token(token(1))
    await store.token(b"x" * 32)
    await store.tokens()
    await store.check()


async def test_the_store_sends_nothing_else(tables_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = recording(monkeypatch)
    store = await open_store(tables_url, Settings())
    await everything_done(store)
    await store.close()
    strange = {sql.strip() for sql in sent} - {made.sql for made in EVERY.values()}
    strange = {sql for sql in strange if not any(re.fullmatch(like, sql, re.DOTALL) for like in AROUND)}
    assert strange == set()
    reached = {name.split()[1] for name, made in EVERY.items() if made.sql in sent}
    expected = {name.split()[1] for name in EVERY if name.startswith("postgresql")} - NOT_SENT
    assert expected - reached == set()


@pytest.mark.parametrize("rows", [0, 5, 3_000], ids=["empty", "small", "large"])
async def test_every_statement_goes_by_a_key_that_begins_with_its_board_however_large_the_table_was(
    tables_url: str, rows: int
) -> None:
    store = await open_store(tables_url, Settings())
    if rows:
        await filled(store, rows, keys=50)
        found = await loaded(store)
        await store.snapshot(found.board, found.tip)
    await store.close()
    connection = await connect(parse(tables_url), Settings(), "write")
    await connection.execute("ANALYZE")
    for name, made in EVERY.items():
        if not name.startswith("postgresql"):
            continue
        plan = await planned(connection, made.sql)
        scans = [line for line in plan if re.search(r" on (events|boards|saved_boards|saved_parts)\b", line)]
        scans = [line for line in scans if "Insert on" not in line and "Delete on" not in line]
        assert all(re.search(r"Index (Only )?Scan( Backward)? using (pk|uq)_", line) for line in scans), plan
        conditions = [line for line in plan if "Index Cond" in line]
        assert all(re.search(r"Cond: \(\(*(digest|id|board|format) ", line) for line in conditions), plan
        if name.split()[1] not in {"tokens", "commands_taken"}:
            assert not any("Sort" in line for line in plan), plan
    await connection.close()


async def planned(connection: asyncpg.Connection, sql: str) -> list[str]:
    await connection.execute(f"PREPARE asked AS {sql}")
    number = max(map(int, re.findall(r"\$(\d+)", sql)), default=0)
    values = f"({', '.join(['NULL'] * number)})" if number else ""
    plan = await connection.fetch(f"EXPLAIN (COSTS OFF) EXECUTE asked {values}")
    await connection.execute("DEALLOCATE asked")
    return [row[0] for row in plan]
