"""From a path to the operations behind it: a tree made of OPERATIONS, walked once a request.

A parameter takes one segment; `{key}`, which always comes last, takes the rest of the path, because keys
may hold slashes. Segments are split before they are decoded, so `%2F` never separates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from blackboard import canonical
from blackboard.errors import Malformed, NotFound
from blackboard.messages.limits import Limits
from blackboard.server.endpoint import Endpoint

__all__ = ["Found", "Routes"]

_REST: Final = "key"
REMEMBERED: Final = 4096
REMEMBERED_BYTES: Final = 256
"""How many paths are found without a walk; an agent asks for few, again and again."""


class Found(NamedTuple):
    """What answers at a path, by method, and what the path says. Shared between requests: never changed."""

    methods: Mapping[str, Endpoint]
    params: Mapping[str, str]
    board: str | None


class _Node:
    __slots__ = ("literals", "methods", "name", "param")

    def __init__(self) -> None:
        self.literals: dict[bytes, _Node] = {}
        self.param: _Node | None = None
        self.name = ""
        self.methods: dict[str, Endpoint] = {}

    def child(self, segment: str) -> _Node:
        if not segment.startswith("{"):
            return self.literals.setdefault(segment.encode(), _Node())
        if self.param is None:
            self.param = _Node()
            self.param.name = segment[1:-1]
        if self.param.name != segment[1:-1]:
            raise ValueError(f"{segment} stands where {self.param.name!r} stands in another route")
        return self.param


class Routes:
    """Every operation by path and method."""

    def __init__(self, endpoints: Iterable[Endpoint], limits: Limits) -> None:
        self._limits = limits
        self._root = _Node()
        self._recent: dict[bytes, Found] = {}
        for endpoint in endpoints:
            node = self._root
            for segment in endpoint.operation.path.split("/")[1:]:
                node = node.child(segment)
            node.methods[endpoint.operation.method] = endpoint

    def find(self, raw_path: bytes) -> Found:
        """What answers at `raw_path`, still percent-encoded.

        Raises `NotFound`, or `Malformed` for bytes that are not UTF-8 and for what is no name of a board.
        """
        found = self._recent.get(raw_path)
        if found is None:
            found = self._walk(raw_path)
            if len(raw_path) <= REMEMBERED_BYTES:
                if len(self._recent) >= REMEMBERED:
                    self._recent.clear()
                self._recent[raw_path] = found
        return found

    def _walk(self, raw_path: bytes) -> Found:
        segments = raw_path.split(b"/")
        node = self._root
        params: dict[str, str] = {}
        for index in range(1, len(segments)):
            segment = segments[index]
            known = node.literals.get(segment)
            if known is None:
                known = node.param
                if known is None or not (segment or known.name == _REST):
                    raise _nothing_at(raw_path)
                if known.name == _REST:
                    params[_REST] = _text(b"/".join(segments[index:]), _REST)
                    return self._found(known, params)
                params[known.name] = _text(segment, known.name)
            node = known
        if not node.methods:
            raise _nothing_at(raw_path)
        return self._found(node, params)

    def _found(self, node: _Node, params: dict[str, str]) -> Found:
        board = params.get("board")
        if board is not None:
            canonical.check_identifier(board, member="board", max_bytes=self._limits.identifier_bytes)
        return Found(node.methods, params, board)


def _text(raw: bytes, name: str) -> str:
    try:
        return (unquote_to_bytes(raw) if b"%" in raw else raw).decode()
    except UnicodeDecodeError:
        raise Malformed(
            f"the {name} in the path is not UTF-8 after percent-decoding",
            member=name,
            value=raw[:64].decode("latin-1"),
        ) from None


def _nothing_at(raw_path: bytes) -> NotFound:
    shown = raw_path[:80].decode("latin-1")
    return NotFound(f"there is nothing at {shown!r}; /docs lists every route", members={"value": shown})
