"""Tokens: made, used, expired, revoked; within what their maker may do."""

import time
from typing import Any

import msgspec
import pytest

from blackboard.messages import commands as ask
from blackboard.messages.principal import Grants, Principal, Role
from blackboard.messages.replies import TokenReply
from blackboard.server import Tokens
from blackboard.server import tokens as module
from blackboard.server.tokens import digest_of
from blackboard.store.contract import StoredToken
from blackboard.store.memory import MemoryStore
from tests.server.support import BOARD, Driven, driven


async def made(server: Driven, who: str = "ops", **members: Any) -> Any:
    body = {"role": "agent", "name": "coder", **members}
    return await server.ask("POST", "/v1/tokens", body, who=who)


async def test_a_token_is_256_random_bits_shown_once_and_stored_as_a_digest(server: Driven) -> None:
    answer = await made(server)
    assert answer.status == 201
    secret = answer.json()["token"]
    assert secret.startswith("bb_")
    assert len(secret) == 3 + 43
    stored = await server.store.token(digest_of(secret))
    assert stored is not None
    assert stored.reply.token is None
    listed = await server.ask("GET", "/v1/tokens", who="ops")
    assert secret not in listed.body.decode()
    assert {one["id"]: one["token"] for one in listed.json()["tokens"]}[answer.json()["id"]] is None


async def test_a_token_says_who_acts_whatever_a_body_says(server: Driven) -> None:
    secret = (await made(server)).json()["token"]
    answer = await server.ask("GET", f"/v1/boards/{BOARD}/entries/k", who=secret)
    assert answer.status == 200
    body = {"writes": [{"key": "k", "revision": 1, "value": 1}], "agent": "executor"}
    refused = await server.ask("POST", f"/v1/boards/{BOARD}/writes", body, who=secret)
    assert (refused.status, refused.problem()["member"]) == (422, "/agent")
    events = await server.ask("GET", f"/v1/boards/{BOARD}/events", who="kim")
    assert events.json()["events"][-1]["actor"] == "agent:coder"


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Basic b3BzOm9wcw==",
        "bb_token",
        "Bearer bb_unknown",
        "Bearer " + "x" * 1000,
        "Bearer \xff\xfe",
    ],
)
async def test_without_a_valid_token_the_answer_is_401_with_a_challenge(
    server: Driven, header: str | None
) -> None:
    headers = [] if header is None else [("Authorization", header)]
    for path in ("/v1/boards", f"/v1/boards/{BOARD}", "/v1/boards/none", "/v1/tokens"):
        answer = await server.ask("GET", path, who=None, headers=headers)
        assert answer.status == 401
        assert answer.problem()["code"] == "unauthenticated"
        assert answer.headers["www-authenticate"] == 'Bearer realm="blackboard"'


async def test_the_scheme_is_read_in_any_case(server: Driven) -> None:
    headers = [("Authorization", f"bEARER   {server.tokens['ops']} ")]
    assert (await server.ask("GET", "/v1/boards", who=None, headers=headers)).status == 200


async def test_a_revoked_token_ends_at_once_though_it_was_just_used(server: Driven) -> None:
    answer = await made(server)
    token_id, secret = answer.json()["id"], answer.json()["token"]
    assert (await server.ask("GET", "/v1/boards", who=secret)).status == 200
    revoked = await server.ask("DELETE", f"/v1/tokens/{token_id}", who="ops")
    assert revoked.json()["revoked_at"] > 0
    assert (await server.ask("GET", "/v1/boards", who=secret)).status == 401
    again = await server.ask("DELETE", f"/v1/tokens/{token_id}", who="ops")
    assert again.json() == revoked.json(), "revoking it again changes nothing"


async def test_a_revocation_during_a_look_up_is_not_overwritten_by_it() -> None:
    store = MemoryStore()
    tokens = Tokens(store)
    root = Principal(role="operator", name="root")
    reply = await tokens.create(root, ask.CreateToken(role="agent", name="a"))
    assert reply.token is not None
    found = await store.token(digest_of(reply.token))

    async def old(digest: bytes) -> StoredToken | None:
        await tokens.revoke(root, reply.id)
        return found

    store.token = old  # type: ignore[method-assign]  # what was read before the revocation arrives after it
    await tokens.authenticate(reply.token.encode())
    assert tokens.known(reply.token.encode()) is None


async def test_a_revocation_by_another_process_is_seen_within_seconds(
    monkeypatch: pytest.MonkeyPatch, server: Driven
) -> None:
    secret = server.tokens["planner"]
    assert (await server.ask("GET", "/v1/boards", who=secret)).status == 200
    stored = await server.store.token(digest_of(secret))
    assert stored is not None
    ended = msgspec.structs.replace(stored.reply, revoked_at=1)
    await server.store.put_token(StoredToken(stored.digest, ended))
    later = time.monotonic() + module.REMEMBERED_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert module.REMEMBERED_SECONDS <= 5
    assert (await server.ask("GET", "/v1/boards", who=secret)).status == 401


async def test_a_token_expires_on_time_though_it_was_just_used() -> None:
    now = 1_000_000
    tokens = Tokens(MemoryStore(), now=lambda: now)
    command = ask.CreateToken(role="agent", name="a", days=1)
    reply = await tokens.create(Principal(role="operator", name="root"), command)
    assert reply.expires_at == now + 86_400_000_000
    secret = str(reply.token).encode()
    assert (await tokens.authenticate(secret)).actor == "agent:a"
    assert tokens.known(secret) is not None
    now = reply.expires_at
    assert tokens.known(secret) is None
    with pytest.raises(Exception, match="unknown, expired or revoked"):
        await tokens.authenticate(secret)


async def test_unknown_tokens_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED", 8)
    tokens = Tokens(MemoryStore())
    for number in range(50):
        with pytest.raises(Exception, match="unknown"):
            await tokens.authenticate(b"bb_%d" % number)
    assert len(tokens._known) <= 8


@pytest.mark.parametrize(
    ("body", "member"),
    [
        ({}, "/role"),
        ({"role": "root", "name": "x"}, "/role"),
        ({"role": "agent", "name": ""}, "/name"),
        ({"role": "agent", "name": "a\nb"}, "/name"),
        ({"role": "agent", "name": "x" * 129}, "/name"),
        ({"role": "agent", "name": "x", "boards": []}, "/boards"),
        ({"role": "agent", "name": "x", "boards": ["a", ""]}, "/boards/1"),
        ({"role": "agent", "name": "x", "boards": ["a"] * 257}, "/boards"),
        ({"role": "agent", "name": "x", "days": 0}, "/days"),
        ({"role": "agent", "name": "x", "days": 10_000}, "/days"),
        ({"role": "agent", "name": "x", "days": "1"}, "/days"),
        ({"role": "agent", "name": "x", "grants": {"writes": [""]}}, "/grants/writes/0"),
        ({"role": "agent", "name": "x", "grants": {"prefix": "a\x00"}}, "/grants/prefix"),
        ({"role": "agent", "name": "x", "grants": {"everything": True}}, "/grants/everything"),
        ({"role": "agent", "name": "x", "token": "bb_mine"}, "/token"),
    ],
)
async def test_what_is_no_token_to_make_is_refused_by_name(
    server: Driven, body: dict[str, Any], member: str
) -> None:
    before = len(await server.store.tokens())
    answer = await server.ask("POST", "/v1/tokens", body, who="ops")
    assert answer.status == 422
    assert answer.problem()["member"] == member
    assert len(await server.store.tokens()) == before


@pytest.mark.parametrize("who", ["planner", "kim", "elsewhere"])
async def test_only_operators_deal_in_tokens(server: Driven, who: str) -> None:
    answers = [
        await made(server, who),
        await server.ask("GET", "/v1/tokens", who=who),
        await server.ask("DELETE", "/v1/tokens/token-1", who=who),
    ]
    assert [answer.status for answer in answers] == [403, 403, 403]
    assert answers[0].problem()["code"] == "not-allowed"


@pytest.mark.parametrize(
    ("own", "wanted", "allowed"),
    [
        (["release-*"], ["release-42"], True),
        (["release-*"], ["release-*"], True),
        (["release-*"], ["release-4*"], True),
        (["release-*"], ["release-[12]"], True),
        (["release-*"], ["release-1", "release-2"], True),
        (["*"], ["*"], True),
        (["a", "b"], ["b", "a"], True),
        (["release-*"], ["*"], False),
        (["release-*"], ["release"], False),
        (["release-*"], ["r*"], False),
        (["release-*"], ["release-1", "other"], False),
        (["release-?"], ["release-*"], False),
        (["a"], ["a*"], False),
        (["a*"], ["?"], False),
    ],
)
async def test_an_operator_makes_tokens_for_its_own_boards_alone(
    server: Driven, own: list[str], wanted: list[str], allowed: bool
) -> None:
    await server.token("operator", "narrow", boards=own)
    answer = await made(server, "narrow", boards=wanted)
    assert answer.status == (201 if allowed else 403)
    if not allowed:
        assert answer.problem()["member"] == "/boards"


@pytest.mark.parametrize(
    ("own", "wanted", "allowed"),
    [
        (Grants(), {"writes": ["a/*"], "prefix": "a/", "report_peers": True, "records": ["policy"]}, True),
        (Grants(writes=["a/*"]), {"writes": ["a/b", "a/c*"]}, True),
        (Grants(writes=["a/*"]), {}, False),
        (Grants(writes=["a/*"]), {"writes": ["b"]}, False),
        (Grants(prefix="a/"), {"prefix": "a/b/"}, True),
        (Grants(prefix="a/"), {}, False),
        (Grants(records=["fact:a*"]), {"records": ["fact:ab"]}, True),
        (Grants(records=["fact:a*"]), {"records": ["policy"]}, False),
    ],
)
async def test_an_operator_grants_no_more_than_it_has(
    server: Driven, own: Grants, wanted: dict[str, Any], allowed: bool
) -> None:
    await server.token("operator", "narrow", grants=own)
    answer = await made(server, "narrow", grants=wanted)
    assert answer.status == (201 if allowed else 403), answer.body


async def test_an_operator_sees_and_revokes_the_tokens_of_its_own_boards_alone(server: Driven) -> None:
    await server.token("operator", "narrow", boards=["release-*"])
    mine = (await made(server, "narrow", boards=["release-1"])).json()
    other = (await made(server, boards=["release-1", "other"])).json()
    listed = (await server.ask("GET", "/v1/tokens", who="narrow")).json()["tokens"]
    assert {one["name"] for one in listed} == {"narrow", "coder"}
    assert mine["id"] in {one["id"] for one in listed}
    assert other["id"] not in {one["id"] for one in listed}
    hidden = await server.ask("DELETE", f"/v1/tokens/{other['id']}", who="narrow")
    missing = await server.ask("DELETE", "/v1/tokens/token-none", who="narrow")
    assert (hidden.status, missing.status) == (404, 404)
    assert (await server.ask("DELETE", f"/v1/tokens/{mine['id']}", who="narrow")).status == 200


@pytest.mark.parametrize("role", ["agent", "auditor", "operator"])
async def test_a_board_that_a_token_does_not_reach_looks_like_one_that_is_not_there(role: Role) -> None:
    async with driven() as server:
        await server.token(role, "narrow", boards=["other-*"])
        paths = [f"/v1/boards/{board}/events" for board in (BOARD, "none", "other-none")]
        answers = [await server.ask("GET", path, who="narrow") for path in paths]
        assert [answer.status for answer in answers] == [404, 404, 404]
        assert {answer.problem()["code"] for answer in answers} == {"unknown-board"}
        there, not_there, _ = [answer.problem()["detail"] for answer in answers]
        assert there.replace(BOARD, "none") == not_there
        listed = await server.ask("GET", "/v1/boards", who="narrow")
        assert listed.json()["boards"] == []


async def test_a_token_reply_has_every_member_of_its_type(server: Driven) -> None:
    msgspec.json.decode((await made(server)).body, type=TokenReply)
