"""What all boards of one service share."""

from __future__ import annotations

from dataclasses import dataclass

from blackboard.config import Settings
from blackboard.service.effects import Clock, Ids, Salts
from blackboard.service.metrics import Metrics
from blackboard.service.signing import Signer
from blackboard.store.contract import Store


@dataclass(frozen=True, slots=True)
class Context:
    """Store, settings and effects. `shared`: other processes append to the same database."""

    store: Store
    settings: Settings
    metrics: Metrics
    signer: Signer
    clock: Clock
    salts: Salts
    ids: Ids
    auto_open: bool
    shared: bool
