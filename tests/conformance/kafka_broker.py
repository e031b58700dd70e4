"""One Apache Kafka broker (KRaft, combined roles) on loopback: a peer to compare with and to exchange directories with."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from kafka_tools import LOGGING, TOOLS, kafka_libs, run_tool
from own_ports import free_ports

# The flags of Kafka's own start script.
SERVER_JVM = [
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
]
SMALL_JVM = ["-Xmx384M", "-Xms128M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true"]
_START_TIMEOUT_S = 90


class KafkaBroker:
    """Its data directory survives `stop` and `kill`; `start` may be called again."""

    def __init__(
        self,
        directory: Path,
        *,
        properties: dict[str, str] | None = None,
        jvm: Sequence[str] = SMALL_JVM,
        cluster_id: str = "WkZ5dXBMYWJLYWZrYTAwMQ",
    ) -> None:
        self.data = directory / "data"
        self.cluster_id = cluster_id
        self.port, self.controller_port = free_ports(2)
        self.bootstrap = f"127.0.0.1:{self.port}"
        self._jvm = list(jvm)
        self._log_path = directory / "server.log"
        self._config_path = directory / "server.properties"
        self._process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True, exist_ok=True)
        self._properties = self._config(self.controller_port) | (properties or {})
        self.configure({})

    def _config(self, controller_port: int) -> dict[str, str]:
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://127.0.0.1:{controller_port}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.data),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "offsets.topic.num.partitions": "10",
            "transaction.state.log.num.partitions": "10",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": "10",
            "group.share.min.record.lock.duration.ms": "1000",
            "group.initial.rebalance.delay.ms": "0",
            "log.segment.delete.delay.ms": "1000",
        }

    def configure(self, properties: dict[str, str]) -> None:
        """Change what it is told at its next start."""
        self._properties |= properties
        self._config_path.write_text("".join(f"{key}={value}\n" for key, value in self._properties.items()))

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"
        return self._process.pid

    @property
    def runs(self) -> bool:
        return self._process is not None

    def format(self) -> None:
        """Make the data directory, once."""
        result = run_tool("kafka-storage", ["format", "-t", self.cluster_id, "-c", str(self._config_path)])
        if result.returncode != 0:
            raise RuntimeError(f"kafka-storage format failed: {result.stdout}{result.stderr}")

    def launch(self) -> None:
        """Start the process and return at once."""
        if not (self.data / "meta.properties").exists():
            self.format()
        command = ["java", *self._jvm, LOGGING.replace("log4j2.yaml", "log4j2-server.yaml")]
        command += [f"-Dkafka.logs.dir={self._log_path.parent}", "-cp", f"{kafka_libs()}/*"]
        with open(self._log_path, "wb") as log:
            self._process = subprocess.Popen(
                [*command, TOOLS["kafka-server"], str(self._config_path)], stdout=log, stderr=log
            )

    def start(self) -> None:
        """Start the process and wait until it takes connections."""
        self.launch()
        self.wait()

    def wait(self) -> None:
        """Until it takes connections."""
        deadline = time.monotonic() + _START_TIMEOUT_S
        while b"Kafka Server started" not in self._log_path.read_bytes():
            if self._process is None or self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"Kafka did not start: {self._log_path.read_text()[-2000:]}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Shut down cleanly."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, signal_number: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            os.kill(process.pid, signal_number)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
