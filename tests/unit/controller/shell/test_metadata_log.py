"""The committed log as a controller serves it."""

import asyncio
from uuid import UUID

from millstream_cluster.image import Image
from millstream_cluster.metadata_version import NEWEST
from millstream_cluster.records import ConfigChanged, ResourceType, ScramCredentialSet, TopicCreated
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
