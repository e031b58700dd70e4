"""Clients' own metrics beside ours: who asks, by which subscriptions, and what /metrics shows of what they push."""

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import UUID

from millstream_broker.config import BrokerConfig
from millstream_cluster.configs import EffectiveConfigs
from millstream_cluster.ids import uuid_text
from millstream_cluster.image import Image
from millstream_cluster.records import ResourceType
from millstream_runtime.exposition import Family, Kind, counter, gauge
from millstream_runtime.serving.context import RequestContext
from millstream_runtime.world import World

if TYPE_CHECKING:
    from millstream_broker.core.telemetry import Client, Subscription, Telemetry

PREFIX = "millstream_client_"
KAFKAS_PREFIX = "org.apache.kafka."
_NO_NAME = re.compile(r"[^a-zA-Z0-9_]")


class ClientMetrics:
    """A `Collector`."""

    def __init__(self, config: BrokerConfig, world: World, image: Callable[[], Image]) -> None:
        self._config = config
        self._world = world
        self._image = image

    @cached_property
    def telemetry(self) -> "Telemetry":
        from millstream_broker.core.telemetry import Telemetry  # what nobody needs who is not asked

        return Telemetry()

    def client(self, instance_id: UUID, context: RequestContext) -> "Client":
        from millstream_broker.core.telemetry import Client

        connection = context.connection
        address, _, port = connection.address.rpartition(":")
        return Client(instance_id, context.client_id or "", *connection.software, address, port)

    def new_instance_id(self) -> UUID:
        return UUID(int=self._world.random.getrandbits(128), version=4)

    def subscriptions(self) -> "list[Subscription]":
        from millstream_broker.core.telemetry import Subscription

        image = self._image()
        configs = EffectiveConfigs(image, self._config.properties, self._config.node_id)
        found = []
        for name in image.config_names(ResourceType.CLIENT_METRICS):
            values = {key: entry.value for key, entry in configs.client_metrics(name).items()}
            interval_ms, match, metrics = values["interval.ms"], values["match"], values["metrics"]
            assert isinstance(interval_ms, int)
            assert isinstance(match, tuple)
            assert isinstance(metrics, tuple)
            found.append(Subscription.of(interval_ms, match, metrics))
        return found

    def collect(self) -> Iterable[Family]:
        instances = list(self.telemetry.instances(self._world.monotonic_ms()))
        broker = str(self._config.node_id)
        yield gauge(
            "millstream_telling_clients", "Clients that push their metrics here.", len(instances), broker=broker
        )
        dropped = self.telemetry.dropped_samples
        yield counter("millstream_dropped_client_samples", "Clients' numbers beyond the bound.", dropped, broker=broker)
        families: dict[tuple[str, Kind], Family] = {}
        for instance in instances:
            own = {"client_id": instance.client.client_id, "client_instance_id": uuid_text(instance.client.instance_id)}
            for (name, attributes), value in instance.samples.items():
                kind = Kind.COUNTER if (name, attributes) in instance.sums else Kind.GAUGE
                told = PREFIX + _NO_NAME.sub("_", name.removeprefix(KAFKAS_PREFIX))
                family = families.get((told, kind))
                if family is None:
                    family = families[told, kind] = Family(kind, told, f"{name}, as clients tell it.")
                labels = {_NO_NAME.sub("_", key): text for key, text in attributes}
                family.add(value, **{**labels, **own})
        yield from families.values()
