"""What may happen to a message is what TCP lets happen, and all of that."""

from millstream_simulation.explorer.connections import (
    Answered,
    Arrives,
    Breaks,
    Connection,
    Connections,
    Lost,
)

FIRST = Connection("client", "server", 0)
SECOND = Connection("client", "server", 1)


def asked(breaks: int = 1) -> Connections[str]:
    connections = Connections[str](breaks)
    connections.ask("client", "server", "a")
    connections.ask("client", "server", "b")
    return connections


def test_requests_arrive_in_order_and_are_answered_in_order() -> None:
    connections = asked(breaks=0)
    for message in "ab":
        assert next(connections.events()) == Arrives(FIRST)
        assert connections.arrived(Arrives(FIRST)) == message
        connections.answer(FIRST, message.upper())
    assert list(connections.events()) == [Answered(FIRST)]
    assert [connections.answered(Answered(FIRST)) for _ in range(2)] == ["A", "B"]
    assert list(connections.events()) == []


def test_an_old_request_may_arrive_after_it_was_sent_again_and_its_answer_is_lost() -> None:
    connections = asked()
    connections.breaks(Breaks(FIRST))
    connections.ask("client", "server", "a")
    assert list(connections.events()) == [Arrives(FIRST), Lost(FIRST), Arrives(SECOND)]
    assert connections.arrived(Arrives(SECOND)) == "a"
    assert connections.arrived(Arrives(FIRST)) == "a"
    connections.answer(FIRST, "old")
    connections.answer(SECOND, "new")
    connections.loses(Lost(FIRST))
    assert list(connections.events()) == [Answered(SECOND)]
    assert connections.answered(Answered(SECOND)) == "new"


def test_connections_break_only_so_often() -> None:
    connections = asked()
    assert Breaks(FIRST) in connections.events()
    connections.breaks(Breaks(FIRST))
    connections.ask("client", "server", "c")
    assert not any(isinstance(event, Breaks) for event in connections.events())


def test_what_was_sent_to_a_process_dies_with_it_and_what_it_sent_does_not() -> None:
    connections = asked()
    connections.ask("server", "store", "write")
    connections.crash("server")
    assert list(connections.events()) == [
        Arrives(Connection("server", "store", 0)),
        Lost(Connection("server", "store", 0)),
    ]


def test_a_copy_goes_its_own_way() -> None:
    one = asked()
    other = one.copy()
    assert one.fingerprint() == other.fingerprint()
    other.arrived(Arrives(FIRST))
    other.breaks(Breaks(FIRST))
    assert one.fingerprint() == asked().fingerprint() != other.fingerprint()
