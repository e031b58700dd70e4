"""A command imports what it needs and no more: whoever types it waits for that."""

import subprocess
import sys

NOT_FOR_A_LIST = {
    "cryptography",
    "millstream_broker",
    "millstream_client.consumer",
    "millstream_client.producer",
    "millstream_cluster.image",
    "millstream_cluster.records",
    "millstream_wire.records",
    "uvloop",
}


def test_a_list_of_topics_needs_neither_a_producer_nor_a_consumer_nor_a_server() -> None:
    code = "import sys, millstream.main, millstream.commands.command, millstream.commands.topic; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    imported = set(done.stdout.split())
    assert "millstream_client.cluster" in imported
    assert not imported & NOT_FOR_A_LIST
