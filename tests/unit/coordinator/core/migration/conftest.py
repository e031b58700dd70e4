"""What the tests of consumer groups share."""

import pytest
from consumer_course import Course


@pytest.fixture
def course() -> Course:
    return Course()
