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
    "millstream_wire.messages.produce",
    "millstream_wire.records",
    "uvloop",
}

MESSAGES_OF_A_NODE_ALONE = {
    "add_partitions_to_txn",
    "allocate_producer_ids",
    "alter_partition",
    "api_versions",
    "assign_replicas_to_dirs",
    "broker_heartbeat",
    "broker_registration",
    "create_partitions",
    "create_topics",
    "delete_topics",
    "envelope",
    "fetch",
    "fetch_snapshot",
    "find_coordinator",
    "join_group",
    "metadata",
    "produce",
}


def imported_by(code: str) -> set[str]:
    code = f"import sys, {code}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.split())


def test_a_list_of_topics_needs_neither_a_producer_nor_a_consumer_nor_a_server() -> None:
    imported = imported_by("millstream.main, millstream.commands.command, millstream.commands.topic")
    assert "millstream_client.cluster" in imported
    assert not imported & NOT_FOR_A_LIST


def test_a_node_loads_the_messages_of_clients_when_they_send_them() -> None:
    messages = "millstream_wire.messages."
    imported = imported_by("millstream.node, millstream_controller.app, millstream_broker.app")
    loaded = {name.removeprefix(messages) for name in imported if name.startswith(messages)}
    assert "produce" in loaded
    assert loaded <= MESSAGES_OF_A_NODE_ALONE
    assert not imported & {"cramjam", "lz4", "cryptography", "millstream_coordinator.app"}
