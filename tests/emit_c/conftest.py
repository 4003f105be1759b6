"""What several tests of compiled code are given."""

import pytest

from emit_c.executable import calling
from emit_c.executable import runtime as runtimes


@pytest.fixture(params=["trampoline", "ctypes"])
def way(request, monkeypatch):
    """Both ways into C."""
    found = runtimes.runtime()
    if request.param == "ctypes":
        without = runtimes.Runtime(found.threads, None)
        monkeypatch.setattr(calling, "runtime", lambda: without)
    elif found.trampoline is None:
        pytest.skip("Python.h is missing")
    return request.param
