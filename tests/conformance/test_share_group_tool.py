"""Kafka's own tool for share groups: what it shows of one, and what it moves, forgets and deletes."""

import shutil

import pytest
from kafka_tools import run_tool
from raw_share_groups import RawShareGroup
from servers import ServerProcess, eventually
from wire_client import WireClient

from millstream_wire.records import Record, encode_batch

pytestmark = pytest.mark.skipif(shutil.which("java") is None, reason="java is not installed")

RECORDS = 5


def tool(bootstrap: str, *args: str) -> list[list[str]]:
    """The words of each line that it prints."""
    result = run_tool("kafka-share-groups", ["--bootstrap-server", bootstrap, *args])
    assert result.returncode == 0, result.stdout + result.stderr
    return [line.split() for line in result.stdout.splitlines() if line.strip()]


def test_the_tool_shows_moves_and_deletes_a_group(node: ServerProcess, topic: str) -> None:
    group = f"g-{topic}"
    raw = RawShareGroup(node.bootstrap, group, topic, partitions=1)
    with WireClient(node.bootstrap) as client:
        records = [Record(offset=0, timestamp=1, key=None, value=b"x") for _ in range(RECORDS)]
        assert client.produce(topic, encode_batch(records)).error_code == 0

    def is_given_the_partition() -> None:
        # Joining again changes nothing; the first answer may come before there is anything to be given.
        assert raw.share_join("a").assignment.topic_partitions

    eventually(is_given_the_partition)
    shown = tool(node.bootstrap, "--describe", "--group", group, "--members")
    assert [line[:2] for line in shown[1:]] == [[group, "a"]]
    assert shown[1][-1] == f"{topic}:0"
    raw.share_heartbeat("a", -1)
    assert [group] in tool(node.bootstrap, "--list")
    assert tool(node.bootstrap, "--describe", "--group", group)[-1] == [group, topic, "0", "-", "-"]
    moved = tool(node.bootstrap, "--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
    assert moved[-1] == [group, topic, "0", "0"]
    assert tool(node.bootstrap, "--describe", "--group", group)[-1] == [group, topic, "0", "0", str(RECORDS)]
    tool(node.bootstrap, "--delete-offsets", "--group", group, "--topic", topic)
    assert raw.describe_offsets().groups[0].topics == []
    tool(node.bootstrap, "--delete", "--group", group)
    assert group not in [each.group_id for each in raw.list_share_groups().groups]
