"""Clusters that change under load: processes restarted one by one, one broker that becomes three, one that is gone for good."""

import re
import shutil
import sys
from collections import Counter
from pathlib import Path

import servers
from confluent_kafka.admin import AdminClient
from exactly_once import PARTITIONS as COPIED_PARTITIONS
from exactly_once import results
from growing import create_topic, give_replicas, partitions_of, two_in_sync, whole
from mixed_cluster import Copier, Feed, GroupReader, mixed_cluster
from test_crash import Load, check_nothing_lost, create, wait_for_progress

THIS = Path(sys.executable).parent
TIMEOUT_S = 60
PROCESSES = ("broker-1", "broker-2", "broker-3", "coordinator-1", "coordinator-2", "controller-1", "controller-2")
AWAY_MS = 11_000
"""How long a broker may be away in the last test: since when it is becomes known after ten seconds."""


def live(bootstrap: str, numbers: set[int]) -> None:
    assert numbers <= set(AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=10).brokers)


def copied_once(bootstrap: str, target: str, count: int) -> None:
    assert results(bootstrap, target, count) == Counter({b"%d" % number: 1 for number in range(count)})


def test_processes_are_restarted_one_by_one_under_load(fresh: Path, topic: str) -> None:
    with mixed_cluster(fresh, THIS) as cluster:
        source, target = f"{topic}-source", f"{topic}-target"
        create(cluster.bootstrap, topic, replicas=3)
        for name in source, target:
            create_topic(cluster.bootstrap, name, COPIED_PARTITIONS, replicas=3)
        feed = Feed(cluster.bootstrap, source)
        with (
            Load(cluster.bootstrap, topic) as load,
            Copier(cluster.bootstrap, source, target) as copier,
            GroupReader(cluster.bootstrap, source, protocol="classic") as classic,
            GroupReader(cluster.bootstrap, source, protocol="consumer") as modern,
        ):
            feed.more(copier)
            for name in PROCESSES:
                cluster.exchange(name, THIS)
                servers.eventually(lambda: whole(cluster.bootstrap, 3), within_s=TIMEOUT_S)
                feed.more(copier)
                wait_for_progress(load, 100)
            load.finish()
            for reader in (classic, modern):
                servers.eventually(lambda reader=reader: reader.has_read(feed.sent), within_s=TIMEOUT_S)
        assert classic.given_again == modern.given_again == []
        check_nothing_lost(load, cluster.bootstrap, topic)
        copied_once(cluster.bootstrap, target, feed.sent)


def test_one_broker_becomes_three_under_load(fresh: Path, topic: str) -> None:
    """What the coordinators keep included: then the disk is lost that had the only copy of everything."""
    with servers.cluster(fresh, brokers=1) as cluster:
        source, target = f"{topic}-source", f"{topic}-target"
        create(cluster.bootstrap, topic)
        for name in source, target:
            create_topic(cluster.bootstrap, name, COPIED_PARTITIONS, replicas=1)
        feed = Feed(cluster.bootstrap, source)
        with (
            Load(cluster.bootstrap, topic) as load,
            GroupReader(cluster.bootstrap, source, protocol="classic") as classic,
            GroupReader(cluster.bootstrap, source, protocol="consumer") as modern,
        ):
            with Copier(cluster.bootstrap, source, target) as copier:
                feed.more(copier)
                for number in 2, 3:
                    cluster.add_broker(number)
                servers.eventually(lambda: live(cluster.bootstrap, {1, 2, 3}), within_s=TIMEOUT_S)
                give_replicas(cluster.bootstrap, [1, 2, 3])
                two_in_sync(cluster.bootstrap)
                feed.more(copier)
                wait_for_progress(load)
            with Copier(cluster.bootstrap, source, target) as copier:  # who knows of three
                was = directory_id(cluster, "broker-1")
                cluster.kill("broker-1")
                shutil.rmtree(cluster.logs_of("broker-1"))
                feed.more(copier)
                wait_for_progress(load)
                cluster.restart("broker-1")
                servers.eventually(lambda: whole(cluster.bootstrap, 3), within_s=TIMEOUT_S)
                assert directory_id(cluster, "broker-1") != was
                feed.more(copier)
            load.finish()
            for reader in (classic, modern):
                servers.eventually(lambda reader=reader: reader.has_read(feed.sent), within_s=TIMEOUT_S)
        assert classic.given_again == modern.given_again == []
        check_nothing_lost(load, cluster.bootstrap, topic)
        copied_once(cluster.bootstrap, target, feed.sent)


def directory_id(cluster: servers.Cluster, name: str) -> str:
    """Which disk it is: an incarnation of the broker."""
    found = re.search(r"^directory\.id=(.+)$", (cluster.logs_of(name) / "meta.properties").read_text(), re.MULTILINE)
    assert found is not None
    return found.group(1)


def test_a_broker_gone_for_good_is_replaced_unasked(fresh: Path, topic: str) -> None:
    """And one that comes back later with an empty disk is given nothing of what the old one had."""
    with servers.cluster(fresh, f"broker.replacement.timeout.ms={AWAY_MS}", brokers=4) as cluster:
        create(cluster.bootstrap, topic, replicas=3)
        had = {name for name, each in partitions_of(cluster.bootstrap).items() if 4 in each.replicas}
        assert had
        with Load(cluster.bootstrap, topic) as load:
            wait_for_progress(load)
            was = directory_id(cluster, "broker-4")
            cluster.kill("broker-4")
            servers.eventually(lambda: kept_by(cluster.bootstrap, {1, 2, 3}), within_s=TIMEOUT_S)
            whole(cluster.bootstrap, 3)
            wait_for_progress(load)
            shutil.rmtree(cluster.logs_of("broker-4"))
            cluster.restart("broker-4")
            servers.eventually(lambda: live(cluster.bootstrap, {1, 2, 3, 4}), within_s=TIMEOUT_S)
            assert directory_id(cluster, "broker-4") != was
            kept_by(cluster.bootstrap, {1, 2, 3})
            load.finish()
        check_nothing_lost(load, cluster.bootstrap, topic)


def kept_by(bootstrap: str, brokers: set[int]) -> None:
    """All replicas are in sync, on these brokers and no others."""
    assert {number for each in partitions_of(bootstrap).values() for number in each.replicas} == brokers
    whole(bootstrap, 3)
