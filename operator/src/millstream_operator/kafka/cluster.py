"""Requests to one cluster: bootstrap, the brokers it lists, and errors as Kafka names them."""

from typing import Any

from millstream_runtime.nodes.client import ClientError, Nodes
from millstream_wire.errors import ErrorCode
from millstream_wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

REQUEST_TIMEOUT_MS = 10_000
# Above 12 nothing changes that is needed here; names and topic ids are both there.
METADATA_VERSION = 12

Address = tuple[str, int]


class ClusterUnreachable(Exception):
    """No broker answered; nothing is known about what was asked."""


class Refused(Exception):
    """The cluster's answer was an error; carries Kafka's code."""

    def __init__(self, code: int, message: str | None) -> None:
        self.code = ErrorCode(code)
        super().__init__(message or self.code.name)

    @property
    def reason(self) -> str:
        """As a condition's reason: INVALID_CONFIG reads InvalidConfig."""
        return "".join(word.capitalize() for word in self.code.name.split("_"))


class KafkaCluster:
    """One cluster, by whatever broker answers."""

    def __init__(self, nodes: Nodes, bootstrap: Address) -> None:
        self._nodes = nodes
        self._bootstrap = bootstrap

    async def request(self, message: Any, *, at: Address | None = None, version: int | None = None) -> Any:
        host, port = at or self._bootstrap
        try:
            return await self._nodes.request(host, port, message, timeout_ms=REQUEST_TIMEOUT_MS, version=version)
        except (ClientError, OSError) as error:
            raise ClusterUnreachable(f"{host}:{port}: {error}") from error

    async def metadata(self, topics: list[str] | None) -> MetadataResponse:
        """Brokers, and the named topics; None asks for all of them."""
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        answer: MetadataResponse = await self.request(request, version=METADATA_VERSION)
        return answer


def check(code: int, message: str | None = None) -> None:
    if code != ErrorCode.NONE:
        raise Refused(code, message)
