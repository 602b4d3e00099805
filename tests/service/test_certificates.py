"""Certificates of a service: signed with its key, or refused whole; and its verdicts, counted."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

import blackboard
from blackboard.client.embedded import EmbeddedTransport
from blackboard.gate.actions import certificate

RULE = blackboard.Policy("t", {"field": "amount", "op": "gt", "value": 5}, "deny", id="cap")


async def lost(place: Path) -> tuple[blackboard.Board, blackboard.Board]:
    """A board whose agent has lost the only rule; `place` is the state directory."""
    settings = blackboard.Settings(state_dir=str(place))
    operator = await blackboard.connect("memory://", board="b", operator="ops", settings=settings)
    agent = await blackboard.connect("memory://", board="b", agent="a", settings=settings)
    await operator.add_record(RULE)
    await agent.read_records()
    await agent.compacted()
    return operator, agent


async def test_a_certificate_beyond_the_limit_is_refused_and_nothing_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator, agent = await lost(tmp_path)
    async with operator, agent:
        before = (await agent.events()).head
        monkeypatch.setattr(certificate, "MAX_BYTES", 300)
        with pytest.raises(blackboard.TooLarge) as caught:
            await agent.certificate("t")
        assert caught.value.member == "certificate"
        assert (await agent.events()).head == before


async def test_a_key_that_others_can_read_signs_nothing_and_nothing_is_recorded(tmp_path: Path) -> None:
    operator, agent = await lost(tmp_path)
    async with operator, agent:
        key = tmp_path / "signing.key"
        key.write_bytes(bytes(32))
        key.chmod(0o644)
        before = (await agent.events()).head
        with pytest.raises(blackboard.Unavailable, match="mode 0644"):
            await agent.certificate("t")
        with pytest.raises(blackboard.Unavailable, match="mode 0644"):
            await agent.signing_key()
        assert (await agent.events()).head == before
        key.chmod(0o600)
        assert (await agent.certificate("t")).certificate is not None


async def test_the_key_is_made_when_it_is_first_needed_for_its_owner_alone(tmp_path: Path) -> None:
    operator, agent = await lost(tmp_path / "state")
    async with operator, agent:
        assert not (tmp_path / "state").exists()
        issued, key = await agent.certificate("t"), await agent.signing_key()
        assert issued.certificate is not None
        assert issued.certificate["key"] == key.key_id
        assert stat.S_IMODE((tmp_path / "state/signing.key").stat().st_mode) == 0o600
        call = {"tool": "t", "params": {"amount": 6}}
        for public in (key.public_key, key.pem):
            assert blackboard.verify_certificate(issued.certificate, call, public).verdict == "BLOCK"


async def test_verdicts_are_counted_by_what_they_say(tmp_path: Path) -> None:
    operator, agent = await lost(tmp_path)
    async with operator, agent:
        for amount in (1, 6, 7):
            await agent.check("t", {"amount": amount})
        await agent.read("what comes after them")  # a commit is counted before the next one begins
        transport = agent._transport
        assert isinstance(transport, EmbeddedTransport)
        assert transport.runtime.service.metrics.verdicts == {"PASS": 1, "BLOCK": 2}
