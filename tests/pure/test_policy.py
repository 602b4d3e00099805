"""The policy of a board: one table, patched by members, held whole in the log."""

from typing import Any

import msgspec
import pytest

from blackboard import canonical
from blackboard.errors import Malformed
from blackboard.events import kinds
from blackboard.events.policy import (
    MAX_WINDOW,
    SIGNAL_DEFAULTS,
    Policy,
    PolicyPatch,
    SignalSetting,
    merge,
)
from blackboard.messages import commands as ask
from tests.pure.conftest import Worlds
from tests.pure.driver import World


def patched(**members: Any) -> Policy:
    return merge(Policy(), msgspec.convert(members, PolicyPatch))


def test_the_defaults_are_the_full_guarantee() -> None:
    policy = Policy()
    assert policy.legs_off() == []
    assert (policy.revisions, policy.require_view, policy.demotion) == ("advancing", True, "revalidate")
    assert (policy.completion, policy.completion_window, policy.broadcast) == ("reread", 8, True)
    assert (policy.status_pointer, policy.covers_pointer) == ("/status", "/covers")
    assert (policy.coordinator, policy.on_unnotifiable, policy.unseen) == (None, "single-writer", "block")


@pytest.mark.parametrize(
    ("members", "off"),
    [
        ({"revisions": "advisory"}, "revisions: advisory"),
        ({"require_view": False}, "require_view: false"),
        ({"demotion": "off"}, "demotion: off"),
        ({"completion": "off"}, "completion: off"),
        ({"finished": ()}, "finished: no words"),
        ({"unfinished": []}, "unfinished: no words"),
        ({"broadcast": False}, "broadcast: false"),
    ],
)
def test_whatever_switches_a_leg_off_is_named(members: dict[str, Any], off: str) -> None:
    assert patched(**members).legs_off() == [off]


def test_only_citation_decay_suspends_by_default() -> None:
    effects = {name: setting.effect for name, setting in Policy().signals.items()}
    assert effects == dict.fromkeys(SIGNAL_DEFAULTS, "flag") | {"citation-decay": "suspect"}


def test_members_left_out_keep_their_value() -> None:
    first = patched(demotion="read-only", completion_window=3)
    second = merge(first, PolicyPatch(completion_window=5))
    assert second == msgspec.structs.replace(first, completion_window=5)


def test_a_patch_member_exists_for_every_member_of_the_policy() -> None:
    assert set(PolicyPatch.__struct_fields__) == set(Policy.__struct_fields__)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"unheard": 1}, "unheard"),
        ({"finished": ["done", "-"]}, "finished"),
        ({"unfinished": ["_ _"]}, "unfinished"),
        ({"revisions": "sometimes"}, "revisions"),
        ({"require_view": "yes"}, "require_view"),
        ({"completion_window": 0}, "completion_window"),
        ({"completion_window": MAX_WINDOW + 1}, "completion_window"),
        ({"status_pointer": "status"}, "status_pointer"),
        ({"status_pointer": "/a~2"}, "status_pointer"),
        ({"finished": [""]}, "finished"),
        ({"finished": "done"}, "finished"),
        ({"coordinator": ""}, "coordinator"),
        ({"signals": {"read-elision": "sometimes"}}, "signals"),
        ({"signals": {"read-elision": {"wind": 3}}}, "wind"),
        ({"signals": {"read-elision": {"ratio": 0}}}, "ratio"),
        ({"signals": {"read-elision": {"window": 0}}}, "window"),
    ],
)
def test_what_is_no_policy_is_refused_and_the_member_is_named(members: dict[str, Any], words: str) -> None:
    with pytest.raises(Malformed, match=words) as caught:
        canonical.decode(canonical.encode({"policy": members}), ask.SetPolicy, max_bytes=10_000)
    assert (caught.value.member or "").startswith("/policy/")


def test_a_signal_that_does_not_exist_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(Malformed, match="read-elision") as caught:
        patched(signals={"read-illusion": "flag"})
    assert caught.value.member == "/policy/signals/read-illusion"


def test_a_signal_is_patched_by_its_effect_or_by_its_members() -> None:
    policy = patched(signals={"write-breadth": "suspect", "read-elision": {"window": 5, "ratio": 0.75}})
    assert policy.signals["write-breadth"] == SignalSetting("suspect")
    assert policy.signals["read-elision"] == SignalSetting("flag", window=5, minimum=3, ratio=0.75)
    assert policy.signals["citation-decay"] == SIGNAL_DEFAULTS["citation-decay"]


def test_a_window_below_the_minimum_takes_the_minimum_along() -> None:
    setting = patched(signals={"citation-decay": {"window": 2}}).signals["citation-decay"]
    assert (setting.window, setting.minimum) == (2, 2)


def test_a_signal_that_could_never_be_raised_is_refused() -> None:
    with pytest.raises(Malformed, match="never be raised") as caught:
        patched(signals={"citation-decay": {"window": 2, "minimum": 3}})
    assert (caught.value.member, caught.value.limit) == ("/policy/signals/citation-decay/minimum", 2)


@pytest.mark.parametrize(
    ("member", "value", "leg"),
    [
        ("revisions", "advisory", "revisions: advisory"),
        ("require_view", False, "require_view: false"),
        ("demotion", "off", "demotion: off"),
        ("completion", "off", "completion: off"),
        ("broadcast", False, "broadcast: false"),
    ],
)
def test_a_leg_that_is_switched_off_is_named_in_every_reply(
    worlds: Worlds, member: str, value: Any, leg: str
) -> None:
    world = worlds({member: value})
    agent = world.agent("a")
    for reply in (agent.reads("k"), agent.writes("k", 1), agent.says("x"), world.operator.opens()):
        assert reply.guarantee is not None
        assert (reply.guarantee.intact, reply.guarantee.off) == (False, [leg])


def test_an_intact_guarantee_is_said_to_be_intact(world: World) -> None:
    guarantee = world.agent("a").reads("k").guarantee
    assert guarantee is not None
    assert (guarantee.intact, guarantee.off) == (True, [])


def test_the_event_holds_the_whole_policy(world: World) -> None:
    world.operator.sets_policy(completion_window=3)
    assert world.last(kinds.BoardPolicyChanged).policy == patched(completion_window=3)


def test_a_patch_that_changes_nothing_appends_nothing(world: World) -> None:
    reply = world.operator.sets_policy(demotion="revalidate")
    assert (reply.seq, world.head) == (None, 1)


def test_a_changed_policy_counts_from_its_event_on(world: World) -> None:
    agent = world.agent("a")
    agent.writes("k", 1, {"status": "open"})
    world.operator.sets_policy(completion="off")
    agent.writes("k", 2, {"status": "done"})
    assert world.value("k") == {"status": "done"}


@pytest.mark.parametrize("name", ["a\nb", "\ud800"])
def test_a_coordinator_is_an_identifier(world: World, name: str) -> None:
    with pytest.raises(Malformed):
        world.operator.sets_policy(coordinator=name)
    with pytest.raises(Malformed):
        World({"coordinator": name})


def test_a_coordinator_can_be_taken_back(worlds: Worlds) -> None:
    world = worlds({"coordinator": "planner"})
    world.operator.sets_policy(coordinator=None)
    assert world.board.policy.coordinator is None
