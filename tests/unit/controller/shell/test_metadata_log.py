"""The committed log as a controller serves it."""

import asyncio
from dataclasses import replace
from uuid import UUID

import pytest

from millstream_cluster.image import Image
from millstream_cluster.metadata_version import NEWEST
from millstream_cluster.records import (
    ConfigChanged,
    DelegationTokenSet,
    MetadataRecord,
    ResourceType,
    ScramCredentialSet,
    TopicCreated,
)
from millstream_controller.shell.batches import decode_records, encode_records
from millstream_controller.shell.metadata_log import MetadataLog
from millstream_controller.shell.store import Loaded

CONFIGS = [ConfigChanged(ResourceType.TOPIC, f"topic-{number}", "retention.ms", "1") for number in range(2_000)]


def log_of_configs() -> MetadataLog:
    batch = encode_records(CONFIGS, level=NEWEST, base_offset=0, epoch=1, timestamp_ms=0, writer="w:1")
    return MetadataLog(Loaded(None, (batch,)))


def test_others_run_while_a_snapshot_is_taken() -> None:
    async def scenario() -> None:
        log = log_of_configs()
        taking = asyncio.create_task(log.take_snapshot(timestamp_ms=0)())
        turns = 0
        while not taking.done():
            await asyncio.sleep(0)
            turns += 1
        assert turns >= len(CONFIGS) / 100
        snapshot = taking.result()
        assert snapshot.end_offset == len(CONFIGS)
        again = Image.of((record for _, record in decode_records(snapshot.data)), snapshot.end_offset - 1)
        assert again == log.image

    asyncio.run(scenario())


def test_what_is_committed_while_a_snapshot_is_encoded_is_not_in_it() -> None:
    async def scenario() -> None:
        log = log_of_configs()
        taking = asyncio.create_task(log.take_snapshot(timestamp_ms=0)())
        await asyncio.sleep(0)
        more = [ConfigChanged(ResourceType.BROKER, "1", "log.retention.ms", "1")]
        log.committed(
            encode_records(more, level=NEWEST, base_offset=len(CONFIGS), epoch=1, timestamp_ms=0, writer=None), more
        )
        topic_id = UUID(int=9)
        topics = [TopicCreated("late", topic_id, False)]
        log.committed(
            encode_records(topics, level=NEWEST, base_offset=log.end_offset, epoch=1, timestamp_ms=0, writer=None),
            topics,
        )
        snapshot = await taking
        assert snapshot.end_offset == len(CONFIGS)
        assert [record for _, record in decode_records(snapshot.data)] == CONFIGS

    asyncio.run(scenario())


def appended(log: MetadataLog, *records: MetadataRecord) -> None:
    batch = encode_records(records, level=NEWEST, base_offset=log.end_offset, epoch=1, timestamp_ms=7, writer=None)
    log.committed(batch, records)


def told(log: MetadataLog, max_bytes: int) -> list[tuple[int, MetadataRecord]]:
    """All of it, asked for in parts."""
    found: list[tuple[int, MetadataRecord]] = []
    offset = 0
    while True:
        records, next_offset = log.tell(offset, max_bytes)
        found += decode_records(records)
        if next_offset == offset:
            return found
        assert next_offset > offset
        offset = next_offset


@pytest.mark.parametrize("max_bytes", [1, 1 << 20])
def test_the_history_that_clients_are_told_has_no_secret_in_it(max_bytes: int) -> None:
    log = MetadataLog(Loaded(None, ()))
    came = TopicCreated("t", UUID(int=9), False)
    keystore = ConfigChanged(ResourceType.BROKER, "1", "ssl.keystore.password", "sesame-1")
    unknown = ConfigChanged(ResourceType.BROKER, "1", "no.such.key", "sesame-2")
    retention = ConfigChanged(ResourceType.TOPIC, "t", "retention.ms", "1")
    appended(log, came)
    appended(log, ScramCredentialSet("u", "SCRAM-SHA-256", 4096, "sesame-3", "sesame-4", "sesame-5"))
    appended(log, keystore, DelegationTokenSet("sesame-6", "User:u", "User:u", (), 1, 2, 3), unknown, retention)
    hidden = [replace(each, value="(hidden)") for each in (keystore, unknown)]
    assert told(log, max_bytes) == [(0, came), (2, hidden[0]), (4, hidden[1]), (5, retention)]


def test_a_setting_that_is_taken_back_is_told_as_it_is() -> None:
    log = MetadataLog(Loaded(None, ()))
    back = ConfigChanged(ResourceType.BROKER, "1", "ssl.keystore.password", None)
    appended(log, back)
    assert told(log, 1) == [(0, back)]


def test_what_a_standby_follows_is_in_its_image_once() -> None:
    log = log_of_configs()
    user = ScramCredentialSet("u", "SCRAM-SHA-256", 4096, "", "", "")
    old_and_new = [CONFIGS[-1], user]
    batch = encode_records(
        old_and_new, level=NEWEST, base_offset=len(CONFIGS) - 1, epoch=1, timestamp_ms=0, writer=None
    )
    log.follow(batch)
    log.follow(batch)
    assert log.image.offset == len(CONFIGS)
    assert log.image.logins.credential("SCRAM-SHA-256", "u") == user
