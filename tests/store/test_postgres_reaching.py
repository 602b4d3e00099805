"""Why there is no connection to PostgreSQL: in words that name what to mend, and never a password."""

from __future__ import annotations

import ssl
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from blackboard.config import Settings
from blackboard.errors import BlackboardError, Malformed, Unavailable
from blackboard.store import open_store, schema
from blackboard.store.postgresql.faults import translated

WHERE = "postgresql://someone@db.example/board"


async def refused(url: str) -> BlackboardError:
    with pytest.raises(BlackboardError) as error:
        await open_store(url, Settings(connect_seconds=5))
    return error.value


def test_a_certificate_that_does_not_fit_is_no_fault_of_the_request_on_postgres() -> None:
    """It is a `ValueError` of the standard library, and would be answered 422 for every command."""
    for error in (ssl.SSLCertVerificationError(1, "it has expired"), ssl.SSLError(1, "there is none")):
        told = translated(error, WHERE, "connect")
        assert isinstance(told, Unavailable)
        assert f"no safe connection to {WHERE}: check its certificate" in told.detail
        assert str(error) in told.detail


async def test_postgres_without_tls_is_told_from_one_that_is_not_there(tables_url: str) -> None:
    error = await refused(f"{tables_url}?sslmode=require")
    assert isinstance(error, Unavailable)
    assert "speaks no TLS: set ssl = on there" in error.detail


async def test_a_file_of_a_postgres_url_that_is_missing_is_told(tables_url: str) -> None:
    error = await refused(f"{tables_url}?sslmode=verify-full&sslrootcert=/no/such/file")
    assert isinstance(error, Unavailable)
    assert "a file of a certificate that is not there" in error.detail


async def test_what_the_postgres_driver_advises_to_programmers_is_left_out(
    tables_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    error = await refused(f"{tables_url}?sslmode=verify-full")
    assert isinstance(error, Malformed)
    assert "root.crt" in error.detail
    assert "HINT" not in error.detail


async def test_a_password_file_that_others_can_read_is_named_on_postgres(
    tables_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    password = urlsplit(tables_url).password
    assert password
    file = tmp_path / "passwords"
    file.write_text(f"*:*:*:*:{password}\n", encoding="utf-8")
    monkeypatch.setenv("PGPASSFILE", str(file))
    monkeypatch.delenv("PGPASSWORD", raising=False)
    url = tables_url.replace(f":{password}@", "@")
    file.chmod(0o640)
    error = await refused(url)
    with pytest.raises(Unavailable, match="chmod 600"):
        await schema.current(url)
    assert f"the password file {file} can be read by others, so it is not used: chmod 600" in error.detail
    assert password not in error.detail
    file.chmod(0o600)
    assert (await schema.current(url)).served
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    assert "chmod" not in (await refused(url)).detail
