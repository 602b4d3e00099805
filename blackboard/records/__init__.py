"""What can bind an action: the kinds of records."""

from blackboard.records.kinds import RECORD_KINDS, Approval, Chatter, Fact, PolicyRecord, Record

__all__ = ["RECORD_KINDS", "Approval", "Chatter", "Fact", "PolicyRecord", "Record"]
