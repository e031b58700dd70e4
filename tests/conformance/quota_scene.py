"""Client quotas set and met by requests that say exactly who sends them, on any server."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from wire_client import WireClient

from millstream_wire.messages import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from millstream_wire.messages.alter_client_quotas import EntityData, OpData, RequestEntryData
from millstream_wire.schema import Request, Response

SETTLED_S = 0.7
"""How long brokers may take to learn of a quota."""

Entity = Mapping[str, str | None]
"""user, client-id or ip to its name; None is the default."""
Quotas = Mapping[str, float | None]

CONNECTIONS = "connection_creation_rate"
LATE_MS = 4_000
"""How late an answer may be because the machine is busy."""


def alter(bootstrap: str, entity: Entity, quotas: Quotas) -> tuple[int, str | None]:
    with WireClient(bootstrap) as client:
        return alter_by(client, entity, quotas)


def alter_by(client: WireClient, entity: Entity, quotas: Quotas) -> tuple[int, str | None]:
    """None takes a quota away; error code and message."""
    parts = [EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
    changes = [
        OpData(key=key, value=0.0 if value is None else value, remove=value is None) for key, value in quotas.items()
    ]
    request = AlterClientQuotasRequest(entries=[RequestEntryData(entity=parts, ops=changes)])
    (entry,) = client.call(request, 1, AlterClientQuotasResponse).entries
    return entry.error_code, entry.error_message


def described(bootstrap: str) -> dict[frozenset[tuple[str, str | None]], dict[str, float]]:
    with WireClient(bootstrap) as client:
        answer = client.call(DescribeClientQuotasRequest(components=[], strict=False), 1, DescribeClientQuotasResponse)
    return {
        frozenset((part.entity_type, part.entity_name) for part in entry.entity): {
            value.key: value.value for value in entry.values
        }
        for entry in answer.entries or ()
    }


@contextmanager
def quotas(bootstrap: str, *wanted: tuple[Entity, Quotas]) -> Iterator[None]:
    """They hold within the block."""
    try:
        for entity, values in wanted:
            assert alter(bootstrap, entity, values) == (0, None)
        time.sleep(SETTLED_S)
        yield
    finally:
        for entity, values in wanted:
            alter(bootstrap, entity, dict.fromkeys(values))
        time.sleep(SETTLED_S)


def timed(client: WireClient, request: Request[Any], version: int, kind: type[Response]) -> tuple[Any, float]:
    """The answer, and the milliseconds until it was there."""
    began = time.monotonic()
    answer = client.call(request, version, kind)
    return answer, (time.monotonic() - began) * 1000


def silence_ms(client: WireClient) -> float:
    """For how long the server does not read what comes next."""
    _, took_ms = timed(client, ApiVersionsRequest(), 0, ApiVersionsResponse)
    return took_ms


def codes(items: list[Any]) -> list[tuple[int, str | None]]:
    return [(item.error_code, item.error_message) for item in items]
