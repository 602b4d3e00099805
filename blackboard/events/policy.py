"""The policy of a board: one table, held whole in the log.

`Policy` is what the gates read; `PolicyPatch` is what people send: members left out keep their value.
Source: the policy table of the write gate's design.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from blackboard import canonical
from blackboard.errors import Malformed

Effect = Literal["off", "flag", "suspect"]
Revisions = Literal["advancing", "contiguous", "advisory"]
Demotion = Literal["revalidate", "read-only", "off"]
Completion = Literal["reread", "view", "off"]
OnUnnotifiable = Literal["single-writer", "none"]
Unseen = Literal["block", "note"]

MAX_WINDOW = 60
"""The longest window that a policy may ask for: what a board remembers per agent (one machine word)."""

FINISHED = (
    "complete",
    "completed",
    "done",
    "succeeded",
    "success",
    "passed",
    "closed",
    "resolved",
    "merged",
    "shipped",
)
UNFINISHED = (
    "pending",
    "failed",
    "failing",
    "error",
    "blocked",
    "retrying",
    "retry",
    "running",
    "in_progress",
    "started",
    "open",
    "todo",
    "queued",
    "waiting",
)


class SignalSetting(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """How one signal is weighed.

    `window` observations are remembered, at least `minimum` of them are needed, and `ratio` is the
    share compared with. A signal that has no use for a member ignores it.
    """

    effect: Effect
    window: int = 8
    minimum: int = 3
    ratio: float = 0.5


SIGNAL_DEFAULTS: dict[str, SignalSetting] = {
    "revision-break": SignalSetting("flag"),
    "write-breadth": SignalSetting("flag", window=8, minimum=3, ratio=0.5),
    "citation-decay": SignalSetting("suspect", window=8, minimum=4, ratio=0.5),
    "read-elision": SignalSetting("flag", window=8, minimum=3, ratio=0.5),
    "confidence-inflation": SignalSetting("flag"),
    "completion-over-open": SignalSetting("flag"),
    "invented-record": SignalSetting("flag"),
}


class Policy(Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """What the gates enforce on one board. Defaults are the full guarantee."""

    revisions: Revisions = "advancing"
    require_view: bool = True
    demotion: Demotion = "revalidate"
    completion: Completion = "reread"
    completion_window: int = 8
    status_pointer: str = "/status"
    covers_pointer: str = "/covers"
    finished: tuple[str, ...] = FINISHED
    unfinished: tuple[str, ...] = UNFINISHED
    signals: dict[str, SignalSetting] = msgspec.field(default_factory=SIGNAL_DEFAULTS.copy)
    broadcast: bool = True
    coordinator: str | None = None
    on_unnotifiable: OnUnnotifiable = "single-writer"
    unseen: Unseen = "block"

    def legs_off(self) -> list[str]:
        """The legs of the guarantee that this policy switches off, in words an operator can act on."""
        off = []
        if self.revisions == "advisory":
            off.append("revisions: advisory")
        if not self.require_view:
            off.append("require_view: false")
        if self.demotion == "off":
            off.append("demotion: off")
        if self.completion == "off":
            off.append("completion: off")
        # Without words on one side nothing is ever finished over something unfinished.
        off += [f"{name}: no words" for name in ("finished", "unfinished") if not getattr(self, name)]
        if not self.broadcast:
            off.append("broadcast: false")
        if self.unseen == "note":
            off.append("unseen: note")
        return off


class SignalPatch(Struct, frozen=True, forbid_unknown_fields=True):
    """A signal's setting as people send it: what is left out keeps its value."""

    effect: Effect | UnsetType = UNSET
    window: Annotated[int, Meta(ge=1, le=MAX_WINDOW)] | UnsetType = UNSET
    minimum: Annotated[int, Meta(ge=1, le=MAX_WINDOW)] | UnsetType = UNSET
    ratio: Annotated[float, Meta(gt=0, le=1)] | UnsetType = UNSET


Word = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"[^\W_]")]
"""A status word, which has a letter or digit: another would match nothing."""
Words = Annotated[tuple[Word, ...], Meta(max_length=256)]
Pointer = Annotated[str, Meta(pattern="^(/([^~/]|~0|~1)*)*$", max_length=256)]


class PolicyPatch(Struct, frozen=True, forbid_unknown_fields=True):
    """A policy as people send it: members left out keep their value, unknown ones are refused."""

    revisions: Revisions | UnsetType = UNSET
    require_view: bool | UnsetType = UNSET
    demotion: Demotion | UnsetType = UNSET
    completion: Completion | UnsetType = UNSET
    completion_window: Annotated[int, Meta(ge=1, le=MAX_WINDOW)] | UnsetType = UNSET
    status_pointer: Pointer | UnsetType = UNSET
    covers_pointer: Pointer | UnsetType = UNSET
    finished: Words | UnsetType = UNSET
    unfinished: Words | UnsetType = UNSET
    signals: dict[str, Effect | SignalPatch] | UnsetType = UNSET
    broadcast: bool | UnsetType = UNSET
    coordinator: Annotated[str, Meta(min_length=1, max_length=128)] | None | UnsetType = UNSET
    on_unnotifiable: OnUnnotifiable | UnsetType = UNSET
    unseen: Unseen | UnsetType = UNSET


def merge(policy: Policy, patch: PolicyPatch) -> Policy:
    """Lay `patch` over `policy`.

    A signal's minimum follows its window down where only the window is given. Raises `Malformed` for a signal
    that does not exist, or one that could never be raised.
    """
    members = {
        name: value for name in patch.__struct_fields__ if (value := getattr(patch, name)) is not UNSET
    }
    if "signals" in members:
        members["signals"] = _merge_signals(policy.signals, members["signals"])
    return msgspec.structs.replace(policy, **members)


def _merge_signals(
    settings: dict[str, SignalSetting], patches: dict[str, Effect | SignalPatch]
) -> dict[str, SignalSetting]:
    merged = dict(settings)
    for name, patch in patches.items():
        if name not in merged:
            known = ", ".join(sorted(merged))
            raise Malformed(
                f"there is no signal {name!r}; the signals are {known}", member=_member(name), value=name
            )
        merged[name] = _merge_signal(name, merged[name], patch)
    return merged


def _merge_signal(name: str, setting: SignalSetting, patch: Effect | SignalPatch) -> SignalSetting:
    if isinstance(patch, str):
        return msgspec.structs.replace(setting, effect=patch)
    given = {part: value for part in patch.__struct_fields__ if (value := getattr(patch, part)) is not UNSET}
    merged = msgspec.structs.replace(setting, **given)
    if merged.minimum > merged.window:
        if patch.minimum is UNSET:
            return msgspec.structs.replace(merged, minimum=merged.window)
        raise Malformed(
            f"signal {name!r} would need {merged.minimum} observations and remember {merged.window}: it "
            "could never be raised; set its effect to off, or window >= minimum",
            member=_member(name, "minimum"),
            limit=merged.window,
            value=merged.minimum,
        )
    return merged


def _member(*place: str) -> str:
    return canonical.pointer(["policy", "signals", *place])
