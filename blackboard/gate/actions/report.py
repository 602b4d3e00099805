"""What the file tool prints: for each file a report that ends with its own digest, and a line for the sweep.

Same input, same bytes: nothing here depends on the order of records, on hashing, on the release of Python
(whose tables of characters differ) or on a clock. Source: seed 2; "The file tool" of the design.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

from msgspec import Struct, to_builtins

from blackboard.canonical import normal
from blackboard.errors import BlackboardError
from blackboard.gate.actions.action import Action
from blackboard.gate.actions.retention import Compaction
from blackboard.records.verdict import Answer, Note, Reason, VerdictWord

PASS_EXIT, BLOCK_EXIT, ERROR_EXIT = 0, 1, 2

_WORDS: Final[tuple[VerdictWord, ...]] = ("PASS", "BLOCK", "ERROR")
_LONGEST_ACTION: Final = 400
_BLIND: Final = "(not read: the verdict below is about every call of these tools)"

# What a terminal obeys or hides: controls, what reorders or joins text, private use, tags, no characters.
_HIDDEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\uf8ff\ufeff\ufff0-\ufffb\ufffe\uffff\U000110bd\U000110cd\U00013430-\U0001345f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
)

_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Error(Struct, frozen=True, omit_defaults=True):
    """Why there is no verdict. `member` is the JSON Pointer of the fault in the file, "" all of it."""

    code: str
    detail: str
    member: str | None = None
    limit: Any = None
    value: Any = None

    @classmethod
    def of(cls, error: BlackboardError) -> Error:
        """The same error as a part of a report."""
        told = {name: error.members.get(name) for name in ("member", "limit", "value")}
        return cls(error.code, error.detail, **told)


class Section(NamedTuple):
    """The answer about one action, or (precheck) about every call of `tools`, or why there is none.

    `place` is the action's number and how many there are, where the file lists several.
    """

    verdict: VerdictWord
    exit: int
    name: str | None = None
    place: tuple[int, int] | None = None
    compaction: Compaction | None = None
    action: Action | None = None
    tools: tuple[str, ...] | None = None
    reasons: Sequence[Reason] = ()
    notes: Sequence[Note] = ()
    policy: Answer | None = None
    error: Error | None = None


class Judged(NamedTuple):
    """All that is said of one file."""

    file: str
    sections: list[Section]

    @property
    def verdict(self) -> VerdictWord:
        """What the file counts as in the sweep: BLOCK before ERROR before PASS."""
        found = {section.verdict for section in self.sections}
        return "BLOCK" if "BLOCK" in found else "ERROR" if "ERROR" in found else "PASS"


def exit_code(judged: Sequence[Judged]) -> int:
    """The exit code of all files together: 1 where anything is held back, else 2 for an error, else 0."""
    codes = {section.exit for one in judged for section in one.sections}
    return next((code for code in (BLOCK_EXIT, ERROR_EXIT) if code in codes), PASS_EXIT)


def report(judged: Sequence[Judged]) -> str:
    """The reports of the files, the same alone as among others; of several the last line is the sweep's."""
    reports = "\n".join(map(report_of, judged))
    return f"{reports}\n{sweep(judged)}\n" if len(judged) > 1 else reports


def report_of(one: Judged) -> str:
    """The report of one file, in lines; the last is the SHA-256 of the UTF-8 bytes above it."""
    lines: list[str] = []
    for section in one.sections:
        lines += [visible(line) for line in _section(one.file, section)]
        lines.append("")
    body = "".join(f"{line}\n" for line in lines)
    return f"{body}{sha256(body.encode()).hexdigest()}\n"


def sweep(judged: Sequence[Judged]) -> str:
    """The line about all files: each counts once."""
    counts = Counter(one.verdict for one in judged)
    told = ", ".join(f"{counts[word]} {word}" for word in _WORDS)
    return f"{told} -> overall exit {exit_code(judged)}"


def document(judged: Sequence[Judged]) -> str:
    """The report as one JSON document: `{"results": [...], "exit"}`, numbers exact."""
    results = [_result(one.file, section) for one in judged for section in one.sections]
    return _HIDDEN.sub(_escape_in_json, normal({"results": results, "exit": exit_code(judged)}))


def visible(text: str) -> str:
    """The text on one line, with every character that a terminal would obey or hide written out."""
    return text if text.isascii() and text.isprintable() else _HIDDEN.sub(_escape, text)


# ---- in lines


def _section(file: str, section: Section) -> Iterator[str]:
    name = [] if section.name is None else [section.name]
    place = [] if section.place is None else ["action {} of {}".format(*section.place)]
    yield ": ".join([file, ", ".join(name + place)]) if name or place else file
    if section.tools is not None:
        yield _line("action", _BLIND)
    elif section.action is not None:
        yield _line("action", _action(section.action))
    if section.compaction is not None:
        yield _line("compaction", _compaction(section.compaction))
    if section.tools is not None:
        yield _line("tools", ", ".join(section.tools))
    yield _line("verdict", f"{section.verdict}{_headline(section)} exit {section.exit}")
    if section.error is not None:
        yield _line("reason", f"{section.error.code}: {section.error.detail}")
    for reason in section.reasons:
        yield _line("reason", f"{reason.code}: {reason.detail}{_again(reason)}")
    for note in section.notes:
        yield _line("note", f"{note.code}: {note.detail}")
    if section.policy is not None:
        yield _line("policy", _policy(section.policy))


def _line(label: str, text: str) -> str:
    return f"    {label:<10}: {text}"


def _action(action: Action) -> str:
    params = normal(action.params)
    if len(params) > _LONGEST_ACTION:
        params = f"{params[:_LONGEST_ACTION]}… ({len(params)} characters)"
    return f"{action.tool} {params}"


def _compaction(compaction: Compaction) -> str:
    counts = f"{compaction.records} records, {len(compaction.kept)} kept, {compaction.dropped} dropped"
    unseen = f", {compaction.unseen} never delivered" if compaction.unseen else ""
    k = "" if compaction.k is None else f", k={compaction.k}"
    scheme = f"retention={compaction.retention}{k}, kept-sha256={compaction.fingerprint}"
    return f"{counts}{unseen} ({scheme})"


def _headline(section: Section) -> str:
    if section.error is not None:
        return f" ({section.error.code})"
    if section.tools is not None:
        return " (action-blind)"
    if section.reasons:
        return f" ({section.reasons[0].code})"
    if section.policy is not None and section.exit != PASS_EXIT:
        return f" (enforced: {section.policy.answer})"
    return ""


def _again(reason: Reason) -> str:
    again = [*reason.reread, *reason.keys]
    return f"; to lift it, read again {', '.join(again)}" if again else ""


def _policy(policy: Answer) -> str:
    return f"{policy.answer} ({', '.join(policy.rules)})" if policy.rules else policy.answer


# ---- as JSON


def _result(file: str, section: Section) -> dict[str, Any]:
    action, policy = section.action, section.policy
    reasons = section.reasons if section.error is None else (section.error,)
    result: dict[str, Any] = {
        "file": file,
        "action": None if action is None else action._asdict(),
        "verdict": section.verdict,
        "exit": section.exit,
        "reasons": to_builtins(reasons),
        "notes": to_builtins(section.notes),
        "policy": None if policy is None else policy.answer,
    }
    if policy is not None:
        result["policy_rules"] = policy.rules
    if action is not None:
        result["action_digest"] = action.digest
    if section.compaction is not None:
        result["compaction"] = _compaction_json(section.compaction)
    if section.name is not None:
        result["name"] = section.name
    if section.tools is not None:
        result["tools"] = section.tools
    return result


def _compaction_json(compaction: Compaction) -> dict[str, Any]:
    return {
        "records": compaction.records,
        "kept": len(compaction.kept),
        "dropped": compaction.dropped,
        "unseen": compaction.unseen,
        "retention": compaction.retention,
        "k": compaction.k,
        "kept_sha256": compaction.fingerprint,
    }


# ---- characters


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return _NAMED.get(found[0]) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )


def _escape_in_json(found: re.Match[str]) -> str:
    # Control characters are escapes already; beyond the basic plane JSON writes two.
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
