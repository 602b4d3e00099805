"""What every test shares: no setting of the machine reaches it, and Hypothesis knows no clock."""

import itertools
import os

import pytest
from hypothesis import HealthCheck, settings

from tests.client.fixtures import any_server, database, live_server, place, postgres_database, postgres_server
from tests.postgres.cluster import postgres_databases, postgres_url

__all__ = [
    "any_server",
    "database",
    "live_server",
    "no_settings_from_outside",
    "place",
    "postgres_database",
    "postgres_databases",
    "postgres_server",
    "postgres_url",
]

settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("deep", settings.get_profile("suite"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

_numbers = itertools.count()


@pytest.fixture(autouse=True)
def no_settings_from_outside(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Each test has its own, empty state directory and none of the caller's BLACKBOARD_* variables."""
    for name in list(os.environ):
        if name.startswith("BLACKBOARD_"):
            monkeypatch.delenv(name)
    state = tmp_path_factory.getbasetemp() / f"state-{next(_numbers)}"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    monkeypatch.setenv("NO_COLOR", "1")
