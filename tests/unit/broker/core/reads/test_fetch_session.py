"""The session cache: bounded, fair, and in step with its clients."""

from itertools import count
from typing import Any

from millstream_broker.core.reads.asked import asked_of
from millstream_broker.core.reads.fetch_session import FetchContext, FetchKind, FetchSessions, next_epoch
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FetchRequest
from millstream_wire.messages.fetch import FetchPartition, FetchTopic


def request(partitions: int = 1, **fields: Any) -> FetchRequest:
    asked = [FetchPartition(partition=index) for index in range(partitions)]
    return FetchRequest(topics=[FetchTopic(topic="t", partitions=asked)], **fields)


class Client:
    def __init__(self, slots: int) -> None:
        self.sessions = FetchSessions(slots=slots, eviction_ms=100)
        self.ids = count(1)

    def begin(self, asked: FetchRequest, now_ms: int, replica_id: int = -1) -> FetchContext | ErrorCode:
        asked.replica_id = replica_id
        return self.sessions.begin(asked_of(asked, 11), by_id=False, now_ms=now_ms, new_id=lambda: next(self.ids))

    def full(self, now_ms: int, partitions: int = 1, replica_id: int = -1) -> int:
        context = self.begin(request(partitions, session_epoch=0), now_ms, replica_id)
        assert isinstance(context, FetchContext)
        return context.session_id


def test_epochs_skip_zero_when_they_wrap() -> None:
    assert next_epoch(1) == 2
    assert next_epoch(2**31 - 1) == 1


def test_without_a_slot_a_full_fetch_is_sessionless() -> None:
    client = Client(slots=1)
    assert client.full(now_ms=0) == 1
    context = client.begin(request(session_epoch=0), 50)
    assert isinstance(context, FetchContext)
    assert (context.kind, context.session_id, len(context.partitions)) == (FetchKind.SESSIONLESS, 0, 1)


def test_an_idle_session_makes_room() -> None:
    client = Client(slots=1)
    client.full(now_ms=0)
    assert client.full(now_ms=101) == 2
    assert len(client.sessions) == 1


def test_replicas_and_larger_sessions_go_first_but_nobody_is_thrown_out_at_once() -> None:
    client = Client(slots=1)
    session_id = client.full(now_ms=0)
    assert client.full(now_ms=90, partitions=5) == 0
    kept = client.begin(request(session_id=session_id, session_epoch=1), 95)
    assert isinstance(kept, FetchContext)
    assert client.full(now_ms=150, partitions=5) == 2
    assert client.full(now_ms=151, replica_id=2) == 3
    assert client.full(now_ms=400, partitions=9) != 0, "idle for long: room even after a replica"


def test_a_session_that_forgets_everything_ends() -> None:
    client = Client(slots=5)
    session_id = client.full(now_ms=0)
    from millstream_wire.messages.fetch import ForgottenTopic

    forgetful = FetchRequest(session_id=session_id, session_epoch=1)
    forgetful.forgotten_topics_data = [ForgottenTopic(topic="t", partitions=[0])]
    context = client.begin(forgetful, 1)
    assert isinstance(context, FetchContext)
    assert (context.kind, len(client.sessions)) == (FetchKind.SESSIONLESS, 0)
