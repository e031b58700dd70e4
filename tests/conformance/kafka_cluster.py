"""Three Apache Kafka brokers (KRaft, combined roles) on loopback: a peer where replication is compared."""

from collections.abc import Sequence
from pathlib import Path

from kafka_broker import SMALL_JVM, KafkaBroker

BROKERS = 3
REPLICATED = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
}


class KafkaCluster:
    def __init__(
        self, directory: Path, *, properties: dict[str, str] | None = None, jvm: Sequence[str] = SMALL_JVM
    ) -> None:
        given = REPLICATED | (properties or {})
        numbers = range(1, BROKERS + 1)
        self.brokers = [KafkaBroker(directory / str(number), properties=given, jvm=jvm) for number in numbers]
        voters = ",".join(
            f"{number}@127.0.0.1:{broker.controller_port}" for number, broker in zip(numbers, self.brokers, strict=True)
        )
        for number, broker in zip(numbers, self.brokers, strict=True):
            broker.configure({"node.id": str(number), "controller.quorum.voters": voters})
        self.bootstrap = ",".join(broker.bootstrap for broker in self.brokers)

    @property
    def pids(self) -> tuple[int, ...]:
        """Of those that run: one may have been killed."""
        return tuple(broker.pid for broker in self.brokers if broker.runs)

    def start(self) -> None:
        """All at once, since none is ready before most of them are there."""
        for broker in self.brokers:
            broker.launch()
        for broker in self.brokers:
            broker.wait()

    def stop(self) -> None:
        """Nobody needs its data; without a quorum the last ones would wait a minute for a controller that lets them go."""
        for broker in self.brokers:
            broker.kill()
