"""Tokens through the client: made, listed, revoked, and what each lets its holder do."""

import asyncio

import pytest

import blackboard
from blackboard import Grants
from tests.client.live import LiveServer


async def test_a_token_lives_from_creation_to_revocation(any_server: LiveServer) -> None:
    async with blackboard.connect(any_server.url, board="tokens", token=any_server.token) as operator:
        await operator.open_board()
        grants = Grants(writes=["mine/*"], prefix="mine/")
        made = await operator.create_token("agent", "a", boards=["tokens"], grants=grants, days=1)
        assert made.token is not None
        assert (made.role, made.name, made.boards, made.grants) == ("agent", "a", ["tokens"], grants)
        assert made.expires_at is not None
        listed = {token.id: token for token in (await operator.list_tokens()).tokens}
        assert listed[made.id].token is None
        async with blackboard.connect(any_server.url, board="tokens", token=made.token) as agent:
            await agent.write("mine/1", 1, revision=1)
            with pytest.raises(blackboard.NotAllowed):
                await agent.create_token("operator", "me")
            revoked = await operator.revoke_token(made.id)
            assert revoked.revoked_at is not None
            with pytest.raises(blackboard.Unauthenticated):
                await agent.read("mine/1")
        with pytest.raises(blackboard.NotFound):
            await operator.revoke_token("token-nobody-made")


async def test_a_token_reaches_the_boards_that_it_names_and_no_other(any_server: LiveServer) -> None:
    async with blackboard.connect(any_server.url, board="reach-1", token=any_server.token) as operator:
        await operator.open_board()
        made = await operator.create_token("auditor", "kim", boards=["reach-*"])
    async with blackboard.connect(any_server.url, board="reach-1", token=made.token) as auditor:
        assert [board.name for board in (await auditor.list_boards()).boards] == ["reach-1"]
    async with blackboard.connect(any_server.url, board="other", token=made.token) as auditor:
        with pytest.raises(blackboard.UnknownBoard):
            await auditor.get_board()


async def test_the_name_that_is_given_is_compared_with_the_tokens(any_server: LiveServer) -> None:
    async with blackboard.connect(any_server.url, token=any_server.token) as operator:
        made = await operator.create_token("agent", "planner")
    board = await blackboard.connect(any_server.url, board="b", token=made.token, agent="planner")
    await board.close()
    with pytest.raises(blackboard.NotAllowed, match="acts as agent:planner"):
        await blackboard.connect(any_server.url, board="b", token=made.token, agent="executor")
    with pytest.raises(blackboard.NotAllowed, match="acts as agent:planner"):
        await asyncio.to_thread(
            blackboard.connect_sync, any_server.url, board="b", token=made.token, operator="planner"
        )


@pytest.mark.parametrize("token", [None, "bb_wrong"])
async def test_without_a_valid_token_nothing_is_said(any_server: LiveServer, token: str | None) -> None:
    async with blackboard.connect(any_server.url, board="b", token=token) as board:
        with pytest.raises(blackboard.Unauthenticated):
            await board.get_board()
        with pytest.raises(blackboard.Unauthenticated):
            async for _ in board.follow():
                pass
