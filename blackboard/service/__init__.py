"""One path for every command: take what is pending, decide, evolve, append once, reply; and the live feed."""

from blackboard.service.feed import CaughtUp
from blackboard.service.metrics import Histogram, Metrics
from blackboard.service.queries import event_view
from blackboard.service.service import NO_CALL, Service, limits_of

__all__ = ["NO_CALL", "CaughtUp", "Histogram", "Metrics", "Service", "event_view", "limits_of"]
