"""The base of the tree: what every error carries."""

from __future__ import annotations

from typing import Any, ClassVar

_SHOWN = 80


def shorten(value: object) -> str:
    """Return `repr(value)`, cut to a length that fits in a message."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


class BlackboardError(Exception):
    """Base of the tree.

    `code` is stable and goes over the wire; `detail` says what is wrong, with which value, and
    what to do next; `members` are the further members of the problem document (JSON values or
    structs). An error after which something was logged also carries `reply`, the members that
    every reply has (`seq`, `head`, `standing`, `notices`, `moved`, `signals`, `guarantee`); they
    can be read as attributes of the error.
    """

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 2

    def __init__(self, detail: str, *, members: dict[str, Any] | None = None, reply: Any = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.members: dict[str, Any] = members if members is not None else {}
        self.reply = reply

    @property
    def seq(self) -> int | None:
        """The last event that this attempt left in the log, if it left one."""
        return getattr(self.reply, "seq", None)

    @property
    def head(self) -> int | None:
        """The board's head when this error was answered, where it is known."""
        return getattr(self.reply, "head", None)

    @property
    def standing(self) -> Any:
        """The caller's standing when this error was answered, where it is known."""
        return getattr(self.reply, "standing", None)

    @property
    def notices(self) -> tuple[Any, ...]:
        """What peers did that the caller has not heard of."""
        return tuple(getattr(self.reply, "notices", ()))

    @property
    def moved(self) -> tuple[Any, ...]:
        """Keys that the caller holds and a peer has advanced."""
        return tuple(getattr(self.reply, "moved", ()))

    @property
    def signals(self) -> tuple[Any, ...]:
        """Signals that this attempt raised."""
        return tuple(getattr(self.reply, "signals", ()))

    @property
    def guarantee(self) -> Any:
        """Which legs of the guarantee the board's policy has switched off."""
        return getattr(self.reply, "guarantee", None)
