"""Whose quota holds for a client, by Kafka's precedence, and who shares it."""

from collections.abc import Mapping
from typing import TypeAlias

from millstream_cluster.records import QuotaEntity, QuotaEntityType

Client: TypeAlias = tuple[str, str]
"""User and client id."""
Owner: TypeAlias = tuple[str | None, ...]
"""Who shares a bound: [user], the clients of one id as ["", client id], or [user, client id].

Whom a bound is for is written alike, with None for the default.
"""
QuotasByEntity: TypeAlias = Mapping[tuple[QuotaEntity, ...], Mapping[str, float]]


class Bounds:
    """Those of one key."""

    def __init__(self, quotas: QuotasByEntity, key: str) -> None:
        self._bounds = {_level(entity): values[key] for entity, values in quotas.items() if key in values}

    def __len__(self) -> int:
        return len(self._bounds)

    def find(self, client: Client) -> tuple[Owner, float] | None:
        """The bound of the most exact level, and who shares it; None: there is no bound."""
        user, client_id = client
        bounds = self._bounds
        for level in ((user, client_id), (user, None), (user,), (None, client_id), (None, None), (None,)):
            bound = bounds.get(level)
            if bound is not None:
                return (client if len(level) == 2 else (user,)), bound
        for shared in (("", client_id), ("", None)):
            bound = bounds.get(shared)
            if bound is not None:
                return ("", client_id), bound
        return None


def _level(entity: tuple[QuotaEntity, ...]) -> Owner:
    names = {part.type: part.name for part in entity}
    if QuotaEntityType.CLIENT_ID not in names:
        return (names[QuotaEntityType.USER],)
    return names.get(QuotaEntityType.USER, ""), names[QuotaEntityType.CLIENT_ID]
