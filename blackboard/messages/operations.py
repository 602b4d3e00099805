"""OPERATIONS: every operation is one row, and everything that is told about it is read from here.

HTTP routes, OpenAPI, the reference page, the client's transports and the docs are made from these rows.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from blackboard.messages import commands as ask
from blackboard.messages import replies as say
from blackboard.messages import verdicts
from blackboard.messages.principal import Role

Method = Literal["GET", "POST", "PUT", "DELETE"]
ANY: tuple[Role, ...] = ("agent", "auditor", "operator")
AGENT: tuple[Role, ...] = ("agent",)
OPERATOR: tuple[Role, ...] = ("operator",)
READER: tuple[Role, ...] = ("auditor", "operator")


class Operation(Struct, frozen=True, kw_only=True):
    """One operation.

    Members of `message` named in `path` come from there; those of a GET come from the query string;
    the rest is the JSON body. `appends`: an `Idempotency-Key` counts. `example` is a body (or the query
    of a GET) that is valid as it stands. `stream`: the reply is a feed of `reply`.
    """

    name: str
    message: type[ask.Message]
    reply: type[Struct]
    method: Method
    path: str
    roles: tuple[Role, ...]
    summary: str
    example: dict[str, Any]
    appends: bool = False
    stream: bool = False


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="open_board",
        message=ask.OpenBoard,
        reply=say.BoardReply,
        method="PUT",
        path="/v1/boards/{board}",
        roles=OPERATOR,
        summary="Open a board, with a policy where it is not to be the default.",
        example={"policy": {"demotion": "read-only"}},
        appends=True,
    ),
    Operation(
        name="list_boards",
        message=ask.ListBoards,
        reply=say.BoardsReply,
        method="GET",
        path="/v1/boards",
        roles=ANY,
        summary="List the boards that the caller reaches.",
        example={},
    ),
    Operation(
        name="get_board",
        message=ask.GetBoard,
        reply=say.BoardReply,
        method="GET",
        path="/v1/boards/{board}",
        roles=ANY,
        summary="Show a board: policy, mode, format, guarantee, head.",
        example={},
    ),
    Operation(
        name="get_policy",
        message=ask.GetBoard,
        reply=say.BoardReply,
        method="GET",
        path="/v1/boards/{board}/policy",
        roles=ANY,
        summary="Show a board's policy and which legs of the guarantee it switches off.",
        example={},
    ),
    Operation(
        name="set_policy",
        message=ask.SetPolicy,
        reply=say.Done,
        method="PUT",
        path="/v1/boards/{board}/policy",
        roles=OPERATOR,
        summary="Change the policy; members left out keep their value.",
        example={"policy": {"completion_window": 4}},
        appends=True,
    ),
    Operation(
        name="set_mode",
        message=ask.SetMode,
        reply=say.Done,
        method="PUT",
        path="/v1/boards/{board}/mode",
        roles=OPERATOR,
        summary="Enter or leave single-writer mode, or hand the pen to another coordinator.",
        example={"mode": "single-writer", "coordinator": "planner"},
        appends=True,
    ),
    Operation(
        name="raise_format",
        message=ask.RaiseFormat,
        reply=say.Done,
        method="PUT",
        path="/v1/boards/{board}/format",
        roles=OPERATOR,
        summary="Raise the board's format once every server can read the new one.",
        example={"format": 3},
        appends=True,
    ),
    Operation(
        name="join",
        message=ask.JoinAgent,
        reply=say.Done,
        method="PUT",
        path="/v1/boards/{board}/agents/{agent}",
        roles=OPERATOR,
        summary="Name an agent and the key prefix that bounds its full re-read.",
        example={"prefix": "task/"},
        appends=True,
    ),
    Operation(
        name="write",
        message=ask.WriteBatch,
        reply=say.Ack,
        method="POST",
        path="/v1/boards/{board}/writes",
        roles=AGENT,
        summary="Write a batch: all of it is accepted, or none.",
        example={"writes": [{"key": "task/B", "revision": 3, "value": {"status": "failed"}}], "turn": 7},
        appends=True,
    ),
    Operation(
        name="read",
        message=ask.Read,
        reply=say.ReadReply,
        method="POST",
        path="/v1/boards/{board}/reads",
        roles=AGENT,
        summary="Read keys, records, or everything page by page; the read is recorded.",
        example={"keys": ["task/A", "task/B"]},
    ),
    Operation(
        name="read_entry",
        message=ask.ReadEntry,
        reply=say.EntryReply,
        method="GET",
        path="/v1/boards/{board}/entries/{key}",
        roles=AGENT,
        summary="Read one entry; the read is recorded.",
        example={},
    ),
    Operation(
        name="compacted",
        message=ask.Compact,
        reply=say.CompactReply,
        method="POST",
        path="/v1/boards/{board}/compactions",
        roles=("agent", "operator"),
        summary="Report a compaction, one's own or (with the grant) a peer's.",
        example={"cause": "summary", "kept": None},
        appends=True,
    ),
    Operation(
        name="say",
        message=ask.Say,
        reply=say.SayReply,
        method="POST",
        path="/v1/boards/{board}/messages",
        roles=AGENT,
        summary="Post a message; the identifiers that it cites are found by the server.",
        example={"text": "B failed, retry pending, see entry:41"},
        appends=True,
    ),
    Operation(
        name="end_turn",
        message=ask.EndTurn,
        reply=say.Done,
        method="POST",
        path="/v1/boards/{board}/turns",
        roles=AGENT,
        summary="End the agent's turn.",
        example={"turn": 7},
        appends=True,
    ),
    Operation(
        name="propose",
        message=ask.Propose,
        reply=say.ProposeReply,
        method="POST",
        path="/v1/boards/{board}/proposals",
        roles=AGENT,
        summary="Propose writes to the coordinator.",
        example={
            "writes": [{"key": "task/B", "revision": 3, "value": "retry"}],
            "reason": "the network is back",
        },
        appends=True,
    ),
    Operation(
        name="proposals",
        message=ask.ReadProposals,
        reply=say.ProposalsReply,
        method="GET",
        path="/v1/boards/{board}/proposals",
        roles=ANY,
        summary="Read the open proposals; for an agent the read is recorded.",
        example={},
    ),
    Operation(
        name="accept",
        message=ask.AcceptProposal,
        reply=say.Ack,
        method="POST",
        path="/v1/boards/{board}/proposals/{proposal}/accept",
        roles=AGENT,
        summary="Accept a proposal as the coordinator's own write.",
        example={"restate": False},
        appends=True,
    ),
    Operation(
        name="refuse",
        message=ask.RefuseProposal,
        reply=say.Done,
        method="POST",
        path="/v1/boards/{board}/proposals/{proposal}/refuse",
        roles=AGENT,
        summary="Refuse a proposal, with a reason.",
        example={"reason": "nobody has answered yet"},
        appends=True,
    ),
    Operation(
        name="add_record",
        message=ask.AddRecord,
        reply=verdicts.RecordReply,
        method="POST",
        path="/v1/boards/{board}/records",
        roles=("agent", "operator"),
        summary="Add a policy, fact, approval or chatter; who may add what stands in the grants.",
        example={
            "record": {
                "kind": "policy",
                "scope": "refunds.create",
                "predicate": {"field": "amount", "op": "gt", "value": 5000},
                "effect": "deny",
            }
        },
        appends=True,
    ),
    Operation(
        name="check",
        message=ask.Check,
        reply=verdicts.CheckReply,
        method="POST",
        path="/v1/boards/{board}/checks",
        roles=AGENT,
        summary="Check an action: does a record that the agent lacks bind it? The verdict is recorded.",
        example={"tool": "refunds.create", "params": {"amount": 8400}},
    ),
    Operation(
        name="certificate",
        message=ask.IssueCertificate,
        reply=verdicts.CertificateReply,
        method="POST",
        path="/v1/boards/{board}/certificates",
        roles=AGENT,
        summary="Certify which calls of a tool nothing lost would bind; signed, checked offline.",
        example={"tool": "refunds.create"},
        appends=True,
    ),
    Operation(
        name="certificate_valid",
        message=ask.CertificateValid,
        reply=verdicts.CertificateValidReply,
        method="GET",
        path="/v1/boards/{board}/certificates/{certificate}/valid",
        roles=ANY,
        summary="Whether a certificate still speaks for what its agent holds.",
        example={},
    ),
    Operation(
        name="keep",
        message=ask.Keep,
        reply=verdicts.KeepReply,
        method="POST",
        path="/v1/boards/{board}/keep",
        roles=ANY,
        summary="What to keep in a compaction, so that these tools stay safe; nothing is recorded.",
        example={"tools": ["refunds.create"], "kept": []},
    ),
    Operation(
        name="signing_key",
        message=ask.GetSigningKey,
        reply=verdicts.SigningKeyReply,
        method="GET",
        path="/v1/signing-key",
        roles=ANY,
        summary="The public key with which this server's certificates are verified.",
        example={},
    ),
    Operation(
        name="events",
        message=ask.GetEvents,
        reply=say.EventsReply,
        method="GET",
        path="/v1/boards/{board}/events",
        roles=ANY,
        summary="Read the log after a seq, filtered by kind, agent or key.",
        example={"after": 0, "limit": 100, "kind": "write.rejected"},
    ),
    Operation(
        name="follow",
        message=ask.Follow,
        reply=say.EventView,
        method="GET",
        path="/v1/boards/{board}/stream",
        roles=ANY,
        summary="Follow the log: what is there after a seq, then live.",
        example={"after": 0},
        stream=True,
    ),
    Operation(
        name="ledger",
        message=ask.GetLedger,
        reply=say.LedgerReply,
        method="GET",
        path="/v1/boards/{board}/ledger",
        roles=READER,
        summary="The ledger as of any seq; nothing is recorded.",
        example={"limit": 100},
    ),
    Operation(
        name="agents",
        message=ask.GetAgents,
        reply=say.AgentsReply,
        method="GET",
        path="/v1/boards/{board}/agents",
        roles=ANY,
        summary="Every agent: standing, counts, what its protection costs.",
        example={},
    ),
    Operation(
        name="show_agent",
        message=ask.GetAgent,
        reply=say.AgentReply,
        method="GET",
        path="/v1/boards/{board}/agents/{agent}",
        roles=ANY,
        summary="One agent's standing, view and baselines as of any seq (an agent: its own).",
        example={},
    ),
    Operation(
        name="create_token",
        message=ask.CreateToken,
        reply=say.TokenReply,
        method="POST",
        path="/v1/tokens",
        roles=OPERATOR,
        summary="Make a token; its secret is shown once.",
        example={"role": "agent", "name": "executor", "boards": ["release-*"], "days": 30},
    ),
    Operation(
        name="list_tokens",
        message=ask.ListTokens,
        reply=say.TokensReply,
        method="GET",
        path="/v1/tokens",
        roles=OPERATOR,
        summary="List the tokens, without their secrets.",
        example={},
    ),
    Operation(
        name="revoke_token",
        message=ask.RevokeToken,
        reply=say.TokenReply,
        method="DELETE",
        path="/v1/tokens/{id}",
        roles=OPERATOR,
        summary="Revoke a token; it ends at once.",
        example={},
    ),
)

BY_NAME: dict[str, Operation] = {row.name: row for row in OPERATIONS}
BY_MESSAGE: dict[type[ask.Message], Operation] = {row.message: row for row in reversed(OPERATIONS)}
"""The row of a message; where two routes share one message, the first."""
