"""Consumer groups with a safeguard taken out: some seed must notice, and say what it is about."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from millstream_broker.core.appends import admission
from millstream_broker.core.appends.shard_fence import shard_refusal
from millstream_cluster.decision import Decision
from millstream_coordinator.core.commands import consumer_heartbeat as heartbeat
from millstream_coordinator.core.commands import offsets
from millstream_coordinator.core.commands.consumer_leaving import remove_silent
from millstream_coordinator.core.consumer.reconciliation import reconcile
from millstream_coordinator.core.group_shard.record_format import decode_record
from millstream_coordinator.core.group_shard.records import OffsetCommitted
from millstream_coordinator.shell.groups import consumer as consumer_groups
from millstream_coordinator.shell.groups import groups
from millstream_log.errors import InvalidProducerEpoch
from millstream_log.producer_state import ProducerState
from millstream_runtime.replicated import Replicated
from millstream_simulation.shape import Kind
from millstream_wire.errors import ErrorCode

Hunt = Callable[..., str]
UseProducers = Callable[[type[ProducerState]], None]


def test_commits_of_members_of_any_epoch(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    monkeypatch.setattr(offsets, "_consumer_refusal", lambda group, request: ErrorCode.NONE)
    found = hunt(Kind.CONSUMER, 8)
    assert " after " in found or "both had" in found, found


def test_commits_of_members_of_any_generation(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    monkeypatch.setattr(offsets, "commit_refusal", lambda shard, group, request: ErrorCode.NONE)
    found = hunt(Kind.CLASSIC, 3)
    assert " after " in found or "was told" in found, found


def test_a_partition_that_is_granted_before_it_is_given_up(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    def generous(current: Any, **asked: Any) -> Any:
        return reconcile(current, **{**asked, "is_free": lambda partition: True})

    monkeypatch.setattr(heartbeat, "reconcile", generous)
    found = hunt(Kind.CONSUMER)
    assert "did not give it up" in found or "ConsumerGroup.check" in found, found


def test_topics_that_grow_and_no_new_epoch(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    monkeypatch.setattr(heartbeat, "metadata_hash", lambda group, image, policy: 0)
    assert "did not settle" in hunt(Kind.CONSUMER)


def test_members_that_are_gone_and_keep_their_partitions(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    def lenient(shard: Any, image: Any, now_ms: int) -> Any:
        return Decision((), remove_silent(shard, image, now_ms).reply)

    monkeypatch.setattr(consumer_groups, "remove_silent", lenient)
    assert "did not" in hunt(Kind.CONSUMER)


def test_answers_before_the_log_has_it(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    def at_once(self: Any, number: int) -> asyncio.Future[None]:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    monkeypatch.setattr(Replicated, "_commit_of", at_once)
    assert hunt(Kind.CONSUMER, 2) != ""


def test_offsets_that_a_new_owner_does_not_read(monkeypatch: pytest.MonkeyPatch, hunt: Hunt) -> None:
    def forgetful(key: bytes | None, value: bytes | None) -> Any:
        record = decode_record(key, value)
        return None if isinstance(record, OffsetCommitted) else record

    monkeypatch.setattr(groups, "decode_record", forgetful)
    assert "was told" in hunt(Kind.CONSUMER, 2)


class Lax(ProducerState):
    def check(self, header: Any) -> Any:
        try:
            return super().check(header)
        except InvalidProducerEpoch:
            return None


def test_an_owner_that_is_not_fenced(monkeypatch: pytest.MonkeyPatch, use_producers: UseProducers, hunt: Hunt) -> None:
    """Neither by what its log remembers nor by what the metadata says of the shard."""

    def ignorant(header: Any, shard: Any, **known: Any) -> ErrorCode:
        return shard_refusal(header, None, **known)

    use_producers(Lax)
    monkeypatch.setattr(admission, "shard_refusal", ignorant)
    found = hunt(Kind.CONSUMER, 23)
    assert "had taken over" in found or "ConsumerGroup.check" in found, found
