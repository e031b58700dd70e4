"""From release 0.1.0 to this version: what it wrote opens, and a cluster is exchanged process by process under load."""

import asyncio
import re
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import servers
from ask import ask
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from exactly_once import PARTITIONS as COPIED_PARTITIONS
from exactly_once import results
from growing import create_topic, give_replicas, two_in_sync, whole
from kafka_tools import run_tools
from mixed_cluster import COPIES, Copier, Feed, GroupReader, MixedCluster, mixed_cluster
from old_release import installed
from test_crash import PARTITIONS, Load, check_nothing_lost, create, wait_for_progress

from millstream_cluster.metadata_version import NEWEST, OLDEST
from millstream_cluster.records import MetadataVersionSet, encode_record
from millstream_controller.shell.file_store import FileStore
from millstream_runtime.network.sockets.network import SocketNetwork
from millstream_runtime.world import RealWorld
from millstream_wire import messages as m
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.update_features import FeatureUpdateKey
from millstream_wire.records import Record, encode_batch, parse_header

OLD = "0.1.0"
THIS = Path(sys.executable).parent
TIMEOUT_S = 240
BROKERS = ("broker-1", "broker-2", "broker-3")
CONTROLLERS = ("controller-1", "controller-2")
COORDINATORS = ("coordinator-1", "coordinator-2")
AS_THE_OLD_RELEASE = {"group.version": 1, "metadata.version": OLDEST, "share.version": 1, "transaction.version": 2}
UNKNOWN_TYPE = "metadata record type 'MetadataVersionSet' is unknown to this version"


@pytest.fixture(scope="module")
def old() -> Path:
    return installed(OLD)


@pytest.mark.parametrize("ending", ["stopped", "killed"])
def test_what_the_old_release_wrote_opens(old: Path, fresh: Path, topic: str, ending: str) -> None:
    """All in one node: logs, producer state, the metadata log, groups and transactions."""
    with servers.node(fresh, program=str(old / "millstream")) as node:
        create(node.bootstrap, topic)
        with Load(node.bootstrap, topic) as load:
            wait_for_progress(load)
            load.finish()
        make_copies(node.bootstrap, f"{topic}-results")
        commit_offsets(node.bootstrap, topic, protocol="classic")
        commit_offsets(node.bootstrap, topic, protocol="consumer")
        before = groups_of(node.bootstrap)
        if ending == "stopped":
            assert node.stop() == 0
        else:
            node.kill()
    with servers.node(fresh) as node:
        servers.eventually(lambda: has_groups(node.bootstrap, before), within_s=TIMEOUT_S)
        check_nothing_lost(load, node.bootstrap, topic)
        assert results(node.bootstrap, f"{topic}-results", 2 * COPIES) == Counter(
            {b"%d" % number: 1 for number in range(2 * COPIES)}
        )
        make_copies(node.bootstrap, f"{topic}-results", first=2 * COPIES, new=False)
        assert results(node.bootstrap, f"{topic}-results", 4 * COPIES) == Counter(
            {b"%d" % number: 1 for number in range(4 * COPIES)}
        )
        commit_offsets(node.bootstrap, topic, protocol="consumer", offset=9)


@pytest.mark.parametrize(
    ("order", "replicas"),
    [((*BROKERS, *COORDINATORS, *CONTROLLERS), 3), ((*CONTROLLERS, *COORDINATORS, *BROKERS), 1)],
    ids=["controllers-last-and-more-replicas", "controllers-first"],
)
def test_processes_are_exchanged_one_by_one_under_load(
    old: Path, fresh: Path, topic: str, order: Sequence[str], replicas: int
) -> None:
    """Then everything is given so many replicas, and each process is restarted once more."""
    with mixed_cluster(fresh, old) as cluster:
        source, target = f"{topic}-source", f"{topic}-target"
        create(cluster.bootstrap, topic)
        create_topic(cluster.bootstrap, source, COPIED_PARTITIONS, replicas=1)
        create_topic(cluster.bootstrap, target, COPIED_PARTITIONS, replicas=1)
        feed = Feed(cluster.bootstrap, source)
        with (
            Load(cluster.bootstrap, topic) as load,
            Copier(cluster.bootstrap, source, target) as copier,
            GroupReader(cluster.bootstrap, source, protocol="classic") as classic,
            GroupReader(cluster.bootstrap, source, protocol="consumer") as modern,
        ):
            feed.more(copier)
            for name in order:
                servers.eventually(lambda: is_not_raised(cluster.bootstrap), within_s=TIMEOUT_S)
                cluster.exchange(name, THIS)
                feed.more(copier)
                wait_for_progress(load, 100)
            way_back(cluster, old, order[-1])
            assert levels(cluster.bootstrap) == AS_THE_OLD_RELEASE
            servers.eventually(lambda: raise_level(cluster.bootstrap), within_s=TIMEOUT_S)
            if replicas > 1:
                give_replicas(cluster.bootstrap, [1, 2, 3])
                two_in_sync(cluster.bootstrap)
            for name in order:
                assert UNKNOWN_TYPE in no_way_back(cluster, old, name)
                servers.eventually(lambda: whole(cluster.bootstrap, replicas), within_s=TIMEOUT_S)
                feed.more(copier)
                wait_for_progress(load, 100)
            load.finish()
            for reader in (classic, modern):
                servers.eventually(lambda reader=reader: reader.has_read(feed.sent), within_s=TIMEOUT_S)
        assert classic.given_again == modern.given_again == []
        check_nothing_lost(load, cluster.bootstrap, topic)
        assert results(cluster.bootstrap, target, feed.sent) == Counter({b"%d" % n: 1 for n in range(feed.sent)})


def levels(bootstrap: str) -> dict[str, int]:
    (answer,) = ask(bootstrap, m.ApiVersionsRequest(client_software_name="ask", client_software_version="1"))
    return {feature.name: feature.max_version_level for feature in answer.finalized_features}


def is_not_raised(bootstrap: str) -> None:
    """A process of the old release is still there."""
    key = FeatureUpdateKey(feature="metadata.version", max_version_level=NEWEST, upgrade_type=1)
    (answer,) = ask(bootstrap, m.UpdateFeaturesRequest(feature_updates=[key], validate_only=True))
    assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION, answer


def raise_level(bootstrap: str) -> None:
    """As docs/operations.md says, or the same request where there is no Java."""
    if shutil.which("java") is None:
        key = FeatureUpdateKey(feature="metadata.version", max_version_level=NEWEST, upgrade_type=1)
        (answer,) = ask(bootstrap, m.UpdateFeaturesRequest(feature_updates=[key]))
        assert answer.error_code == 0, answer
        return
    ours = ["--bootstrap-server", bootstrap]
    before, tried, raised, described = run_tools(
        [
            ("kafka-features", [*ours, "describe"]),
            ("kafka-features", [*ours, "upgrade", "--feature", f"metadata.version={NEWEST}", "--dry-run"]),
            ("kafka-features", [*ours, "upgrade", "--release-version", "4.0"]),
            ("kafka-features", [*ours, "describe"]),
        ]
    )
    assert re.search(r"metadata\.version\s.*FinalizedVersionLevel: 3\.3-IV3", before.stdout), before.stdout
    assert (tried.returncode, raised.returncode) == (0, 0), tried.stdout + raised.stdout + raised.stderr
    assert re.search(r"metadata\.version\s.*FinalizedVersionLevel: 4\.0-IV3", described.stdout), described.stdout


def no_way_back(cluster: MixedCluster, old: Path, name: str) -> str:
    """What a process of the old release says once the level is raised; this version takes its place again."""
    cluster.stop(name)
    said = cluster.fails_to_start(name, old)
    cluster.start(name, THIS)
    return said


def test_metadata_of_a_later_release_is_told_in_one_line(fresh: Path) -> None:
    """Which level is needed and what to do; no traceback, and the data is as it was."""
    with servers.node(fresh) as node:
        assert node.stop() == 0
    asyncio.run(append_level(fresh / "data" / "controller", NEWEST + 1))
    with pytest.raises(AssertionError) as stopped, servers.node(fresh):
        pass
    (said,) = [line for line in str(stopped.value).splitlines() if "metadata log cannot be read" in line]
    assert (
        f"controller-20000 failed: the metadata log cannot be read: the cluster's metadata.version is {NEWEST + 1}"
        in said
    )
    assert f"reads up to {NEWEST}: start this node with the release that raised it" in said
    assert "Traceback" not in str(stopped.value)


async def append_level(directory: Path, level: int) -> None:
    """As a controller of a later release would."""
    store = FileStore(directory, RealWorld(SocketNetwork()))
    end = max(parse_header(batch).next_offset for batch in (await store.load()).batches)
    key, value = encode_record(MetadataVersionSet(level), NEWEST)
    batch = encode_batch([Record(0, 1, key, value)], base_offset=end, leader_epoch=1)
    await store.append(batch)
    await store.close()


def way_back(cluster: MixedCluster, old: Path, name: str) -> None:
    """Until the metadata version is raised, a process may be given back to the old release."""
    cluster.exchange(name, old)
    cluster.exchange(name, THIS)


def make_copies(bootstrap: str, topic: str, *, first: int = 0, new: bool = True) -> None:
    """Two committed transactions with an aborted one between them, all by one transactional id."""
    if new:
        create_topic(bootstrap, topic, COPIED_PARTITIONS, replicas=1)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": f"x-{topic}"})
    producer.init_transactions(TIMEOUT_S)
    for number, commits in ((first, True), (10**6, False), (first + COPIES, True)):
        producer.begin_transaction()
        for value in range(number, number + COPIES):
            producer.produce(topic, b"%d" % value, partition=value % COPIED_PARTITIONS)
        producer.flush(TIMEOUT_S)
        if commits:
            producer.commit_transaction(TIMEOUT_S)
        else:
            producer.abort_transaction(TIMEOUT_S)


def commit_offsets(bootstrap: str, topic: str, *, protocol: str, offset: int = 5) -> None:
    """As a member of a group of this protocol, which may be there already."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"{topic}-{protocol}",
            "group.protocol": protocol,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    servers.eventually(lambda: _has_all(consumer), within_s=TIMEOUT_S)
    consumer.commit(offsets=[TopicPartition(topic, p, offset + p) for p in range(PARTITIONS)], asynchronous=False)
    consumer.close()


def _has_all(consumer: Consumer) -> None:
    consumer.poll(0.1)
    assert len(consumer.assignment()) == PARTITIONS


Groups = dict[str, tuple[str, dict[tuple[str, int], int]]]


def has_groups(bootstrap: str, expected: Groups) -> None:
    """A coordinator that has just started still loads them."""
    assert groups_of(bootstrap) == expected


def groups_of(bootstrap: str) -> Groups:
    """Every group's type and committed offsets."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    found = {}
    for listed in admin.list_consumer_groups(request_timeout=TIMEOUT_S).result(TIMEOUT_S).valid:
        wanted = ConsumerGroupTopicPartitions(listed.group_id)
        (future,) = admin.list_consumer_group_offsets([wanted], request_timeout=TIMEOUT_S).values()
        offsets = {(each.topic, each.partition): each.offset for each in future.result(TIMEOUT_S).topic_partitions}
        found[listed.group_id] = (str(listed.type), offsets)
    return found
