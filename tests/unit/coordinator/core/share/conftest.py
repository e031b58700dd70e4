"""What the tests of share groups share."""

import pytest
from share_course import ShareCourse


@pytest.fixture
def course() -> ShareCourse:
    return ShareCourse()
