"""A replay against a real broker: what arrives, what of it again, what is refused."""

import random
import uuid

import pyarrow as pa
import pytest
from broker import Sent, Topics

from millstream_spark.audit.job import run_audit
from millstream_spark.errors import BadOffsets, SinkRefused
from millstream_spark.main import main
from millstream_spark.replay.copying import PartitionCopier
from millstream_spark.replay.job import run_replay
from millstream_spark.sink.marks import Cluster, MarkedWriter

MIDNIGHT_MS = 1_763_424_000_000  # 2025-11-18 00:00 UTC


@pytest.fixture
def copy(topics: Topics) -> str:
    name = f"copy-{uuid.uuid4().hex[:8]}"
    topics.create(name, partitions=3)
    return name


def arguments(bootstrap_servers: str, topic: str, copy: str, *more: str) -> list[str]:
    return [
        f"--bootstrap-servers={bootstrap_servers}",
        f"--topic={topic}",
        f"--to-topic={copy}",
        f"--name={copy}",
        *more,
    ]


def audited(bootstrap_servers: str, topic: str, copy: str) -> int:
    return run_audit([f"--bootstrap-servers={bootstrap_servers}", f"--topic={topic}", f"--copy={copy}"])


def fill(topics: Topics, topic: str, count: int) -> None:
    headers = (("trace", b"\x01"), ("none", None))
    sent = [
        Sent(n % 3, f"k{n}".encode() if n % 5 else None, f"v{n}".encode() if n % 7 else None, MIDNIGHT_MS + n, headers if n % 2 else ())
        for n in range(count)
    ]  # fmt: skip
    topics.produce(topic, sent)
    topics.produce_in_transaction(topic, sent[:9], commit=False)


def test_a_copy_is_the_topic_as_it_was_at_the_start(
    bootstrap_servers: str, topics: Topics, topic: str, copy: str
) -> None:
    fill(topics, topic, 300)
    assert run_replay(arguments(bootstrap_servers, topic, copy)) == 0
    assert audited(bootstrap_servers, topic, copy) == 0
    # Its end was fixed by then: what comes later is another replay's.
    topics.produce(topic, [Sent(0, None, b"later", MIDNIGHT_MS)])
    assert run_replay(arguments(bootstrap_servers, topic, copy)) == 0
    assert len(topics.values(copy, 3)) == 300


def test_a_replay_that_ended_half_way_goes_on(
    bootstrap_servers: str, topics: Topics, topic: str, copy: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Two partitions fail where a record is too large, which is told of, after transactions of theirs and of others."""
    fill(topics, topic, 900)
    topics.configure(copy, "max.message.bytes", "15000")
    large = random.Random(0).randbytes(50_000)  # no codec makes it small enough
    topics.produce(topic, [Sent(n, None, large, MIDNIGHT_MS) for n in (0, 2)])
    assert main(["replay", *arguments(bootstrap_servers, topic, copy)]) == 6
    assert f"{copy} partition" in caplog.text
    assert f"does not take a record of {len(large)} bytes: " in caplog.text
    topics.configure(copy, "max.message.bytes", "1000000")
    assert run_replay(arguments(bootstrap_servers, topic, copy)) == 0
    assert audited(bootstrap_servers, topic, copy) == 0


def test_a_range_is_by_offsets_or_by_time(bootstrap_servers: str, topics: Topics, topic: str, copy: str) -> None:
    fill(topics, topic, 300)
    more = ('--from={"0": 10}', "--until=2025-11-18T00:00:00.150Z")
    assert run_replay(arguments(bootstrap_servers, topic, copy, *more)) == 0
    assert len(topics.values(copy, 3)) == 140
    # Under another name, as where the marks have expired: what is there may be the same.
    other = arguments(bootstrap_servers, topic, copy, f"--name={copy}-other")
    with pytest.raises(SinkRefused, match="holds records and no mark"):
        run_replay(other)
    with pytest.raises(BadOffsets, match="holds 0 to"):
        run_replay([*other, '--until={"1": 5000}', "--append"])


def test_a_range_without_records_is_done_for_good(
    bootstrap_servers: str, topics: Topics, topic: str, copy: str
) -> None:
    """No task knows of it: the driver marks its end, so that nothing of it is missed once retention has deleted it."""
    fill(topics, topic, 300)
    command = arguments(bootstrap_servers, topic, copy, '--from={"0": 100, "1": 100, "2": 100}')
    assert run_replay(command) == 0
    assert topics.committed(f"spark-replay.{copy}", copy, 3) == [104, 104, 104]
    topics.delete_before(topic, [104, 104, 104])
    assert run_replay(command) == 0


def test_a_task_that_was_thought_dead_takes_nothing_back(bootstrap_servers: str, topics: Topics, copy: str) -> None:
    """It begins when others have gone on: the mark stays where they left it, or the next would copy again."""
    cluster, group = Cluster(bootstrap_servers, None, 60_000), f"spark-replay.{copy}"
    writer = MarkedWriter(cluster, transactional_id=f"{group}.0", group_id=group, topic=copy, partition=0)
    writer.begin(10, "note")
    writer.commit()
    rows = pa.RecordBatch.from_pydict({"partition": pa.array([0, 0]), "offset": pa.array([3, 4])})
    (told,) = PartitionCopier(cluster, copy, group, {0: 5}).copy(iter([rows]))
    assert told.to_pylist() == [{"partition": 0, "copied": 0}]
    assert topics.committed(group, copy, 1) == [10]
    other = PartitionCopier(cluster, copy, f"{group}-other", {0: 5})
    with pytest.raises(SinkRefused, match="has lost its mark"):
        list(other.copy(iter([rows])))


def test_a_topic_that_was_created_again_is_refused(
    bootstrap_servers: str, topics: Topics, topic: str, copy: str
) -> None:
    fill(topics, topic, 30)
    assert run_replay(arguments(bootstrap_servers, topic, copy)) == 0
    topics.delete(topic)
    topics.create(topic, partitions=3)
    with pytest.raises(SinkRefused, match="created again"):
        run_replay(arguments(bootstrap_servers, topic, copy))
