"""Directories exchanged with Apache Kafka: its dump tool reads ours, we open its, and it opens what we appended to."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka_broker import KafkaBroker
from kafka_tools import KafkaUnavailable, kafka_libs, run_tool

from millstream_log import DataDir, Log, LogConfig, TopicPartition
from millstream_wire.records import Compression, EndMarker, Record, check, decode_batches, encode_batch

START_MS = 1_700_000_000_000
CONFIG = LogConfig(segment_bytes=16_000, index_interval_bytes=1000)


@pytest.fixture(scope="module", autouse=True)
def kafka() -> None:
    try:
        kafka_libs()
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))


def records(start: int, count: int) -> list[Record]:
    return [
        Record(
            -1, START_MS + start + i, b"key %d" % (start + i), b"value " * (i % 5), (("header", b"x"), ("null", None))
        )
        for i in range(count)
    ]


def append(log: Log, wanted: list[Record], *, leader_epoch: int = 0, **fields) -> None:
    batch = bytearray(encode_batch(wanted, **fields))
    header = check(batch)
    if header.is_control:
        log.append_control(batch, header, leader_epoch=leader_epoch, now_ms=START_MS)
    else:
        log.append(batch, header, leader_epoch=leader_epoch, now_ms=START_MS)


def fill(log: Log) -> None:
    """Every codec, plain, idempotent and transactional, under several leaders, over several segments."""
    for i in range(200):
        producer = {"producer_id": 7, "producer_epoch": 0, "base_sequence": i // 2 * 5} if i % 2 else {}
        append(log, records(i * 10, 5), leader_epoch=i // 50, compression=Compression(i % 5), **producer)
    for i in range(4):
        identity = {"producer_id": 8, "producer_epoch": i, "transactional": True}
        append(log, records(3000 + i * 10, 3), leader_epoch=4, base_sequence=0, **identity)
        end = EndMarker(committed=i % 2 == 0, coordinator_epoch=1).encode(START_MS + 3005 + i * 10)
        append(log, [end], leader_epoch=4, control=True, **identity)
    append(log, records(4000, 2), leader_epoch=4, producer_id=8, producer_epoch=4, base_sequence=0, transactional=True)


def everything(log: Log) -> list[Record]:
    found: list[Record] = []
    offset = log.log_start_offset
    while (read := log.read(offset, 1 << 20)) is not None:
        found += decode_batches(read.slice.read())
        offset = read.next_offset
    return found


def dump(*args: str) -> str:
    result = run_tool("kafka-dump-log", args)
    assert result.returncode == 0, result.stdout + result.stderr
    assert not re.search("error|mismatch|invalid|not found|exception|corrupt", result.stdout + result.stderr, re.I), (
        result.stdout[-2000:] + result.stderr[-2000:]
    )
    return result.stdout


def test_kafkas_dump_tool_finds_nothing_wrong_with_our_files(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "topic-0", CONFIG, now_ms=0)
    fill(log)
    log.close()
    assert len(log.segments) > 2
    files = {suffix: sorted(log.directory.glob(f"*.{suffix}")) for suffix in ("log", "index", "timeindex", "snapshot")}
    assert all(len(paths) >= len(log.segments) - 1 for paths in files.values())

    logs = dump("--deep-iteration", "--print-data-log", "--files", ",".join(map(str, files["log"])))
    assert logs.count("| offset: ") == log.log_end_offset
    assert logs.count("isvalid: true") == logs.count("baseOffset: ") >= 200
    assert all(f"compresscodec: {codec.name.lower()}" in logs for codec in Compression)
    assert logs.count("endTxnMarker: COMMIT") == logs.count("endTxnMarker: ABORT") == 2

    indexes = dump("--files", ",".join(map(str, files["index"] + files["timeindex"])))
    assert indexes.count("offset: ") == sum(len(segment.index) + len(segment.times) for segment in log.segments)
    dump("--index-sanity-check", "--files", ",".join(map(str, files["index"] + files["timeindex"])))

    snapshot = dump("--files", str(files["snapshot"][-1]))
    first, second = (line for line in snapshot.splitlines() if line.startswith("producerId"))
    assert re.match(r"producerId: 7 producerEpoch: 0 .*lastSequence: 499 lastOffset: 999 offsetDelta: 4", first)
    assert re.match(r"producerId: 8 producerEpoch: 4 coordinatorEpoch: 1 .*lastSequence: 1", second)
    assert f"currentTxnFirstOffset: OptionalLong[{log.first_unstable_offset}]" in second


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[KafkaBroker]:
    broker = KafkaBroker(
        tmp_path / "kafka", properties={"log.segment.bytes": "1048576", "log.index.interval.bytes": "500"}
    )
    broker.start()
    yield broker
    broker.kill()


def create_topic(broker: KafkaBroker, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)


def produce(broker: KafkaBroker, topic: str) -> list[tuple[bytes, bytes]]:
    """Produce by several codecs, idempotently and in transactions; return what a reader of all records finds."""
    sent = []
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        config = {"bootstrap.servers": broker.bootstrap, "compression.type": codec, "linger.ms": 5}
        transactional = codec in ("none", "zstd")
        config |= {"transactional.id": f"t-{codec}"} if transactional else {"enable.idempotence": True}
        producer = Producer(config)
        if transactional:
            producer.init_transactions(30)
            producer.begin_transaction()
        for i in range(400):
            key, value = b"%s %d" % (codec.encode(), i), b"value " * (i % 300)
            producer.produce(topic, key=key, value=value, headers={"codec": codec}, timestamp=START_MS + i)
            sent.append((key, value))
        if transactional:
            producer.commit_transaction(30)
        assert producer.flush(30) == 0
    return sent


def consume(broker: KafkaBroker, topic: str, count: int) -> list[tuple[bytes, bytes]]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": f"reader of {topic}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    found = []
    try:
        while len(found) < count:
            message = consumer.poll(60)
            assert message is not None, f"{len(found)} of {count} records"
            assert message.error() is None, message.error()
            found.append((message.key(), message.value()))
    finally:
        consumer.close()
    return found


@pytest.mark.parametrize("clean", [True, False])
def test_we_open_what_kafka_wrote_and_kafka_what_we_added(broker: KafkaBroker, clean: bool) -> None:
    create_topic(broker, "exchange")
    sent = produce(broker, "exchange")
    # A commit returns before its marker is in the partition. Killed between the two, Kafka 4.3.1 can lose the marker by itself:
    # it starts as leader of before, is fenced, and takes a partition without a leader for one that needs none.
    assert consume(broker, "exchange", len(sent)) == sent
    broker.stop() if clean else broker.kill()

    data = DataDir(broker.data, node_id=1, cluster_id=broker.cluster_id)
    assert data.was_clean is clean
    key = TopicPartition("exchange", 0)
    topic_id = data.topic_id(key)
    assert topic_id is not None
    config = LogConfig(segment_bytes=1 << 20, index_interval_bytes=500)
    for other in data.partitions():
        data.open_log(other, data.topic_id(other), config, now_ms=START_MS)
    log = data.logs[key]
    log.check()
    assert [(record.key, record.value) for record in everything(log)] == sent
    assert len(log.producers) == 5
    assert log.first_unstable_offset is None
    assert len(log.segments) > 1

    for i in range(50):
        append(log, records(i * 10, 5), leader_epoch=log.epochs[-1].epoch, compression=Compression(i % 5))
        sent += [(record.key, record.value) for record in records(i * 10, 5)]
    data.close()
    broker.start()
    assert consume(broker, "exchange", len(sent)) == sent
