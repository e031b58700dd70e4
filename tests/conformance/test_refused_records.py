"""What a producer is told of records that its topic does not take: our answers and Apache Kafka's, words included."""

import re
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
    records = [Record(offset=0, timestamp=each, key=key, value=b"v", headers=[]) for each in timestamps]
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
