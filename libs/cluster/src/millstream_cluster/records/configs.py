"""Records of dynamic configurations and client quotas."""

from enum import StrEnum

from millstream_wire.late_dataclass import dataclass


class ResourceType(StrEnum):
    """What a configuration belongs to; the values are what the log's JSON says."""

    TOPIC = "TOPIC"
    BROKER = "BROKER"
    GROUP = "GROUP"
    CLIENT_METRICS = "CLIENT_METRICS"


class QuotaEntityType(StrEnum):
    """What a client quota is for; the values are Kafka's own words for it."""

    USER = "user"
    CLIENT_ID = "client-id"
    IP = "ip"
    """An address that connections come from; nodes of release 0.1.0 cannot read it."""


@dataclass(frozen=True, slots=True)
class QuotaEntity:
    """One part of whom a client quota is for; a name None stands for everybody without a quota of their own."""

    type: QuotaEntityType
    name: str | None


@dataclass(frozen=True, slots=True)
class ConfigChanged:
    """`value` None takes the key back to what it would be unset. A broker resource named "" is the cluster's default."""

    resource_type: ResourceType
    resource_name: str
    key: str
    value: str | None


@dataclass(frozen=True, slots=True)
class ClientQuotaChanged:
    """A quota for the clients that all parts of `entity`, in order of their types, name; `value` None takes it away."""

    entity: tuple[QuotaEntity, ...]
    key: str
    value: float | None
