"""What is told where nobody answers."""

import pytest

from millstream_spark.errors import TopicUnavailable
from millstream_spark.topic import describe_topic


def test_nobody_who_answers_is_one_error_and_no_lines(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(TopicUnavailable, match="orders at 127"):
        describe_topic("127.0.0.1:1", "orders", timeout_s=1)
    assert "127.0.0.1:1/" not in capfd.readouterr().err
