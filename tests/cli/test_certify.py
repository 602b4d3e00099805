"""`blackboard certify`: a certificate of a file or a board, and a call checked by it alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from blackboard.cli.app import run
from tests.cli.conftest import Ran

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "gate"
FX1 = str(FIXTURES / "fx1_refund_thread.json")
FX3 = str(FIXTURES / "fx3_genuinely_safe.json")
FX4 = str(FIXTURES / "fx4_rolling_summaries.json")
FX6 = str(FIXTURES / "fx6_stale_permit.json")
TOOL = "refunds.create"

Certify = Callable[..., Ran]


@pytest.fixture
def certify(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Certify:
    """Run the command in an empty directory: 0, 1 or 2, and never a traceback."""
    monkeypatch.chdir(tmp_path)

    def call(*argv: str, command: str = "certify") -> Ran:
        capsys.readouterr()
        code = run([command, *argv])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        assert code in (0, 1, 2)
        return Ran(code, said.out, said.err)

    return call


class Issued:
    """A certificate in a file, and the public key that was told with it."""

    def __init__(self, certify: Certify, file: str = FX1, *options: str) -> None:
        ran = certify(file, "--tool", TOOL, "--key", "signing.key", "--json", *options)
        assert ran.code == 0
        self.certify = certify
        self.document = ran.json
        self.key = ran.err.split()[-1]
        Path("certificate.json").write_text(ran.out, encoding="utf-8")

    def verify(self, *options: str, amount: Any = 120, tool: str = TOOL) -> Ran:
        action = json.dumps({"tool": tool, "params": {"amount": amount, "currency": "EUR"}})
        common = ("--verify", "certificate.json", "--action", action)
        return self.certify(*common, "--public-key", self.key, *options)


@pytest.fixture
def issued(certify: Certify) -> Issued:
    return Issued(certify)


# ---- issuing


def test_a_certificate_is_told_in_words(certify: Certify) -> None:
    ran = certify(FX1, "--tool", TOOL)
    assert ran.code == 0
    told = dict(line.split(": ", 1) for line in ran.lines)
    told = {word.strip(): text for word, text in told.items()}
    assert told["tool"] == TOOL
    fingerprint = certify(FX1, command="gate").out.partition("kept-sha256=")[2][:12]
    assert told["as of"].startswith(f"seq 52, held-sha256={fingerprint}")
    assert told["calls"] == "safe unless amount > 5000, or amount is missing or not a number"
    assert told["rule"] == "f_011 (require_approval) amount gt 5000"
    assert told["valid"] == "until what it rests on changes"
    assert "not signed" in ran.err


def test_a_file_that_lost_nothing_is_safe_for_every_call(certify: Certify) -> None:
    ran = certify(FX3, "--tool", TOOL)
    assert "calls       : safe for every call" in ran.lines


def test_a_file_that_lost_what_nobody_can_evaluate_is_safe_for_none(certify: Certify) -> None:
    assert "no call is safe" in certify(FX4, "--tool", TOOL).out


def test_the_signed_document_is_the_same_every_time(certify: Certify) -> None:
    one, other = Issued(certify), Issued(certify)
    assert one.document == other.document
    assert one.key == other.key
    assert Path("signing.key").stat().st_mode & 0o077 == 0


def test_a_key_that_others_can_read_is_refused(certify: Certify) -> None:
    Issued(certify)
    Path("signing.key").chmod(0o644)
    ran = certify(FX1, "--tool", TOOL, "--key", "signing.key")
    assert ran.code == 2
    assert "chmod 600" in ran.err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ((), "name the tool: --tool TOOL"),
        ((FX1,), "name the tool: --tool TOOL"),
        ((FX1, "--tool", "refunds.*"), "asterisk"),
        ((FX1, "--tool", "unknown.tool", "--head", "5"), "--head does not go with issuing"),
        ((FX1, "--tool", TOOL, "--turn", "1"), "--turn does not go with a file"),
        (("--tool", TOOL, "--key", "k"), "--key does not go with a board"),
        (("missing.json", "--tool", TOOL), "No such file"),
        ((str(FIXTURES / "fx5_malformed.json"), "--tool", TOOL), "fx5_malformed.json"),
        (("--verify", "c", "--tool", TOOL), "--tool does not go with --verify"),
        ((FX1, "--verify", "c"), "FILE is to issue one"),
        (("--verify", "c"), "name the public key"),
        (("--verify", "c", "--public-key", "k"), "--action or by --action-file"),
        (("--verify", "c", "--public-key", "k", "--action", "{}", "--action-file", "f"), "--action or by"),
        (("--verify", "-", "--public-key", "k", "--action-file", "-"), "can be read once"),
        (("--verify", "missing.json", "--public-key", "k", "--action", "{}"), "No such file"),
    ],
)
def test_wrong_usage_says_what_to_do(certify: Certify, argv: tuple[str, ...], said: str) -> None:
    ran = certify(*argv)
    assert ran.code == 2
    assert said in ran.err


# ---- checking


@pytest.mark.parametrize(("amount", "code"), [(120, 0), (4999, 0), (5000, 0), (5001, 1), (8400, 1)])
def test_the_published_rows_come_out_of_a_certificate_alone(issued: Issued, amount: int, code: int) -> None:
    ran = issued.verify(amount=amount)
    assert ran.code == code
    assert ran.lines[0] == ("PASS" if code == 0 else "BLOCK (dropped-binding-constraint)")


def test_a_blocked_call_names_what_to_read_again(issued: Issued) -> None:
    ran = issued.verify(amount=8400)
    assert ran.lines[1].startswith("reason: dropped-binding-constraint: policy 'f_011'")
    assert "records to read again: f_011" in ran.err


def test_a_stale_permit_is_found_without_the_records(certify: Certify) -> None:
    ran = Issued(certify, FX6).verify("--json", amount=4000)
    assert [reason["code"] for reason in ran.json["reasons"]] == ["dropped-superseder-stale-permit"]


def test_the_verdict_for_a_program_is_one_document(issued: Issued) -> None:
    assert issued.verify("--json").json == {"verdict": "PASS"}
    blocked = issued.verify("--json", amount=8400)
    assert (blocked.code, blocked.json["verdict"], blocked.json["reasons"][0]["id"]) == (1, "BLOCK", "f_011")
    failed = issued.verify("--json", tool="notes.append")
    assert (failed.code, failed.json["verdict"], failed.json["member"]) == (2, "ERROR", "/action/tool")


def test_what_cannot_be_judged_is_2(issued: Issued) -> None:
    ran = issued.verify(tool="notes.append")
    assert (ran.code, ran.lines[0]) == (2, "ERROR")
    assert ran.lines[1].startswith("error: the certificate is for 'refunds.create'")
    Path("certificate.json").write_text("{", encoding="utf-8")
    assert issued.verify().code == 2


def test_a_changed_certificate_is_refused(issued: Issued) -> None:
    issued.document["certificate"]["rows"] = []
    Path("certificate.json").write_text(json.dumps(issued.document), encoding="utf-8")
    ran = issued.verify(amount=8400)
    assert ran.code == 2
    assert "/signature" in ran.out


def test_an_unsigned_certificate_is_refused(certify: Certify, issued: Issued) -> None:
    unsigned = certify(FX1, "--tool", TOOL, "--json")
    Path("certificate.json").write_text(unsigned.out, encoding="utf-8")
    assert issued.verify().code == 2


def test_the_public_key_may_stand_in_a_file(issued: Issued) -> None:
    Path("public.key").write_text(f"{issued.key}\n", encoding="utf-8")
    issued.key = "public.key"
    assert issued.verify().code == 0
    issued.key = "nothing.key"
    assert issued.verify().code == 2


def test_the_call_may_stand_in_a_file_and_keeps_its_digits(issued: Issued) -> None:
    def checked(amount: str) -> int:
        Path("call.json").write_text(
            f'{{"tool": "{TOOL}", "params": {{"amount": {amount}}}}}', encoding="utf-8"
        )
        return certify(
            "--verify", "certificate.json", "--public-key", issued.key, "--action-file", "call.json"
        ).code

    certify = issued.certify
    assert checked("5000.0000000000000000001") == 1
    assert checked("5e3") == 0


def test_an_expired_certificate_or_that_of_another_agent_is_refused(certify: Certify, tmp_path: Path) -> None:
    rule = {"id": "p", "seq": 1, "kind": "policy", "scope": TOOL, "effect": "deny", "expires_seq": 9}
    records = [rule | {"predicate": {"field": "amount", "op": "gt", "value": 1}}]
    case = tmp_path / "case.json"
    case.write_text(json.dumps({"records": records, "kept": ["p"], "agent": "ann"}), encoding="utf-8")
    issued = Issued(certify, str(case))
    assert issued.verify("--head", "8", "--agent", "ann").code == 0
    assert issued.verify("--head", "9").code == 2
    assert issued.verify("--agent", "bob").code == 2
    assert issued.verify("--board", "desk").code == 2
    assert "or seq 9 is reached" in certify(str(case), "--tool", TOOL).out


# ---- of a board


def test_the_certificate_of_a_board_is_checked_without_it(certify: Certify) -> None:
    here = ("--db", "board.db", "--board", "desk")
    predicate = {"field": "amount", "op": "gt", "value": 5000}
    rule = {"id": "cap", "kind": "policy", "scope": TOOL, "effect": "deny", "predicate": predicate}
    assert certify("add", json.dumps(rule), *here, "--operator", "ops", command="record").code == 0
    told = certify("--tool", TOOL, *here, "--agent", "ann")
    assert told.code == 0
    assert told.lines[0].startswith("certificate : certificate:")
    assert "calls       : safe unless amount > 5000, or amount is missing or not a number" in told.lines
    reply = certify("--tool", TOOL, *here, "--agent", "ann", "--json")
    Path("certificate.json").write_text(reply.out, encoding="utf-8")
    key = told.err.split()[-1]
    action = json.dumps({"tool": TOOL, "params": {"amount": 8400}})
    ran = certify("--verify", "certificate.json", "--public-key", key, "--action", action, "--board", "desk")
    assert (ran.code, ran.lines[0]) == (1, "BLOCK (unseen-binding-constraint)")
