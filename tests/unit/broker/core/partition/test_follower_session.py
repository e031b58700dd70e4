"""What a follower tells its leader of its partitions, against the leader's own memory of sessions."""

from uuid import UUID

from millstream_broker.core.partition.follower import FetchFrom
from millstream_broker.core.partition.follower_session import Ask, FollowerSession
from millstream_broker.core.reads.asked import asked_of
from millstream_broker.core.reads.fetch_session import FetchContext, FetchSessions
from millstream_wire.errors import ErrorCode
from millstream_wire.messages import FetchRequest
from millstream_wire.messages.fetch import FetchPartition, FetchTopic, ForgottenTopic

TOPIC = UUID(int=9)
A, B, C = (TOPIC, 0), (TOPIC, 1), (TOPIC, 2)


def at(offset: int) -> FetchFrom:
    return FetchFrom(offset, 3, 2, 0)


def taken(sessions: FetchSessions, ask: Ask) -> FetchContext | ErrorCode:
    """As the leader reads it."""
    request = FetchRequest(
        session_id=ask.session_id,
        session_epoch=ask.session_epoch,
        topics=[
            FetchTopic(topic_id=TOPIC, partitions=[FetchPartition(partition=key[1], fetch_offset=question.offset)])
            for key, question in ask.questions.items()
        ],
        forgotten_topics_data=[ForgottenTopic(topic_id=TOPIC, partitions=[key[1]]) for key in ask.forgotten],
    )
    return sessions.begin(asked_of(request, 17), by_id=True, now_ms=0, new_id=lambda: 70)


def asked(context: FetchContext | ErrorCode) -> dict[int, int]:
    assert isinstance(context, FetchContext), context
    return {key[1]: wanted.fetch_offset for key, wanted in context.partitions.items()}


def test_only_what_is_new_is_said() -> None:
    session, sessions = FollowerSession(), FetchSessions(slots=2, eviction_ms=1)
    ask = session.next({A: at(0), B: at(5)})
    assert ask == Ask(0, 0, {A: at(0), B: at(5)}, ())
    assert asked(taken(sessions, ask)) == {0: 0, 1: 5}
    session.on_answer(ErrorCode.NONE, 70)
    ask = session.next({A: at(3), B: at(5), C: at(1)})
    assert ask == Ask(70, 1, {A: at(3), C: at(1)}, ())
    assert asked(taken(sessions, ask)) == {0: 3, 1: 5, 2: 1}
    session.on_answer(ErrorCode.NONE, 70)
    ask = session.next({A: None, B: at(6)})
    assert ask == Ask(70, 2, {B: at(6)}, (A,))
    assert asked(taken(sessions, ask)) == {1: 6, 2: 1}
    session.on_answer(ErrorCode.NONE, 70)
    assert session.next({A: None}) == Ask(70, 3, {}, ()), "what the leader does not know need not be forgotten"


def test_everything_is_said_again_when_the_session_is_lost() -> None:
    session, sessions = FollowerSession(), FetchSessions(slots=2, eviction_ms=1)
    taken(sessions, session.next({A: at(0), B: at(5)}))
    session.on_answer(ErrorCode.NONE, 70)
    session.on_answer(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0)
    ask = session.next({B: at(6)})
    assert ask == Ask(70, 0, {A: at(0), B: at(6)}, ())
    assert asked(taken(sessions, ask)) == {0: 0, 1: 6}
    assert len(sessions) == 1, "the new session takes the old one's place"


def test_an_answer_that_never_came_ends_the_session() -> None:
    session = FollowerSession()
    session.next({A: at(0)})
    session.on_answer(ErrorCode.NONE, 70)
    session.next({A: at(1)})
    session.begin_again()
    assert session.next({}) == Ask(70, 0, {A: at(1)}, ())


def test_a_leader_without_room_for_a_session_is_told_everything_each_time() -> None:
    session = FollowerSession()
    session.next({A: at(0)})
    session.on_answer(ErrorCode.NONE, 0)
    assert session.next({B: at(1)}) == Ask(0, 0, {A: at(0), B: at(1)}, ())
