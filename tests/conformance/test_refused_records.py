"""What a producer is told of records that its topic does not take, or has already: our answers and Apache Kafka's, words included."""

import re
import time
import uuid
from typing import Any

import pytest
import servers
from kafka_broker import KafkaBroker
from wire_client import WireClient

from millstream_wire.records import Record, TimestampType, encode_batch

TOPICS = {
    "plain": {},
    "compacted": {"cleanup_policy": "compact"},
    "stamped": {"message_timestamp_type": "LogAppendTime"},
    "recent": {"message_timestamp_before_max_ms": "1000"},
}
FAR_FUTURE = 10**13


def _batch(*timestamps: int, keys: bool = True, timestamp_type: TimestampType = TimestampType.CREATE_TIME) -> bytes:
    key = b"k" if keys else None
    records = [Record(offset=0, timestamp=each, key=key, value=b"v") for each in timestamps]
    return encode_batch(records, timestamp_type=timestamp_type)


BATCHES = {
    "fine": _batch(1000, 1001),
    "one without a key": _batch(1000, keys=False),
    "four without keys": _batch(1000, 1001, 1002, 1003, keys=False),
    "two of the far future": _batch(FAR_FUTURE, FAR_FUTURE + 1),
    "says that it was stamped": _batch(1000, 1000, timestamp_type=TimestampType.LOG_APPEND_TIME),
}


class Producing:
    """One server with a topic of each kind."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.names = {kind: f"{kind}-{uuid.uuid4().hex[:10]}" for kind in TOPICS}
        with WireClient(bootstrap) as client:
            for kind, name in self.names.items():
                client.create_topic(name, **TOPICS[kind])
                servers.eventually(lambda name=name: self._is_led(client, name))

    @staticmethod
    def _is_led(client: WireClient, name: str) -> None:
        assert client.offset_at(name, -1) == 0

    def answer(self, kind: str, batch: bytes) -> Any:
        with WireClient(self.bootstrap) as client:
            answer = client.produce(self.names[kind], batch)
        told = [(each.batch_index, self._plain(each.batch_index_error_message)) for each in answer.record_errors]
        return answer.error_code, told, self._plain(answer.error_message)

    def times(self, kind: str, batch: bytes) -> tuple[int, bool, int | None]:
        """The error, whether there is an append time, and which if it is not the server's."""
        with WireClient(self.bootstrap) as client:
            answer = client.produce(self.names[kind], batch)
        stamped = answer.log_append_time_ms
        return answer.error_code, stamped >= 0, None if kind == "stamped" else stamped

    def _plain(self, text: str | None) -> str | None:
        """Without the name, the clock and what Kafka says of the record itself."""
        for kind, name in self.names.items():
            text = text and text.replace(name, kind)
        text = text and re.sub(r"\[-?\d+, \d+\]", "[earliest, latest]", text)
        return text and re.sub(r" DefaultRecord\(.*?\)", "", text)


@pytest.fixture(scope="module")
def ours(node: servers.ServerProcess) -> Producing:
    return Producing(node.bootstrap)


@pytest.fixture(scope="module")
def theirs(kafka: KafkaBroker) -> Producing:
    return Producing(kafka.bootstrap)


@pytest.mark.parametrize("kind", TOPICS)
@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
def test_kafka_answers_the_same(ours: Producing, theirs: Producing, kind: str, batch: bytes) -> None:
    assert ours.answer(kind, batch) == theirs.answer(kind, batch)


@pytest.mark.parametrize("kind", TOPICS)
def test_a_batch_that_comes_again_is_answered_the_same(ours: Producing, theirs: Producing, kind: str) -> None:
    now_ms = int(time.time() * 1000)
    records = [Record(offset=0, timestamp=now_ms + each, key=b"k", value=b"v") for each in (0, 7)]
    batch = encode_batch(records, producer_id=1 << 40, producer_epoch=0, base_sequence=0)
    told = [[side.times(kind, batch) for _ in range(2)] for side in (ours, theirs)]
    assert told[0] == told[1]
