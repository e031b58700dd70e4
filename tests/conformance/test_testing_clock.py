"""The clock that a test moves, on everything that waits for time: retention, compaction, sessions, transactions, offsets."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer

from millstream.testing import HostProcess, Millstream, Record, Wanted

LOGIN_TIMEOUT_S = 20


@pytest.fixture
def cluster(millstream: Millstream) -> Millstream:
    return millstream


def test_retention_takes_what_is_old_by_the_clusters_clock(cluster: Millstream) -> None:
    cluster.create_topic("orders", configs={"retention.ms": "604800000"})
    cluster.produce("orders", "old")
    cluster.advance(days=6)
    assert cluster.values("orders") == [b"old"]
    cluster.produce("orders", "young")
    cluster.advance(days=2)
    assert cluster.values("orders") in ([b"young"], [b"old", b"young"])  # a segment is as young as its last record
    cluster.advance(days=6)
    assert cluster.values("orders") == []


def test_what_is_compacted_and_a_tombstone_that_goes_after_its_time(cluster: Millstream) -> None:
    configs = {
        "cleanup.policy": "compact",
        "segment.ms": "60000",
        "delete.retention.ms": "86400000",
        "min.cleanable.dirty.ratio": "0.01",
    }
    cluster.create_topic("prices", configs=configs)
    cluster.produce("prices", Record(b"1", b"pear"), Record(b"2", b"pear"), Record(None, b"pear"), Record(b"3", b"fig"))
    cluster.advance(hours=1)
    cluster.produce("prices", Record(b"4", b"plum"))  # the segment before it is closed, and may be compacted
    cluster.advance(hours=1)
    assert [(each.key, each.value) for each in cluster.produced("prices")][:2] == [(b"pear", None), (b"fig", b"3")]
    cluster.advance(days=2)
    cluster.produce("prices", Record(b"5", b"plum"))
    cluster.advance(hours=1)
    assert [each.key for each in cluster.produced("prices")] == [b"fig", b"plum", b"plum"]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_member_that_says_nothing_loses_its_session(cluster: Millstream, protocol: str) -> None:
    cluster.create_topic("orders")
    cluster.produce("orders", "1")
    consumer = member(cluster, protocol)
    assert consumer.poll(LOGIN_TIMEOUT_S) is not None
    assert len(cluster.members("billing")) == 1
    cluster.advance(minutes=5)
    assert cluster.groups() == {"billing": "Empty"}
    consumer.close()


def test_a_transaction_that_nobody_ends_is_aborted(cluster: Millstream) -> None:
    cluster.create_topic("orders")
    config = {**cluster.librdkafka(), "transactional.id": "shop", "transaction.timeout.ms": 60_000}
    producer = Producer(config)
    producer.init_transactions(LOGIN_TIMEOUT_S)
    producer.begin_transaction()
    producer.produce("orders", b"never paid")
    assert producer.flush(LOGIN_TIMEOUT_S) == 0
    cluster.advance(minutes=2)
    with pytest.raises(KafkaException, match="fenced"):
        producer.commit_transaction(LOGIN_TIMEOUT_S)
    assert cluster.values("orders") == []
    cluster.produce("orders", "after")
    assert cluster.values("orders") == [b"after"]  # nothing hangs before it


def test_offsets_of_an_empty_group_expire(cluster: Millstream) -> None:
    cluster.create_topic("orders")
    cluster.produce("orders", "1", "2")
    consumer = member(cluster, "classic")
    message = consumer.poll(LOGIN_TIMEOUT_S)
    assert message is not None
    consumer.commit(message, asynchronous=False)
    consumer.close()
    assert cluster.lag("billing") == 1
    cluster.advance(days=6)
    assert cluster.lag("billing") == 1
    cluster.advance(days=2)
    assert cluster.groups() == {}
    assert cluster.lag("billing") is None


def test_a_year_leaves_everything_at_work(cluster: Millstream) -> None:
    cluster.create_topic("orders", configs={"retention.ms": "-1"})
    cluster.produce("orders", "1")
    before_ms = cluster.now_ms()
    cluster.advance(days=365)
    assert 0 <= cluster.now_ms() - before_ms - 365 * 86_400_000 < 60_000
    cluster.produce("orders", "2")
    assert cluster.values("orders") == [b"1", b"2"]


@pytest.fixture
def host() -> Iterator[HostProcess]:
    with HostProcess() as host:
        yield host


def test_every_cluster_has_a_clock_of_its_own_and_a_new_one_is_right(host: HostProcess) -> None:
    with Millstream(host, Wanted(), keep_reserve=True) as first:
        first.advance(days=30)
        with Millstream(host, Wanted()) as second:
            assert first.now_ms() - second.now_ms() > 29 * 86_400_000


def member(cluster: Millstream, protocol: str) -> Consumer:
    """One that reads, and whose own heartbeats are too rare to be noticed."""
    config = {
        **cluster.librdkafka(),
        "group.id": "billing",
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    consumer = Consumer(config)
    consumer.subscribe(["orders"])
    return consumer
