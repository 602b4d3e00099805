"""What replies tell beside their answers is remembered, and none of it is lost between pages."""

from blackboard.client.context import Context, merge_pages
from blackboard.messages.replies import (
    ACTIVE,
    INTACT,
    Entry,
    EventsReply,
    Moved,
    Notice,
    RaisedSignal,
    ReadReply,
    Reply,
    Standing,
)


def notice(seq: int, about: str, what: str = "compacted") -> Notice:
    return Notice(seq=seq, about=about, what=what, detail="")  # type: ignore[arg-type]  # a Literal


def test_a_reply_replaces_what_the_one_before_told() -> None:
    context = Context()
    context.take(Reply(head=5, standing=ACTIVE, notices=[notice(4, "agent:b")], guarantee=INTACT))
    assert (context.head, context.standing, context.guarantee) == (5, ACTIVE, INTACT)
    context.take(Reply(head=6, standing=Standing(state="suspected")))
    assert (context.head, context.notices) == (6, ())
    assert context.standing == Standing(state="suspected")


def test_the_head_never_falls_when_replies_overtake_each_other() -> None:
    context = Context()
    context.take(Reply(head=9))
    context.take(Reply(head=7))
    assert context.head == 9


def test_what_carries_no_notices_does_not_count_as_seen() -> None:
    context = Context()
    context.take(EventsReply(events=[], head=50))
    context.take(None)
    assert context.head == 0


def page(head: int, key: str, cursor: str | None, notices: list[Notice], moved: list[Moved]) -> ReadReply:
    signal = RaisedSignal(name=f"s{head}", agent="a", effect="flag")
    return ReadReply(
        seq=head,
        head=head,
        entries=[Entry(key=key)],
        cursor=cursor,
        notices=notices,
        moved=moved,
        signals=[signal],
    )


def test_pages_make_one_reply_that_keeps_what_each_of_them_told() -> None:
    old, new = Moved(key="m", revision=2, writer="b", seq=3), Moved(key="m", revision=3, writer="b", seq=12)
    merged = merge_pages(
        [
            page(
                10,
                "a",
                "2:a",
                [notice(9, "agent:b"), notice(8, "board", "mode"), notice(7, "board", "policy")],
                [old],
            ),
            page(13, "b", None, [notice(12, "agent:b", "restored"), notice(11, "agent:c")], [new]),
        ]
    )
    assert [entry.key for entry in merged.entries] == ["a", "b"]
    assert (merged.seq, merged.head, merged.cursor) == (13, 13, None)
    assert [(one.seq, one.about, one.what) for one in merged.notices] == [
        (12, "agent:b", "restored"),
        (11, "agent:c", "compacted"),
        (8, "board", "mode"),
        (7, "board", "policy"),
    ]
    assert merged.moved == [new]
    assert [signal.name for signal in merged.signals] == ["s10", "s13"]
