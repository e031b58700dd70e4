"""When a node can be sure that nobody was put in its place."""

from millstream_runtime.nodes.session import Session

TIMEOUT_MS = 9_000


class Clock:
    now_ms = 1_000

    def __call__(self) -> int:
        return self.now_ms


def begun() -> tuple[Session, Clock]:
    clock = Clock()
    session = Session(clock, TIMEOUT_MS)
    session.renewed(sent_ms=900)
    return session, clock


def test_nothing_is_certain_before_the_controller_let_the_node_in() -> None:
    assert not Session(Clock(), TIMEOUT_MS).is_certain


def test_a_session_is_certain_for_its_time_from_when_the_heartbeat_was_sent() -> None:
    session, clock = begun()
    clock.now_ms = 900 + TIMEOUT_MS - 1
    assert session.is_certain
    clock.now_ms += 1
    assert not session.is_certain


def test_a_session_that_goes_on_is_certain_again_and_the_same() -> None:
    session, clock = begun()
    clock.now_ms = 900 + 2 * TIMEOUT_MS
    session.renewed(sent_ms=clock.now_ms - 5)
    assert session.is_certain
    assert session.number == 0


def test_a_session_that_the_controller_ended_is_over_at_once() -> None:
    session, _ = begun()
    session.ended()
    assert not session.is_certain
    session.renewed(sent_ms=1_000)
    assert session.is_certain
    assert session.number == 1
