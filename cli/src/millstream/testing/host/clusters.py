"""The clusters of one host by number, and one of each kind in reserve, so that a test need not wait for its start."""

import shutil
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from millstream.testing.host.cluster import HostedCluster, client_properties
from millstream.testing.record import Lag, Record
from millstream.testing.wanted import Wanted

RESERVES_MAX = 3
"""Of the kinds that are asked for first."""


class Clusters:
    """Its methods are what a test process may ask for; one at a time."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._made = 0
        self._open: dict[int, HostedCluster] = {}
        self._wanted: dict[int, Wanted] = {}
        self._reserves: dict[object, tuple[int, HostedCluster]] = {}
        self._closing: list[threading.Thread] = []

    def open(self, wanted: Wanted, keep_reserve: bool) -> tuple[int, str, str | None]:
        """Its number, where it listens, and whose certificate to trust. `keep_reserve`: another one like it will be asked for."""
        number, cluster = self._reserves.pop(wanted.key) if wanted.key in self._reserves else self._begin(wanted)
        try:
            cluster.until_ready()
        except BaseException:
            cluster.close()
            raise
        cluster.begin_time()
        self._open[number] = cluster
        self._wanted[number] = wanted
        if keep_reserve and len(self._reserves) < RESERVES_MAX:
            self._reserves[wanted.key] = self._begin(wanted)
        return number, cluster.bootstrap, cluster.authority

    def close(self, number: int) -> None:
        cluster = self._open.pop(number)
        cluster.close()
        # Files take longer to remove than everything else here.
        removing = threading.Thread(target=shutil.rmtree, args=(self._place(number), True), daemon=True)
        removing.start()
        self._closing = [each for each in self._closing if each.is_alive()] + [removing]

    def client_properties(self, number: int, user: str | None) -> dict[str, str]:
        wanted = self._wanted[number]
        login = None if user is None else (user, wanted.users[user])
        return client_properties(wanted, self._open[number].authority, login)

    def advance(self, number: int, by_s: float) -> None:
        cluster = self._open[number]
        cluster.run(cluster.advance(by_s))

    def now_ms(self, number: int) -> int:
        cluster = self._open[number]
        return cluster.run(cluster.questions.now_ms())

    def act(self, number: int, node: int, action: str, arguments: tuple[Any, ...]) -> None:
        cluster = self._open[number]
        cluster.run(cluster.act(node, action, *arguments))

    def create_topic(
        self, number: int, name: str, partitions: int, replication_factor: int, configs: Mapping[str, str]
    ) -> None:
        cluster = self._open[number]
        cluster.run(
            cluster.questions.create_topic(
                name, partitions=partitions, replication_factor=replication_factor, configs=configs
            )
        )

    def produce(self, number: int, topic: str, records: Sequence[Record]) -> list[int]:
        cluster = self._open[number]
        return cluster.run(cluster.questions.produce(topic, records))

    def produced(self, number: int, topic: str) -> list[Record]:
        cluster = self._open[number]
        return cluster.run(cluster.questions.produced(topic))

    def lags(self, number: int, group_id: str) -> list[Lag] | None:
        cluster = self._open[number]
        return cluster.run(cluster.questions.lags(group_id))

    def groups(self, number: int) -> dict[str, str]:
        cluster = self._open[number]
        return cluster.run(cluster.questions.groups())

    def members(self, number: int, group_id: str) -> list[str]:
        cluster = self._open[number]
        return cluster.run(cluster.questions.members(group_id))

    def coordinator_of(self, number: int, group_id: str) -> int:
        cluster = self._open[number]
        return cluster.run(cluster.questions.coordinator_of(group_id))

    def leader_of(self, number: int, topic: str, partition: int) -> int:
        cluster = self._open[number]
        return cluster.run(cluster.questions.leader_of(topic, partition))

    def _begin(self, wanted: Wanted) -> tuple[int, HostedCluster]:
        self._made += 1
        cluster = HostedCluster(wanted, self._place(self._made))
        cluster.start()
        return self._made, cluster

    def _place(self, number: int) -> Path:
        return self._directory / f"cluster-{number}"
