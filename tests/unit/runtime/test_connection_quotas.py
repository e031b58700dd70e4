"""Which connections are taken in, and when: as a decision, without sockets."""

from hypothesis import given
from hypothesis import strategies as st

from millstream_cluster.quotas.windows import Windows
from millstream_cluster.records import QuotaEntity, QuotaEntityType
from millstream_runtime.network.connection_quotas import ConnectionQuotas, Entrance, Refusal
from millstream_runtime.network.links import Limits, ListenerLimits

KEY = "connection_creation_rate"


def of(address: str | None) -> tuple[QuotaEntity, ...]:
    return (QuotaEntity(QuotaEntityType.IP, address),)


def taken(entrance: Entrance, host: str = "10.0.0.1", now_ms: int = 0, times: int = 1) -> list[int | str]:
    """How long each has to wait, or why it is not taken in."""
    outcomes: list[int | str] = []
    for _ in range(times):
        wait_ms = entrance.arrive(now_ms)
        refusal = entrance.enter(host, now_ms)
        outcomes.append(wait_ms if refusal is None else refusal.reason)
    return outcomes


def test_the_whole_and_each_listener_have_room_for_so_many() -> None:
    quotas = ConnectionQuotas(Limits(connections_max=3, of_listeners={"a": ListenerLimits(connections_max=2)}))
    one, other = quotas.entrance("A"), quotas.entrance("B")
    told: list[str] = []
    one.on_room = lambda: told.append("a")
    other.on_room = lambda: told.append("b")
    taken(one, times=2)
    assert not one.has_room
    assert other.has_room
    taken(other)
    assert not other.has_room
    one.leave("10.0.0.1")
    assert told == ["a", "b"]
    assert one.has_room
    assert other.has_room
    quotas.limit(Limits(connections_max=2))
    assert told == ["a", "b", "a", "b"]
    assert not one.has_room


def test_what_clients_take_of_the_whole_does_not_keep_nodes_out() -> None:
    limits = Limits(
        connections_max=1,
        connection_creation_rate_max=1,
        of_listeners={"nodes": ListenerLimits(connections_max=2, connection_creation_rate_max=100)},
    )
    quotas = ConnectionQuotas(limits)
    nodes, clients = quotas.entrance("NODES", is_for_nodes=True), quotas.entrance("CLIENTS")
    assert taken(clients, times=11)[-1] == 1_000
    assert not clients.has_room
    assert nodes.has_room
    assert taken(nodes, times=2) == [0, 0]
    assert not nodes.has_room
    clients.close()
    alone = ConnectionQuotas(limits).entrance("OTHER", is_for_nodes=True)
    taken(alone)
    assert not alone.has_room, "where nodes and clients come in together, nobody is protected"


def test_connections_that_come_too_fast_wait_a_window_at_most() -> None:
    entrance = ConnectionQuotas(Limits(connection_creation_rate_max=10, quota_windows=Windows(3, 1_000))).entrance()
    assert taken(entrance, times=20) == [0] * 20
    assert taken(entrance, times=2) == [100, 200]
    assert taken(entrance, times=50)[-1] == 1_000
    assert taken(entrance, now_ms=3_000) == [0]


def test_an_address_has_its_rate_or_the_default_and_a_refused_one_is_not_counted() -> None:
    quotas = ConnectionQuotas(Limits(connection_creation_rate_max=10, quota_windows=Windows(2, 1_000)))
    entrance = quotas.entrance()
    quotas.on_quotas({of("10.0.0.1"): {KEY: 3.0}, of(None): {KEY: 2.0}})
    assert taken(entrance, "10.0.0.1", times=5) == [0, 0, 0, KEY, KEY]
    assert taken(entrance, "::ffff:10.0.0.2", times=3) == [0, 0, KEY]
    assert taken(entrance, "10.0.0.2") == [KEY]
    assert entrance.enter("10.0.0.1", 0) == Refusal(KEY, 333)
    assert taken(entrance, "10.0.0.3", times=2) == [0, 0], "who is refused counts neither for the listener"
    assert entrance.open == 7
    assert quotas.throttled_addresses.times == 5
    quotas.on_quotas({})
    assert taken(entrance, "10.0.0.1") == [0]


def test_so_many_from_one_address_and_other_numbers_for_some() -> None:
    quotas = ConnectionQuotas(Limits(connections_per_ip_max=1, connections_per_ip_overrides={"10.0.0.9": 2}))
    entrance = quotas.entrance()
    refused = "max.connections.per.ip"
    assert taken(entrance, times=2) == [0, refused]
    assert taken(entrance, "10.0.0.9", times=3) == [0, 0, refused]
    entrance.leave("10.0.0.1")
    assert taken(entrance, times=2) == [0, refused]


@given(st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from("xyz"), st.booleans()), max_size=60))
def test_who_is_in_is_counted_once_everywhere(moves: list[tuple[str, str, bool]]) -> None:
    limits = Limits(connections_max=6, connections_per_ip_max=3, of_listeners={"a": ListenerLimits(connections_max=4)})
    quotas = ConnectionQuotas(limits)
    entrances = {"A": quotas.entrance("A", is_for_nodes=True), "B": quotas.entrance("B")}
    inside: list[tuple[str, str]] = []
    for name, host, comes in moves:
        entrance = entrances[name]
        if comes:
            listeners = [each for each, _ in inside]
            has_room = listeners.count("A") < 4 if name == "A" else len(inside) < 6
            assert entrance.has_room == has_room
            if has_room:
                full = [each for _, each in inside].count(host) >= 3
                assert (entrance.enter(host, 0) is not None) == full
                inside += [] if full else [(name, host)]
        elif (name, host) in inside:
            inside.remove((name, host))
            entrance.leave(host)
        assert [each.open for each in entrances.values()] == [
            [each for each, _ in inside].count(listener) for listener in entrances
        ]
