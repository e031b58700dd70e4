"""The two servers under comparison, each started on a directory of its own and on loopback."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from cases import Client
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from kafka_broker import SERVER_JVM, KafkaBroker
from kafka_cluster import BROKERS, REPLICATED, KafkaCluster

HERE = Path(__file__).resolve().parent
_START_TIMEOUT_S = 30

# As in the configuration that Apache Kafka ships, so that it is measured as its users run it.
SHIPPED = {
    "num.network.threads": "3",
    "num.io.threads": "8",
    "socket.send.buffer.bytes": "102400",
    "socket.receive.buffer.bytes": "102400",
    "socket.request.max.bytes": "104857600",
    "num.partitions": "1",
}


NOTHING: Mapping[str, str] = {}
OPENLY: Client = {}
"""Nothing is asked of a client."""


class Server(Protocol):
    name: str

    @property
    def pids(self) -> tuple[int, ...]: ...
    @property
    def client(self) -> Client: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...


class Kafka:
    name = "kafka"

    def __init__(self, directory: Path, settings: Mapping[str, str] = NOTHING, *, client: Client = OPENLY) -> None:
        self._broker, self._client = KafkaBroker(directory, properties=SHIPPED | dict(settings), jvm=SERVER_JVM), client

    @property
    def pids(self) -> tuple[int, ...]:
        return (self._broker.pid,)

    @property
    def client(self) -> Client:
        return {"bootstrap.servers": self._broker.bootstrap, **self._client}

    def start(self) -> None:
        self._broker.start()

    def stop(self) -> None:
        self._broker.stop()


class Millstream:
    _COMMAND: Sequence[str] = ("node",)
    _PORTS = 4

    def __init__(
        self,
        directory: Path,
        settings: Mapping[str, str] = NOTHING,
        *,
        plain: bool = False,
        program: Path | None = None,
        client: Client = OPENLY,
        name: str = "millstream",
    ) -> None:
        """`program`: another build's command, to be measured beside this one. `client`: what its clients need beside the address."""
        self._settings, self._client = settings, client
        self.name = "millstream, plain" if plain else "millstream, before" if program else name
        program = program or Path(sys.executable).with_name("millstream")
        self._program = [sys.executable, str(HERE / "plain_node.py")] if plain else [str(program)]
        self._directory = directory
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"
        return self._process.pid

    @property
    def pids(self) -> tuple[int, ...]:
        return (self.pid,)

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def client(self) -> Client:
        return {"bootstrap.servers": self.bootstrap, **self._client}

    def start(self) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        self._port = _free_port_range(self._PORTS)
        options = ["--port", str(self._port), "--data", str(self._directory / "data")]
        settings = [part for key, value in self._settings.items() for part in ("--set", f"{key}={value}")]
        command = [*self._program, *self._COMMAND, *options, *settings]
        with open(self._directory / "server.log", "wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        self._wait_until_it_answers()

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def kill(self) -> None:
        assert self._process is not None, "not started"
        self._process.kill()
        self._process.wait()
        self._process = None

    def _wait_until_it_answers(self) -> None:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while True:
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"no answer: {(self._directory / 'server.log').read_text()[-2000:]}")
            try:
                socket.create_connection(("127.0.0.1", self._port), 1).close()
                AdminClient({**self.client, "log_level": 0}).list_topics(timeout=2)
            except (OSError, KafkaException):
                time.sleep(0.05)
            else:
                return


class MillstreamCluster(Millstream):
    """Three brokers, two controllers and two coordinators, each a process."""

    _COMMAND = ("cluster", *(part for key, value in REPLICATED.items() for part in ("--set", f"{key}={value}")))
    _PORTS = 14

    def __init__(self, directory: Path, *, plain: bool = False, program: Path | None = None) -> None:
        super().__init__(directory, plain=plain, program=program)
        self.broker_ids = range(1, BROKERS + 1)
        self._restarted: subprocess.Popen[bytes] | None = None

    @property
    def pids(self) -> tuple[int, ...]:
        return super().pids if self._restarted is None else (*super().pids, self._restarted.pid)

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{self._port + number}" for number in range(BROKERS))

    def lose_disk(self, broker: int) -> None:
        """Kill a broker and take away what it stored."""
        pid = self._process_of(broker)["pid"]
        os.kill(pid, signal.SIGKILL)
        while Path(f"/proc/{pid}").exists():  # until it is nobody's child, what it cost is counted
            time.sleep(0.05)
        shutil.rmtree(self._directory / "data" / f"broker-{broker}" / "logs")

    def restart(self, broker: int) -> None:
        with open(self._directory / "restarted.log", "wb") as log:
            self._restarted = subprocess.Popen(self._process_of(broker)["command"], stdout=log, stderr=log)

    def stop(self) -> None:
        super().stop()
        restarted, self._restarted = self._restarted, None
        if restarted is not None:
            restarted.kill()  # its controllers are gone
            restarted.wait()

    def remove(self) -> None:
        shutil.rmtree(self._directory)

    def _process_of(self, broker: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self._directory / "data" / "pids.json").read_text())[f"broker-{broker}"]
        return found


class KafkaOfThree:
    name = "kafka"

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.broker_ids = range(1, BROKERS + 1)
        self._cluster = KafkaCluster(directory, properties=SHIPPED, jvm=SERVER_JVM)

    @property
    def pids(self) -> tuple[int, ...]:
        return self._cluster.pids

    @property
    def bootstrap(self) -> str:
        return self._cluster.bootstrap

    @property
    def client(self) -> Client:
        return {"bootstrap.servers": self.bootstrap}

    def start(self) -> None:
        self._cluster.start()

    def stop(self) -> None:
        self._cluster.stop()

    def lose_disk(self, broker: int) -> None:
        """Kill a broker and take away what it stored."""
        self._broker(broker).kill()
        shutil.rmtree(self._broker(broker).data)
        self._broker(broker).format()

    def restart(self, broker: int) -> None:
        self._broker(broker).launch()

    def remove(self) -> None:
        shutil.rmtree(self._directory)

    def _broker(self, number: int) -> KafkaBroker:
        return self._cluster.brokers[number - 1]


def _free_port_range(count: int) -> int:
    """Return the first of `count` free ports in a row, below those that the kernel hands out.

    From a random place on, because another run of this may look for ports at the same time.
    """
    first_of_all = random.randrange(12_000, 30_000)
    for first in range(first_of_all, 32_000, count):
        try:
            held = [socket.create_server(("127.0.0.1", first + i)) for i in range(count)]
        except OSError:
            continue
        for server in held:
            server.close()
        return first
    raise RuntimeError("no free ports")
