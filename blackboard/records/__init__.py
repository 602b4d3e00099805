"""What can bind an action: records, their predicates, and who holds them."""

from blackboard.records.holding import Holding
from blackboard.records.index import Records, Rule
from blackboard.records.kinds import (
    EVALUABLE,
    NEWEST,
    RECORD_KINDS,
    AnyRecord,
    Approval,
    Chatter,
    Fact,
    PolicyRecord,
    Record,
    Unevaluable,
)
from blackboard.records.reading import read_record, record_bytes, record_json

__all__ = [
    "EVALUABLE",
    "NEWEST",
    "RECORD_KINDS",
    "AnyRecord",
    "Approval",
    "Chatter",
    "Fact",
    "Holding",
    "PolicyRecord",
    "Record",
    "Records",
    "Rule",
    "Unevaluable",
    "read_record",
    "record_bytes",
    "record_json",
]
