"""Spreading the tables over a Citus cluster: what is asked of it, by functions that stand in for its own."""

from __future__ import annotations

import pytest

from blackboard.errors import Conflict
from blackboard.store import schema
from blackboard.store.citus import BY_BOARD, EVERYWHERE
from blackboard.store.revision import EXPANDED
from tests.evolution.databases import ask, migrate, run, tables, thaw

STAND_IN = """
CREATE SCHEMA citus_stand_in;
CREATE TABLE citus_stand_in.asked (number int GENERATED ALWAYS AS IDENTITY, words text);
CREATE TABLE pg_dist_partition (logicalrelid regclass);
ALTER TABLE pg_dist_partition SET SCHEMA citus_stand_in;
CREATE FUNCTION create_distributed_table(t regclass, c text, colocate_with text DEFAULT 'default')
    RETURNS void LANGUAGE sql AS
    $$ INSERT INTO citus_stand_in.asked (words) VALUES (concat_ws(' ', t, c, colocate_with)); $$;
CREATE FUNCTION create_reference_table(t regclass) RETURNS void LANGUAGE sql AS
    $$ INSERT INTO citus_stand_in.asked (words) VALUES (t || ' everywhere'); $$;
"""
ASKED = "SELECT words FROM citus_stand_in.asked ORDER BY number"
WHOLE = [
    "boards id default",
    "events board boards",
    "saved_boards board boards",
    "saved_parts board boards",
    "tokens everywhere",
    "formats everywhere",
    "revisions everywhere",
    "alembic_version everywhere",
]


async def test_every_table_lies_by_board_or_everywhere_on_postgres(postgres_url: str) -> None:
    run(postgres_url, STAND_IN)
    await schema.upgrade(postgres_url, citus=True)
    assert [words for (words,) in ask(postgres_url, ASKED)] == WHOLE
    assert tables(postgres_url) <= {*BY_BOARD, *EVERYWHERE}


async def test_the_old_snapshots_lie_by_board_while_there_are_any_on_postgres(postgres_url: str) -> None:
    run(postgres_url, STAND_IN)
    await schema.upgrade(postgres_url, expand=True, citus=True)
    assert (await schema.current(postgres_url)).revision == EXPANDED
    assert ("snapshots board boards",) in ask(postgres_url, ASKED)


async def test_what_is_distributed_already_stays_where_it_is_on_postgres(postgres_url: str) -> None:
    thaw("0002", postgres_url)
    run(postgres_url, STAND_IN)
    run(
        postgres_url,
        "ALTER TABLE citus_stand_in.pg_dist_partition SET SCHEMA public;"
        "INSERT INTO pg_dist_partition VALUES ('boards'), ('events'), ('tokens'), ('formats')",
    )
    # Citus has its catalog where no list of a database's own tables shows it.
    run(postgres_url, "ALTER EXTENSION plpgsql ADD TABLE pg_dist_partition")
    await schema.upgrade(postgres_url, citus=True)
    asked = [words for (words,) in ask(postgres_url, ASKED)]
    assert asked == [
        words for words in WHOLE if words.split()[0] not in {"boards", "events", "tokens", "formats"}
    ]


async def test_without_the_extension_nothing_is_done_on_postgres(postgres_url: str) -> None:
    with pytest.raises(Conflict, match="CREATE EXTENSION citus"):
        await schema.upgrade(postgres_url, citus=True)
    assert tables(postgres_url) == set()
    migrate(postgres_url)
