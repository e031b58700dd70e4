"""Reads of what is not there, of other epochs and of empty logs: our answers and Apache Kafka's, field by field.

Each case is a course of requests to a server that has the same records; answers are compared after what only one server can
know is taken out of them.
"""

import dataclasses
import uuid
from collections.abc import Callable
from typing import Any

import pytest
import servers
from ask import ask
from kafka_broker import KafkaBroker
from wire_client import MIB, WireClient

from millstream_wire import messages as m
from millstream_wire.messages import delete_records as deleted
from millstream_wire.messages import describe_producers as producers
from millstream_wire.messages import fetch
from millstream_wire.messages import list_offsets as listed
from millstream_wire.messages import offset_for_leader_epoch as epochs
from millstream_wire.records import Record, encode_batch

FULL, EMPTY, MISSING = (f"{kind}-{uuid.uuid4().hex[:10]}" for kind in ("full", "empty", "missing"))
LATEST, EARLIEST = -1, -2
BY_NAME = 12
"""The last version of Fetch with names."""


class Reading:
    """One server with four records in a topic and none in another; it notes what it is told."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.transcript: list[Any] = []
        self.session_id = 0
        with WireClient(bootstrap) as client:
            for topic in (FULL, EMPTY):
                client.create_topic(topic, partitions=2)
                servers.eventually(lambda topic=topic: _is_led(bootstrap, topic))
            records = [Record(offset=0, timestamp=each, key=b"k", value=b"v") for each in (5, 6, 7, 8)]
            assert client.produce(FULL, encode_batch(records)).error_code == 0

    def ask(self, request: Any, *versions: int) -> Any:
        answer = None
        for version in versions or range(request.versions[0], request.versions[1] + 1):
            (answer,) = ask(self.bootstrap, request, version=version)
            self.transcript.append((version, _plain(answer)))
        return answer

    def fetch(
        self, *partitions: fetch.FetchPartition, topic: str = FULL, session_epoch: int = -1, committed: bool = False
    ) -> None:
        request = m.FetchRequest(
            max_bytes=MIB,
            isolation_level=int(committed),
            session_id=self.session_id if session_epoch else 0,
            session_epoch=session_epoch,
            topics=[fetch.FetchTopic(topic=topic, partitions=list(partitions))] if partitions else [],
        )
        answer = self.ask(request, BY_NAME)
        self.session_id = answer.session_id


def _is_led(bootstrap: str, topic: str) -> None:
    (answer,) = ask(bootstrap, _offsets(topic, LATEST), version=5)
    assert answer.topics[0].partitions[0].error_code == 0


def _plain(value: Any) -> Any:
    """Ids of sessions are whether there is one, records are how many bytes."""
    if dataclasses.is_dataclass(value):
        fields = {each.name: _plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
        return {name: bool(what) if name == "session_id" else what for name, what in fields.items()}
    if isinstance(value, list):
        return sorted((_plain(each) for each in value), key=repr)  # Kafka's order is a hash map's
    return len(value) if isinstance(value, memoryview) else value


def _offsets(topic: str, timestamp: int, *indexes: int, epoch: int = -1) -> m.ListOffsetsRequest:
    asked = [
        listed.ListOffsetsPartition(partition_index=index, timestamp=timestamp, current_leader_epoch=epoch)
        for index in indexes or (0,)
    ]
    return m.ListOffsetsRequest(replica_id=-1, topics=[listed.ListOffsetsTopic(name=topic, partitions=asked)])


def _from(offset: int, index: int = 0, **said: int) -> fetch.FetchPartition:
    return fetch.FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=MIB, **said)


def offsets_of_an_empty_log(reading: Reading) -> None:
    for timestamp in range(-7, 2):
        reading.ask(_offsets(EMPTY, timestamp))


def offsets_for_another_epoch(reading: Reading) -> None:
    for epoch in (-2, 0, 1):
        for timestamp in (LATEST, EARLIEST, 6):
            reading.ask(_offsets(FULL, timestamp, epoch=epoch))


def offsets_asked_for_twice(reading: Reading) -> None:
    for request in (_offsets(FULL, LATEST, 0, 0), _offsets(FULL, LATEST, 0, 1, 0)):
        reading.ask(request)
        request.topics *= 2
        reading.ask(request)
    reading.ask(m.ListOffsetsRequest(replica_id=-1, topics=[listed.ListOffsetsTopic(name=FULL)]))


def ends_of_epochs(reading: Reading) -> None:
    for topic in (FULL, EMPTY, MISSING):
        for current in (-2, -1, 0, 1):
            for epoch in (-2, -1, 0, 1):
                asked = epochs.OffsetForLeaderPartition(current_leader_epoch=current, leader_epoch=epoch)
                wanted = epochs.OffsetForLeaderTopic(topic=topic, partitions=[asked])
                reading.ask(m.OffsetForLeaderEpochRequest(replica_id=-1, topics=[wanted]))


def fetches_for_another_epoch(reading: Reading) -> None:
    for epoch in (-2, 0, 1):
        reading.fetch(_from(0, current_leader_epoch=epoch))


def fetches_behind_another_epoch(reading: Reading) -> None:
    """A reader that has a record of that epoch before its offset."""
    for epoch in (-2, -1, 0, 1, 5):
        for offset in (0, 2, 4, 9):
            reading.fetch(_from(offset, last_fetched_epoch=epoch))
    reading.fetch(_from(9, last_fetched_epoch=0), session_epoch=0)
    reading.fetch(session_epoch=1)
    reading.fetch(_from(4, last_fetched_epoch=0), session_epoch=2)
    reading.fetch(session_epoch=3)


def fetches_of_what_is_not_there(reading: Reading) -> None:
    reading.fetch(_from(0, index=9))
    reading.fetch(_from(0), topic=MISSING)
    reading.fetch(_from(9))
    reading.fetch(_from(-2))


def fetches_of_committed_records_that_cannot_be(reading: Reading) -> None:
    for partition in (_from(0, index=9), _from(9), _from(-2), _from(0, current_leader_epoch=5)):
        reading.fetch(partition, committed=True)
    for offset in (0, 2, 4):
        for epoch in (0, 5):
            reading.fetch(_from(offset, last_fetched_epoch=epoch), committed=True)
    reading.fetch(_from(0), topic=MISSING, committed=True)


def a_session_that_begins_with_nothing(reading: Reading) -> None:
    reading.fetch(session_epoch=0)
    reading.fetch(_from(0), session_epoch=1)
    reading.fetch(session_epoch=2)
    reading.fetch(session_epoch=-1)


def a_session_that_ends_with_what_it_asks_for(reading: Reading) -> None:
    for offset in (0, 9):
        reading.fetch(_from(0), session_epoch=0)
        reading.ask(
            m.FetchRequest(
                max_bytes=MIB,
                session_id=reading.session_id,
                session_epoch=1,
                topics=[fetch.FetchTopic(topic=FULL, partitions=[_from(offset)])],
                forgotten_topics_data=[fetch.ForgottenTopic(topic=FULL, partitions=[0])],
            ),
            BY_NAME,
        )


def records_deleted_twice(reading: Reading) -> None:
    for offset in (1, 9, -2):
        partition = deleted.DeleteRecordsPartition(partition_index=0, offset=offset)
        wanted = deleted.DeleteRecordsTopic(name=FULL, partitions=[partition, partition])
        reading.ask(m.DeleteRecordsRequest(topics=[wanted, wanted], timeout_ms=5_000))
    reading.ask(m.DeleteRecordsRequest(topics=[deleted.DeleteRecordsTopic(name=FULL)], timeout_ms=5_000))
    for timestamp in range(-5, 7):
        reading.ask(_offsets(FULL, timestamp))


def producers_of_what_is_not_there(reading: Reading) -> None:
    for topic in (FULL, MISSING, "", "a b", "x" * 250):
        wanted = producers.TopicRequest(name=topic, partition_indexes=[9])
        reading.ask(m.DescribeProducersRequest(topics=[wanted]))


COURSES = (
    offsets_of_an_empty_log,
    offsets_for_another_epoch,
    offsets_asked_for_twice,
    ends_of_epochs,
    fetches_for_another_epoch,
    fetches_behind_another_epoch,
    fetches_of_what_is_not_there,
    fetches_of_committed_records_that_cannot_be,
    a_session_that_begins_with_nothing,
    a_session_that_ends_with_what_it_asks_for,
    records_deleted_twice,
    producers_of_what_is_not_there,
)


@pytest.fixture(scope="module")
def ours(node: servers.ServerProcess) -> Reading:
    return Reading(node.bootstrap)


@pytest.fixture(scope="module")
def theirs(kafka: KafkaBroker) -> Reading:
    return Reading(kafka.bootstrap)


@pytest.mark.parametrize("course", COURSES, ids=lambda course: course.__name__)
def test_kafka_answers_the_same(ours: Reading, theirs: Reading, course: Callable[[Reading], None]) -> None:
    transcripts = []
    for reading in (ours, theirs):
        reading.transcript = []
        course(reading)
        transcripts.append(reading.transcript)
    here, there = transcripts
    assert len(here) == len(there)
    assert here == there
