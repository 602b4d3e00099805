"""The approvals that bear on one rule: looked up for one action, listed only for whoever asks for all.

There may be many of them, and a verdict is about one action. Only certificates and prechecks list them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import TypeVar

from blackboard.gate.actions.sides import Side
from blackboard.gate.actions.world import World

S = TypeVar("S")


class Digests(Set[str]):
    """A set of actions, by digest. It asks `test` about one; to go through all, it tries those `among`."""

    __slots__ = ("_among", "_listed", "_test")

    def __init__(self, test: Callable[[str], bool], among: Callable[[], Iterable[str]]) -> None:
        self._test = test
        self._among = among
        self._listed: list[str] | None = None

    def __contains__(self, digest: object) -> bool:
        return isinstance(digest, str) and self._test(digest)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __bool__(self) -> bool:
        return bool(self._listed) if self._listed is not None else any(map(self._test, self._among()))

    def at_most(self) -> int:
        """How many there may be: told without trying each."""
        return len([*self._among()])

    @classmethod
    def _from_iterable(cls, it: Iterable[S]) -> Set[S]:
        return frozenset(it)

    def _all(self) -> list[str]:
        if self._listed is None:
            self._listed = [digest for digest in self._among() if self._test(digest)]
        return self._listed


class MissingFor(Mapping[str, tuple[int, ...]]):
    """What is missing for one action beside what is missing for all; see `Row`."""

    __slots__ = ("_answers", "_digests")

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._digests = Digests(answers.counted, answers.named)

    def __getitem__(self, digest: str) -> tuple[int, ...]:
        if digest not in self._digests:
            raise KeyError(digest)
        return self._answers.missing(digest)

    def __iter__(self) -> Iterator[str]:
        return iter(self._digests)

    def __len__(self) -> int:
        return len(self._digests)


class Answers:
    """What approvals do to one rule, of which these copies live on the full set and on what is held."""

    __slots__ = ("_full", "_full_copies", "_held", "_held_copies", "_world")

    def __init__(
        self, world: World, full: tuple[Side, Sequence[int]], held: tuple[Side, Sequence[int]]
    ) -> None:
        self._world = world
        self._full, self._full_copies = full
        self._held, self._held_copies = held

    def named(self) -> list[str]:
        """The digests of all actions for which some approval of a copy was ever given or refused, sorted."""
        items, approvals = self._world.records.items, self._world.records.approvals
        copies = {*self._full_copies, *self._held_copies}
        return sorted({digest for copy in copies for digest in approvals(items[copy].id)})

    def named_held(self) -> list[str]:
        """Those of them about which the holder has an answer, sorted: no other is approved there."""
        items, approvals, holds = self._world.records.items, self._world.records.approvals, self._held.holds
        return sorted(
            {
                digest
                for copy in self._held_copies
                for digest, answers in approvals(items[copy].id).items()
                if any(map(holds, answers))
            }
        )

    def on_full(self, digest: str) -> bool:
        """Whether every copy is approved for the action on the full set, and there is one."""
        return _approved(self._full, self._full_copies, digest)

    def on_held(self, digest: str) -> bool:
        """The same of what is held."""
        return _approved(self._held, self._held_copies, digest)

    def agree(self) -> bool:
        """Whether both sides approve the same actions: surely so where the holder has every answer."""
        if self._full_copies == self._held_copies and all(map(self._held.holds, self._answers())):
            return True
        return all(self.on_full(digest) == self.on_held(digest) for digest in self.named())

    def _answers(self) -> Iterator[int]:
        """Every approval of a copy, and what superseded it."""
        records = self._world.records
        for copy in self._full_copies:
            for answers in records.approvals(records.items[copy].id).values():
                yield from answers
                yield from (end for at in answers if (end := records.superseder(at)) is not None)

    def dead(self, digest: str) -> bool:
        """Whether the holder counts an approval of some copy for the action, in vain."""
        return any(self._in_vain(copy, digest) for copy in self._held_copies)

    def counted(self, digest: str) -> bool:
        """Whether the holder counts an approval that matters."""
        return self.on_held(digest) or self.dead(digest)

    def missing(self, digest: str) -> tuple[int, ...]:
        """What else is missing for one action: copies without approval, and what ended an approval."""
        needed: list[int | None] = [*self._full_copies] if self.on_held(digest) else []
        for copy in self._held_copies:
            if self._in_vain(copy, digest):
                counted = self._held.newest_approval(copy, digest)
                assert counted is not None
                needed += [
                    self._full.newest_approval(copy, digest),
                    self._world.records.superseder(counted),
                ]
        found = {position for position in needed if position is not None and not self._held.holds(position)}
        return tuple(sorted(found))

    def dropped(self, digest: str) -> bool:
        """Whether something of that had been delivered."""
        if not self.counted(digest):
            return False
        return any(self._world.holding.delivered(position) for position in self.missing(digest))

    def _in_vain(self, copy: int, digest: str) -> bool:
        return self._held.approved(copy, digest) and not self._full.approved(copy, digest)


def _approved(side: Side, copies: Sequence[int], digest: str) -> bool:
    return bool(copies) and all(side.approved(copy, digest) for copy in copies)
