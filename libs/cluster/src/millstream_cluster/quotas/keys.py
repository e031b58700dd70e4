"""Kafka's keys of client quotas: for whom each may be set, and which values it takes."""

import math
from collections.abc import Mapping
from types import MappingProxyType

from millstream_cluster.configs.key import INT_MAX, LONG_MAX, ConfigType
from millstream_cluster.metadata_version import OLDEST, MetadataVersion
from millstream_cluster.records import QuotaEntityType
from millstream_wire.late_dataclass import dataclass

PRODUCED = "producer_byte_rate"
FETCHED = "consumer_byte_rate"
REQUEST_TIME = "request_percentage"
MUTATIONS = "controller_mutation_rate"
CONNECTIONS = "connection_creation_rate"

_CLIENTS = frozenset((QuotaEntityType.USER, QuotaEntityType.CLIENT_ID))
_ADDRESSES = frozenset((QuotaEntityType.IP,))
_MOST = {ConfigType.LONG: LONG_MAX, ConfigType.INT: INT_MAX}
_ARTICLES = {ConfigType.LONG: "a LONG", ConfigType.INT: "an INT"}


@dataclass(frozen=True, slots=True)
class QuotaKey:
    name: str
    kinds: frozenset[QuotaEntityType]
    type: ConfigType
    since: MetadataVersion
    """From which level on every node enforces it."""

    def wrong_with(self, value: float) -> str | None:
        """What is wrong with a value, for the person who sent it."""
        if not value > 0:  # not a number, too
            return f"Quota {self.name} must be greater than 0"
        most = _MOST.get(self.type)
        if most is None:
            return None if math.isfinite(value) else f"Quota {self.name} must be a finite number"
        if value > most or math.isinf(value):
            return f"Proposed value for {self.name} is too large for {_ARTICLES[self.type]}."
        return None if value == int(value) else f"{self.name} cannot be a fractional value."


_KEYS = (
    QuotaKey(PRODUCED, _CLIENTS, ConfigType.LONG, OLDEST),
    QuotaKey(FETCHED, _CLIENTS, ConfigType.LONG, OLDEST),
    QuotaKey(REQUEST_TIME, _CLIENTS, ConfigType.DOUBLE, MetadataVersion.RELEASE_0_2),
    QuotaKey(MUTATIONS, _CLIENTS, ConfigType.DOUBLE, MetadataVersion.RELEASE_0_2),
    QuotaKey(CONNECTIONS, _ADDRESSES, ConfigType.INT, MetadataVersion.RELEASE_0_2),
)
QUOTA_KEYS: Mapping[str, QuotaKey] = MappingProxyType({key.name: key for key in _KEYS})
