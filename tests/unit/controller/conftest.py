"""What the tests of whole controllers share."""

import pytest
from controller_machines import Machines


@pytest.fixture
def machines(tmp_path) -> Machines:
    return Machines(tmp_path / "store")
