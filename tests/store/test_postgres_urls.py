"""What a PostgreSQL URL names: one spelling for each database, and never a password."""

from __future__ import annotations

import pytest

from blackboard.config import Settings
from blackboard.errors import BlackboardError, Malformed
from blackboard.store import identity, open_store
from blackboard.store.postgresql.address import parse

SPELLINGS = {
    "postgresql://host/board": "postgresql://host/board",
    "postgres://host/board": "postgresql://host/board",
    "postgresql://host:5432/board": "postgresql://host/board",
    "postgresql://HOST/board": "postgresql://host/board",
    "postgresql://host:6543/board": "postgresql://host:6543/board",
    "postgresql://user:secret@host/board": "postgresql://user@host/board",
    "postgresql://us%40er:se%2Fcret@host/bo%2Fard": "postgresql://us%40er@host/bo%2Fard",
    "postgresql://host/board?user=user&password=secret": "postgresql://user@host/board",
    "postgresql://user:secret@[::1]:5433/board": "postgresql://user@[::1]:5433/board",
    "postgresql://user:secret@one:1,two:2/board": "postgresql://user@one:1,two:2/board",
    "postgresql://user:secret@/board?host=/run/postgresql": "postgresql://user@/board?host=/run/postgresql",
    "postgresql://host/board?sslpassword=secret&sslmode=require": "postgresql://host/board?sslmode=require",
    "postgresql://host/?dbname=board": "postgresql://host/board",
    "postgresql://": "postgresql:///",
}


@pytest.mark.parametrize("url", SPELLINGS)
def test_each_database_has_one_name_without_a_password(url: str) -> None:
    assert identity(url) == SPELLINGS[url]
    assert identity(identity(url)) == identity(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:secret@host:port/board",
        "postgresql://user:secret@host:99999/board",
        "postgresql://user:secret@[::1/board",
        "postgresql://user:12/secret@host/board",
        "postgresql://user:12?secret@host/board",
        "postgresql://user:sec#ret@host/board",
        "postgresql://user:secret@host/board\0",
    ],
)
async def test_what_cannot_be_read_is_malformed_and_not_repeated(url: str) -> None:
    with pytest.raises(Malformed, match="write postgresql://user:password@host") as error:
        await open_store(url, Settings())
    assert error.value.member == "db"
    assert "sec" not in error.value.detail
    assert error.value.__cause__ is None


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:secret@127.0.0.1:1/board",
        "postgresql://user@127.0.0.1:1/board?password=secret",
        "postgresql://user:secret@127.0.0.1:1/board?sslmode=wrong",
        "postgresql://user:secret@127.0.0.1:1/board?sslrootcert=/secret-free/missing",
        "postgresql://user:secret@/board?host=/nowhere/at/all",
    ],
)
async def test_no_error_shows_the_password(url: str) -> None:
    with pytest.raises(BlackboardError) as error:
        await open_store(url, Settings())
    assert ":secret" not in repr((error.value, error.value.members))
    assert "=secret" not in repr((error.value, error.value.members))


def test_a_url_that_wants_to_write_finds_the_primary_for_those_who_read_as_well() -> None:
    parsed = parse("postgresql://u:secret@one,two/board?target_session_attrs=read-write")
    assert parsed.dsn == "postgresql://u:secret@one,two/board?target_session_attrs=primary"
    assert parsed.shown == "postgresql://u@one,two/board?target_session_attrs=read-write"
