"""These tests need packages that nothing else does; `make test-ecosystem` installs them (extra `ecosystem`)."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/ecosystem" in str(item.path).replace("\\", "/"):
            item.add_marker(pytest.mark.ecosystem)
            item.add_marker(pytest.mark.filterwarnings("default"))  # of packages that are not ours
