from uuid import UUID

from millstream_broker.core.share.session import FINAL_EPOCH, MemberKey, ShareSession, ShareSessions
from millstream_wire.errors import ErrorCode

TOPIC = UUID(int=7)
KEY = MemberKey("group", "member")


def opened(sessions: ShareSessions, key: MemberKey = KEY, connection: int = 1) -> ShareSession:
    answer = sessions.open(key, [(TOPIC, 0), (TOPIC, 1)], connection)
    assert not isinstance(answer, ErrorCode)
    return answer[0]


def test_each_request_carries_the_next_epoch() -> None:
    sessions = ShareSessions(sessions_max=2)
    session = opened(sessions)
    assert sessions.go_on(KEY, 1) is session
    assert sessions.go_on(KEY, 1) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert sessions.go_on(KEY, 2) is session
    session.epoch = 2**31 - 1
    assert sessions.go_on(KEY, 2**31 - 1) is session
    assert session.epoch == 1
    assert sessions.go_on(KEY, FINAL_EPOCH) is session
    sessions.close(session)
    assert sessions.go_on(KEY, FINAL_EPOCH) is ErrorCode.SHARE_SESSION_NOT_FOUND


def test_a_member_that_begins_again_leaves_its_session() -> None:
    sessions = ShareSessions(sessions_max=1)
    first = opened(sessions)
    answer = sessions.open(KEY, [], 2)
    assert not isinstance(answer, ErrorCode)
    session, before = answer
    assert before is first
    sessions.close(first)
    assert sessions.go_on(KEY, 1) is session
    assert sessions.of_connection(1) == []
    assert sessions.of_connection(2) == [session]


def test_there_are_only_so_many() -> None:
    sessions = ShareSessions(sessions_max=1)
    session = opened(sessions)
    assert sessions.open(MemberKey("group", "other"), [], 1) is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    assert list(sessions) == [session]


def test_what_was_served_comes_last_next_time() -> None:
    session = ShareSession(KEY, [(TOPIC, 0), (TOPIC, 1)], 1)
    session.served((TOPIC, 0))
    assert list(session.partitions) == [(TOPIC, 1), (TOPIC, 0)]
    session.served((TOPIC, 5))
    assert len(session.partitions) == 2
