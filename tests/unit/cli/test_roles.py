"""What each role of a process is told, from what the user said."""

from pathlib import Path

import pytest

from millstream.processes import plan_processes
from millstream.roles import Place, Role, properties_of, roles_of
from millstream_runtime.properties import Properties, PropertyError

PLACE = Place("127.0.0.1", (9092, 9093, 9094, 9095), Path("data"))
ALL = tuple(Role)


def told(role: Role, roles=ALL, place: Place = PLACE, **given: str) -> dict[str, str]:
    values = {key.replace("_", "."): value for key, value in given.items()}
    return properties_of(role, roles, Properties(values), place).as_dict()


def test_a_process_plays_all_roles_unless_told_otherwise() -> None:
    assert roles_of(Properties({})) == (Role.CONTROLLER, Role.BROKER, Role.COORDINATOR)
    assert roles_of(Properties({"process.roles": "coordinator, broker"})) == (Role.BROKER, Role.COORDINATOR)
    with pytest.raises(PropertyError, match=r"process\.roles must be some of .*'zookeeper'"):
        roles_of(Properties({"process.roles": "broker,zookeeper"}))


def test_clients_have_one_port_and_every_role_knows_the_controller() -> None:
    listeners = {role: told(role)["listeners"] for role in ALL}
    assert listeners == {
        Role.CONTROLLER: "CONTROLLER://127.0.0.1:9093",
        Role.BROKER: "PLAINTEXT://127.0.0.1:9092",
        Role.COORDINATOR: "PLAINTEXT://127.0.0.1:9092",
    }
    without_a_broker = told(Role.COORDINATOR, roles=(Role.CONTROLLER, Role.COORDINATOR))
    assert without_a_broker["listeners"] == "PLAINTEXT://127.0.0.1:9094"
    assert {told(role)["controller.bootstrap.servers"] for role in ALL} == {"127.0.0.1:9093"}
    assert told(Role.CONTROLLER)["controller.store"] == "file:data/controller"
    assert told(Role.BROKER)["log.dirs"] == "data/broker"


def test_listeners_are_about_the_broker_where_there_is_one() -> None:
    given = {"listeners": "PLAINTEXT://10.0.0.1:1000", "advertised.listeners": "PLAINTEXT://name:2000"}
    broker = properties_of(Role.BROKER, ALL, Properties(given), PLACE).as_dict()
    assert (broker["listeners"], broker["advertised.listeners"]) == tuple(given.values())
    coordinator = properties_of(Role.COORDINATOR, ALL, Properties(given), PLACE).as_dict()
    assert (coordinator["listeners"], coordinator["advertised.listeners"]) == tuple(given.values())
    controller = properties_of(Role.CONTROLLER, ALL, Properties(given), PLACE).as_dict()
    assert controller["listeners"] == "CONTROLLER://10.0.0.1:9093"
    alone = properties_of(Role.CONTROLLER, (Role.CONTROLLER,), Properties({"listeners": "C://h:7"}), PLACE).as_dict()
    assert (alone["listeners"], alone["controller.bootstrap.servers"]) == ("C://h:7", "127.0.0.1:7")


def test_who_listens_everywhere_advertises_a_name() -> None:
    place = Place("0.0.0.0", PLACE.ports, PLACE.data_dir)
    for role, port in ((Role.BROKER, 9092), (Role.CONTROLLER, 9093), (Role.COORDINATOR, 9092)):
        advertised = told(role, place=place)["advertised.listeners"]
        assert "0.0.0.0" not in advertised
        assert advertised.endswith(f":{port}")
    assert told(Role.BROKER, place=place)["controller.bootstrap.servers"] == "127.0.0.1:9093"


def test_listeners_may_name_the_controllers_too() -> None:
    given = {
        "listeners": "CLIENTS://0.0.0.0:1,NODES://10.0.0.1:2,CTRL://10.0.0.1:3",
        "advertised.listeners": "CLIENTS://a:1,CTRL://b:3",
        "controller.listener.names": "CTRL",
        "inter.broker.listener.name": "NODES",
    }
    controller = properties_of(Role.CONTROLLER, ALL, Properties(given), PLACE).as_dict()
    assert (controller["listeners"], controller["advertised.listeners"]) == ("CTRL://10.0.0.1:3", "CTRL://b:3")
    assert "inter.broker.listener.name" not in controller
    for role in (Role.BROKER, Role.COORDINATOR):
        own = properties_of(role, ALL, Properties(given), PLACE).as_dict()
        assert own["listeners"] == "CLIENTS://0.0.0.0:1,NODES://10.0.0.1:2"
        assert own["advertised.listeners"] == "CLIENTS://a:1"
        assert own["controller.bootstrap.servers"] == "10.0.0.1:3"


def test_who_says_how_nodes_speak_has_listeners_of_that_name() -> None:
    place = Place("0.0.0.0", PLACE.ports, PLACE.data_dir)
    for key in ("security.inter.broker.protocol", "inter.broker.listener.name"):
        own = properties_of(Role.BROKER, ALL, Properties({key: "SSL"}), place).as_dict()
        assert own["listeners"] == "SSL://0.0.0.0:9092"
        assert own["advertised.listeners"].startswith("SSL://")
    controller = properties_of(Role.CONTROLLER, ALL, Properties({"controller.listener.names": "C"}), PLACE).as_dict()
    assert controller["listeners"] == "C://127.0.0.1:9093"


def test_without_a_controller_of_its_own_a_process_must_be_told_where_they_are() -> None:
    with pytest.raises(PropertyError, match=r"controller\.bootstrap\.servers must be set"):
        told(Role.BROKER, roles=(Role.BROKER,))
    given = {"controller.bootstrap.servers": "a:1,b:2"}
    assert (
        properties_of(Role.BROKER, (Role.BROKER,), Properties(given), PLACE).text("controller.bootstrap.servers")
        == "a:1,b:2"
    )


def test_a_planned_cluster_gives_brokers_the_first_ports(tmp_path: Path) -> None:
    counts = {Role.BROKER: 3, Role.CONTROLLER: 2, Role.COORDINATOR: 2}
    planned = plan_processes(counts, range(9092, 9106), tmp_path, {"num.partitions": "4"})
    assert [(each.name, each.port) for each in planned] == [
        ("broker-1", 9092),
        ("broker-2", 9093),
        ("broker-3", 9094),
        ("controller-1", 9095),
        ("controller-2", 9096),
        ("coordinator-1", 9097),
        ("coordinator-2", 9098),
    ]
    assert {each.properties["controller.bootstrap.servers"] for each in planned} == {"127.0.0.1:9095,127.0.0.1:9096"}
    assert len({each.properties["http.port"] for each in planned}) == 7
    assert planned[0].command[-2:] == ["--data", str(tmp_path / "broker-1")]
    assert "num.partitions=4\n" in planned[0].config_text()
    assert len({each.properties["controller.store"] for each in planned if each.role is Role.CONTROLLER}) == 1
    assert all("broker.rack" not in each.properties for each in planned)


def test_brokers_of_a_planned_cluster_are_in_racks_in_turn(tmp_path: Path) -> None:
    counts = {Role.BROKER: 3, Role.CONTROLLER: 1, Role.COORDINATOR: 1}
    planned = plan_processes(counts, range(9092, 9102), tmp_path, {}, racks=["a", "b"])
    assert [each.properties.get("broker.rack") for each in planned] == ["a", "b", "a", None, None]
