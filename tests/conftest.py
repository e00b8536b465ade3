"""Lets the tests here say `from acting import agent`, and gives hypothesis the time that a busy machine needs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))
pytest.register_assert_rewrite("acting")
settings.register_profile("motet", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("motet")
