"""What is waited for of a coordinator, and for how long."""

import threading

import pytest
from confluent_kafka import KafkaError, KafkaException

from millstream_spark.coordinator import give_up_on


def test_a_call_that_never_returns_is_given_up() -> None:
    forever = threading.Event()
    try:
        with pytest.raises(KafkaException, match="no coordinator") as raised:
            give_up_on(forever.wait, timeout_s=0.05)
    finally:
        forever.set()
    assert raised.value.args[0].code() == KafkaError._TIMED_OUT


def test_what_the_call_comes_to_is_told() -> None:
    told: list[int] = []
    give_up_on(lambda: told.append(1), timeout_s=60)
    assert told == [1]

    def fail() -> None:
        raise KafkaException(KafkaError(KafkaError._FENCED))

    with pytest.raises(KafkaException) as raised:
        give_up_on(fail, timeout_s=60)
    assert raised.value.args[0].code() == KafkaError._FENCED
