"""Findings about a PostgreSQL server, from what the store tells of it (`Store.check`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from blackboard.cli.doctor.finding import Finding, fail, ok, warn
from blackboard.config import Settings
from blackboard.store.durability import at_risk
from blackboard.store.revision import KNOWN

OLDEST = 13
"""The oldest major version that is supported: from here on nothing is missing that the store uses."""

TRIED = 15
"""The oldest on which the suite was run."""

SKEW_MS = 2_000
"""By how much two clocks may differ: half a minute of it would show in no rule, but in what people read."""

Figures = Mapping[str, Any]


def figures(found: Figures, settings: Settings, where: str) -> list[Finding]:
    """All findings, in the order in which one would look; what an engine does not tell is left out."""
    return [
        ok("database", f"{where}{_size(found)}"),
        version(found),
        *standby(found),
        schema(found),
        *encoding(found),
        *acknowledgement(found, settings),
        *torn_pages(found),
        *isolation(found, settings),
        *clock(found),
        *connections(found, settings),
        *pooler(found, settings),
        *secrecy(found),
        *role(found),
    ]


def _size(found: Figures) -> str:
    return f", {found['bytes']:,} bytes" if "bytes" in found else ""


def version(found: Figures) -> Finding:
    """The server's version; an engine that is not PostgreSQL itself shows by not telling a number."""
    number, text = found.get("version_number"), str(found.get("version"))
    if number is None:
        return warn(
            "PostgreSQL",
            f"this speaks its protocol and has other catalogues: {text}",
            "docs/postgresql.md says what is needed of other engines; only PostgreSQL itself is tested",
        )
    if number < OLDEST * 10_000:
        return fail("PostgreSQL", f"{text} is not supported", f"use PostgreSQL {OLDEST} or later")
    if number < TRIED * 10_000:
        text = f"{text} is older than what this release was tried on, {TRIED}"
        return warn("PostgreSQL", text, "move to a version that its makers still mend")
    return ok("PostgreSQL", text)


def standby(found: Figures) -> list[Finding]:
    """Whether this is a standby, which takes no write."""
    if not found.get("replica"):
        return []
    return [
        fail(
            "standby",
            "this server is in recovery: it answers reads and takes no write",
            "name the primary; with several hosts in the URL, end it with ?target_session_attrs=primary",
        )
    ]


def schema(found: Figures) -> Finding:
    """At which revision the tables are; below the newest an upgrade is half way, and nothing is wrong."""
    revision, newest = found.get("revision"), found.get("newest_revision")
    if revision == newest or revision not in KNOWN:
        return ok("schema", f"revision {revision}")
    then = f"when no server of an earlier release runs, `blackboard db upgrade` takes it to {newest}"
    return ok("schema", f"revision {revision}; {then}")


def encoding(found: Figures) -> list[Finding]:
    """The database's encoding: everything else would refuse text, or not know what it is."""
    told = found.get("encoding", "UTF8")
    if told == "UTF8":
        return []
    again = "make a database with ENCODING 'UTF8' TEMPLATE template0, and restore into it"
    return [fail("encoding", f"{told}: some text cannot be stored", again)]


def acknowledgement(found: Figures, settings: Settings) -> list[Finding]:
    """What an acknowledgement is worth."""
    if "fsync" not in found:
        return []
    risks = at_risk(found)
    if "fsync=off" in risks:
        return [
            fail(
                "acknowledgement",
                "fsync=off: a power loss or a crash of the machine can take everything",
                "set fsync = on in postgresql.conf and reload; never run without it",
            )
        ]
    if risks and settings.durability == "normal":
        return [
            warn(
                "acknowledgement",
                "synchronous_commit=off, as durability = normal asks: a crash of the database can take the "
                "last of what was acknowledged",
                'set durability = "full"',
            )
        ]
    if risks:
        return [
            fail(
                "acknowledgement",
                "synchronous_commit=off at the database, while durability is full: a crash of the database "
                "can take the last of what was acknowledged",
                "set synchronous_commit = on for this role, this database or the server",
            )
        ]
    return [ok("acknowledgement", _worth(found))]


def _worth(found: Figures) -> str:
    commit, standbys = found.get("synchronous_commit"), found.get("synchronous_standbys")
    settings = f"fsync=on, synchronous_commit={commit}"
    if not standbys or commit == "local":
        return f"{settings}: on the primary's disk; a failover to a standby can lose the last of it"
    return f"{settings}: on the primary's disk, and with the standbys {standbys}"


def torn_pages(found: Figures) -> list[Finding]:
    """Whether a page that was half written can be mended."""
    if found.get("full_page_writes", "on") == "on":
        return []
    return [
        warn(
            "full_page_writes",
            "off: a power loss can leave pages that are half old, half new",
            "set full_page_writes = on, unless the file system never tears a page",
        )
    ]


def isolation(found: Figures, settings: Settings) -> list[Finding]:
    """The isolation level of our connections."""
    wanted = settings.isolation.replace("-", " ")
    told = str(found.get("isolation", wanted))
    if told == wanted:
        return [ok("isolation", told)]
    return [
        warn(
            "isolation",
            f"{told}, and {wanted} was asked for: every level is correct, this one may conflict more often",
            "look whether a pooler drops what the connection asks for",
        )
    ]


def clock(found: Figures) -> list[Finding]:
    """How far the database's clock and ours are apart."""
    if "clock_ahead_ms" not in found:
        return []
    ahead = int(found["clock_ahead_ms"])
    text = f"the database is {abs(ahead):,} ms {'ahead' if ahead >= 0 else 'behind'}"
    if abs(ahead) <= SKEW_MS:
        return [ok("clock", text)]
    return [warn("clock", text, "let a time service set the clock of both machines; servers write times")]


def connections(found: Figures, settings: Settings) -> list[Finding]:
    """Connections in use, of those that the server, the database and the role allow."""
    pools = settings.write_connections + settings.read_connections + 1
    bounds = [
        (name.strip(), int(found[f"{kind}connections"]), int(found[f"{kind}connections_most"]))
        for name, kind in ((" ", ""), ("for this role", "role_"), ("for this database", "database_"))
        if found.get(f"{kind}connections_most") is not None and f"{kind}connections" in found
    ]
    findings = []
    for whose, used, most in bounds:
        text = f"{used} of {most} in use{' ' if whose else ''}{whose}; one server takes up to {pools}"
        if most - used >= pools:
            findings.append(ok("connections", text))
            continue
        do = "raise max_connections, or the limit of the role or database; or set write_connections and "
        findings.append(warn("connections", text, f"{do}read_connections lower on every server"))
    return findings


def pooler(found: Figures, settings: Settings) -> list[Finding]:
    """Whether a pooler stands between, and whether our settings came through it."""
    dropped = [
        name
        for name, seconds in (
            ("statement_timeout", settings.statement_timeout_seconds),
            ("idle_in_transaction", settings.idle_in_transaction_seconds),
        )
        if (told := found.get(f"{name}_ms")) is not None and told != round(seconds * 1000)
    ]
    if found.get("own_session") is False:
        text = "several of our connections share one session of the database: transaction or statement mode"
        return [fail("pooler", text, "use pool_mode = session, or connect to PostgreSQL directly")]
    if dropped:
        text = f"what our connections ask for does not arrive: {', '.join(dropped)}"
        return [
            warn("pooler", text, "set it for the role (docs/postgresql.md, poolers), or connect directly")
        ]
    return [ok("pooler", "between us and the database, in session mode")] if found.get("pooled") else []


def secrecy(found: Figures) -> list[Finding]:
    """Whether others can read along."""
    if found.get("encrypted", True) or found.get("local"):
        return []
    return [
        warn(
            "encryption",
            "the connection crosses a network in the clear",
            "set ssl = on at the database, and end the URL with ?sslmode=verify-full",
        )
    ]


def role(found: Figures) -> list[Finding]:
    """Who we are at the database."""
    if not found.get("superuser"):
        return []
    return [
        warn(
            "role",
            "the database's superuser: nothing here needs that",
            "make a role that owns the database and nothing else (docs/postgresql.md)",
        )
    ]
