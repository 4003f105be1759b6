"""The garbage collector is as it was before, whatever happens meanwhile."""

import gc
from contextlib import nullcontext

import pytest

from hlo.garbage import no_collection


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_collector_is_left_as_it_was(enabled, fails):
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        around = pytest.raises(ValueError, match="meanwhile") if fails else nullcontext()
        with around, no_collection():
            assert not gc.isenabled()
            if fails:
                raise ValueError("meanwhile")
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()
