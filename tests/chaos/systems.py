"""The systems under test and where their processes run: ours as `millstream cluster` plans it, and Apache Kafka's brokers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from disks import Disk, Folder
from fault_plan import Cast
from kafka_broker import SMALL_JVM
from kafka_tools import LOGGING, TOOLS, kafka_libs, run_tool
from network import Loopback, Network
from nodes import Node

from millstream.processes import plan_processes
from millstream.roles import Role

BROKER_PORT, CONTROLLER_PORT, HTTP_PORT = 9092, 9093, 9095
# Ours runs with its own; Kafka's defaults (9 s, 30 s) would flatter ours.
KAFKA_SESSION_MS = 6_000
KAFKA_LAG_MS = 10_000
COORDINATOR_PARTITIONS = 10
COUNTS = {Role.BROKER: 3, Role.CONTROLLER: 2, Role.COORDINATOR: 2}
CLUSTER_ID = "WkZ5dXBMYWJLYWZrYTAwMQ"


@dataclass(frozen=True, slots=True)
class Place:
    """What a system is put into."""

    directory: Path
    network: Network | Loopback
    new_disk: Callable[[str], Disk | Folder]
    factor: int


@dataclass(frozen=True, slots=True)
class System:
    nodes: dict[str, Node]
    cast: Cast
    bootstrap: str
    before_empty_start: Callable[[str], None]
    """What has to be done to an emptied disk before its broker starts on it."""

    @property
    def brokers(self) -> list[Node]:
        return [self.nodes[name] for name in self.cast.brokers]


def common_settings(factor: int) -> dict[str, str]:
    """The same for both systems."""
    in_sync = str(min(2, factor))
    return {
        "default.replication.factor": str(factor),
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": str(factor),
        "offsets.topic.num.partitions": str(COORDINATOR_PARTITIONS),
        "transaction.state.log.replication.factor": str(factor),
        "transaction.state.log.num.partitions": str(COORDINATOR_PARTITIONS),
        "share.coordinator.state.topic.replication.factor": str(factor),
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "false",
        "log.segment.bytes": "1048576",
    }


def our_names() -> list[str]:
    return [f"{role}-{number}" for role, count in COUNTS.items() for number in range(1, count + 1)]


def our_system(place: Place, settings: Sequence[str]) -> System:
    """Brokers, controllers and coordinators, each a process of its own."""
    count = sum(COUNTS.values())
    ports = [BROKER_PORT] * count + [HTTP_PORT + number for number in range(count)]
    given = common_settings(place.factor) | dict(text.split("=", 1) for text in settings)
    planned = plan_processes(COUNTS, ports, place.directory, given, place.network.address)
    nodes = {}
    for process in planned:
        process.directory.mkdir(parents=True)
        disk = place.new_disk(process.name) if process.role is Role.BROKER else None
        own = dict(process.properties)
        if disk is not None:
            disk.make()
            own["log.dirs"] = str(disk.logs)
        process.config.write_text("".join(f"{key}={value}\n" for key, value in own.items()))
        nodes[process.name] = Node(
            process.name,
            [*place.network.command(process.name), *process.command],
            process.directory / "output.log",
            ready_text="millstream ready",
            disk=disk,
        )
    brokers, controllers, coordinators = (
        [each.name for each in planned if each.role is role]
        for role in (Role.BROKER, Role.CONTROLLER, Role.COORDINATOR)
    )
    bootstrap = ",".join(f"{each.host}:{each.port}" for each in planned if each.role is Role.BROKER)
    return System(nodes, Cast(brokers, (controllers, coordinators)), bootstrap, lambda name: None)


def kafka_names() -> list[str]:
    return [f"broker-{number}" for number in range(1, 4)]


def kafka_system(place: Place, settings: Sequence[str]) -> System:
    """Three processes, each broker and controller, as Kafka's own first steps with KRaft."""
    given = common_settings(place.factor) | dict(text.split("=", 1) for text in settings)
    names = kafka_names()
    address = place.network.address
    voters = ",".join(f"{number}@{address(name)}:{CONTROLLER_PORT}" for number, name in enumerate(names, 1))
    nodes, configs = {}, {}
    for number, name in enumerate(names, 1):
        directory = place.directory / name
        directory.mkdir(parents=True)
        disk = place.new_disk(name)
        disk.make()
        own = {
            "process.roles": "broker,controller",
            "node.id": str(number),
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{address(name)}:{BROKER_PORT},CONTROLLER://{address(name)}:{CONTROLLER_PORT}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(disk.logs),
            "broker.session.timeout.ms": str(KAFKA_SESSION_MS),
            "replica.lag.time.max.ms": str(KAFKA_LAG_MS),
            # What a controller has voted for is not the broker's data, and not what a fault of the broker's disk takes.
            "metadata.log.dir": str(directory / "metadata"),
            "transaction.state.log.min.isr": given["min.insync.replicas"],
            "share.coordinator.state.topic.min.isr": given["min.insync.replicas"],
        }
        configs[name] = directory / "server.properties"
        configs[name].write_text("".join(f"{key}={value}\n" for key, value in (given | own).items()))
        _format(configs[name])
        server_logging = LOGGING.replace("log4j2.yaml", "log4j2-server.yaml")
        java = ["java", *SMALL_JVM, server_logging, f"-Dkafka.logs.dir={directory}", "-cp", f"{kafka_libs()}/*"]
        nodes[name] = Node(
            name,
            [*place.network.command(name), *java, TOOLS["kafka-server"], str(configs[name])],
            directory / "output.log",
            ready_text="Kafka Server started",
            disk=disk,
        )
    bootstrap = ",".join(f"{address(name)}:{BROKER_PORT}" for name in names)
    return System(nodes, Cast(names), bootstrap, lambda name: _format(configs[name]))


def _format(config: Path) -> None:
    """A directory that has its identity already is left alone."""
    result = run_tool("kafka-storage", ["format", "--ignore-formatted", "-t", CLUSTER_ID, "-c", str(config)])
    if result.returncode != 0:
        raise RuntimeError(f"kafka-storage format failed: {result.stdout}{result.stderr}")
