"""A mirror on a real broker: the copy, what comes later, and where a group goes on in the copy."""

import uuid

import pytest
from broker import Sent, Topics
from stopping import sigterm_when

from millstream_spark.audit.job import run_audit
from millstream_spark.errors import SinkRefused
from millstream_spark.mirror.job import run_mirror
from millstream_spark.topic import describe_spans, describe_topic

MIDNIGHT_MS = 1_763_424_000_000  # 2025-11-18 00:00 UTC


def mirror(bootstrap_servers: str, topic: str, copy: str, *more: str) -> int:
    servers = [f"--bootstrap-servers={bootstrap_servers}", f"--to-bootstrap-servers={bootstrap_servers}"]
    return run_mirror([*servers, f"--topic={topic}", f"--to-topic={copy}", f"--name={topic}-to-{copy}", *more])


def fill(topics: Topics, topic: str, first: int, count: int) -> None:
    """Aborted records and markers among them: offsets of the copy are others."""
    for start in range(first, first + count, 30):
        sent = [Sent(n % 3, None, str(n).encode(), MIDNIGHT_MS + n) for n in range(start, start + 30)]
        topics.produce_in_transaction(topic, sent, commit=True)
        topics.produce_in_transaction(topic, sent, commit=False)


def from_offsets(topics: Topics, topic: str, offsets: list[int]) -> set[int]:
    """Return what a reader at these offsets gets."""
    messages = topics.messages(topic, 3)
    return {int(m.value() or 0) for m in messages if (m.offset() or 0) >= offsets[m.partition() or 0]}


def test_a_copy_goes_on_with_its_groups_and_not_round(bootstrap_servers: str, topics: Topics, topic: str) -> None:
    copy, group = f"copy-{uuid.uuid4().hex[:8]}", f"readers-{topic}"
    topics.create(copy, partitions=3)
    fill(topics, topic, 0, 90)
    topics.commit(group, topic, [2, 0, 7])
    assert mirror(bootstrap_servers, topic, copy, f"--groups={group}", "--max-offsets-per-round=60") == 0
    audit = [f"--bootstrap-servers={bootstrap_servers}", f"--topic={topic}", f"--copy={copy}"]
    assert run_audit(audit) == 0
    first = topics.committed(group, copy, 3)
    assert from_offsets(topics, copy, first) >= from_offsets(topics, topic, [2, 0, 7])

    # A group that has read all that is copied, a marker and aborted records at its end, goes on at the end of the copy.
    fill(topics, topic, 90, 30)
    done = [max(m.offset() or 0 for m in topics.messages(topic, 3) if m.partition() == at) + 1 for at in range(3)]
    topics.commit(group, topic, [done[0] + 12, done[1] + 12, 40])
    source = describe_topic(bootstrap_servers, topic, timeout_s=30)
    ends = [span.end for span in describe_spans(bootstrap_servers, source, timeout_s=30)]
    marks = f"spark-mirror.{topic}-to-{copy}"
    # One that runs for ever, and is told to stop in the round that comes to the end: it translates yet, and ends with 0.
    with sigterm_when(lambda: topics.committed(marks, copy, 3) == ends):
        assert mirror(bootstrap_servers, topic, copy, f"--groups={group}", "--trigger=600000m") == 0
    assert run_audit(audit) == 0
    second = topics.committed(group, copy, 3)
    found = from_offsets(topics, copy, second)
    assert found >= from_offsets(topics, topic, [done[0], done[1], 40])
    assert not {n for n in found if n % 3 < 2}
    assert all(later >= earlier for earlier, later in zip(first, second, strict=True))

    with pytest.raises(SinkRefused, match="go round"):
        mirror(bootstrap_servers, copy, topic)
