"""Judging a whole log again, from rows at hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from blackboard.audit.judging import DECIDED, begin, judge_again, needs
from blackboard.events.envelope import Event, Row, unseal
from blackboard.gate.case import Need
from blackboard.projections.board import Board
from blackboard.projections.evolve import evolve


def commands(rows: Iterable[Row]) -> Iterator[list[Event]]:
    """The events of a log, command by command."""
    found: list[Event] = []
    for row in rows:
        event = unseal(row)
        if event.first and found:
            yield found
            found = []
        found.append(event)
    if found:
        yield found


def everything_follows(rows: list[Row]) -> Counter[str]:
    """Judge every rejection, verdict and certificate again on its prefix; return how many there were."""
    board, count = Board(), Counter[str]()
    log: list[Event] = []
    for events in commands(rows):
        begin(board, events[0])
        for event in events:
            if event.body.KIND in DECIDED:
                judged = judge_again(board, event, _fetch(needs(board, event), log))
                assert judged.outcome == "same", judged
                count[event.body.KIND] += 1
        for event in events:
            evolve(board, event)
        log += events
    return count


def _fetch(wanted: list[Need], log: list[Event]) -> Mapping[Need, Event | None]:
    return {need: _find(need, log) for need in wanted}


def _find(need: Need, log: list[Event]) -> Event | None:
    for event in reversed(log):
        by_revision = need.revision is not None and event.revision == need.revision
        by_seq = need.as_of is not None and event.seq <= need.as_of
        if event.key == need.key and (by_revision or by_seq):
            return event
    return None
